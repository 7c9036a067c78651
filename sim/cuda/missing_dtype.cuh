#pragma once
// Whether the current GPU supports a data type.

#include "dtype.hpp"

#include <optional>
#include <string>

namespace trainyard::cuda {

/// Why the current GPU cannot compute in `dtype`, nothing if it can:
/// "bf16 needs compute capability 8.0, this GPU has 7.0".
std::optional<std::string> missing_dtype(Dtype dtype);

}  // namespace trainyard::cuda
