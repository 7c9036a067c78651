#pragma once
// The shape of an op as text, in trace CSVs, kernel tables and reports:
//   convolution     n128 c64 h56 w56 k256 r1x1 s1 p0x0   batch, channels in, height, width, channels out,
//                                                        window, stride, padding; then " g32" if grouped
//   matrix product  m128 n1000 k2048 nt                  C[m x n] = A[m x k] B[k x n]; n or t for each
//                                                        operand: t if stored transposed; "b16 " leads if
//                                                        batched
//   vector          e802816                              values; " w1024" after a softmax's: its row length

#include "workload/shape.hpp"

#include <optional>
#include <string>
#include <string_view>

namespace trainyard {

/// Empty for std::monostate. Vector elements in the shortest form that reads back to the same bits.
std::string to_string(const Shape& shape);

/// The shape that a text describes; empty for any other text. Sizes are at least 1, paddings at least 0. The
/// empty text is std::monostate.
std::optional<Shape> parse_shape(std::string_view text);

}  // namespace trainyard
