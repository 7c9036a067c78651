#pragma once
// The versions of the libraries whose kernels are measured, for the recording's comments: another version
// chooses other kernels.

#include <optional>
#include <string>

namespace trainyard::cuda {

/// "13.0.0": the one that is loaded, not the one that was compiled against.
std::string cublaslt_version();

/// "9.13.0"; nothing if the program was built without cuDNN.
std::optional<std::string> cudnn_version();

/// "2.27.7"; nothing if the program was built without NCCL.
std::optional<std::string> nccl_version();

}  // namespace trainyard::cuda
