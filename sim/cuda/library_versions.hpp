#pragma once
// The versions of the measured libraries, for the recording's comments: another version chooses other
// kernels.

#include <optional>
#include <string>

namespace trainyard::cuda {

/// "13.0.0": the loaded version, not the one of compilation.
std::string cublaslt_version();

/// "9.13.0"; nothing if the program was built without cuDNN.
std::optional<std::string> cudnn_version();

/// "2.27.7"; nothing if the program was built without NCCL.
std::optional<std::string> nccl_version();

}  // namespace trainyard::cuda
