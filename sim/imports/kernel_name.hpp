#pragma once
// Names of kernels, which the compiler makes of a function with all its template arguments.

#include <string_view>

namespace trainyard {

/// "at::native::vectorized_elementwise_kernel" for "void at::native::vectorized_elementwise_kernel<4,
/// ...>(...)": at most 60 characters; the beginning of a name that has no such part.
std::string_view short_kernel_name(std::string_view name);

}  // namespace trainyard
