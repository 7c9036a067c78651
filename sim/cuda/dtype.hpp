#pragma once
// The data types of the plan, and the allowed error of a result in each of them.

#include <cstddef>
#include <optional>
#include <string_view>

namespace trainyard::cuda {

/// The type in which a kernel computes. The 16-bit types: operands and results in them, fp32 accumulation.
/// tf32: stored as fp32, multiplied by TensorFloat-32 matrix units.
enum class Dtype { fp32, tf32, fp16, bf16 };

/// Nothing if it is not one of the four.
std::optional<Dtype> parse_dtype(std::string_view text);

std::string_view name_of(Dtype dtype);

/// Bytes of one stored value.
std::size_t size_of(Dtype dtype);

/// Allowed error of a kernel's sum of products, relative to the sum of the absolute values of its terms.
/// Accumulation in fp32 loses up to its rounding (6e-8) times the square root of the number of terms, for
/// which 1e-5 is enough; tf32 and the 16-bit types add the rounding of their factors.
double tolerance_of(Dtype dtype);

/// Half a unit in the last place of a stored value, relative: the error added by rounding a result to the
/// type.
double rounding_of(Dtype dtype);

/// The lowest compute capability with hardware for the type, as 10 x major + minor: 80 for tf32 and bf16.
int capability_needed(Dtype dtype);

}  // namespace trainyard::cuda
