#pragma once
// Data types of kernels.

#include "config/keys.hpp"
#include "units/quantity.hpp"

#include <array>
#include <string_view>

namespace trainyard {

/// The data type a matrix unit computes in.
enum class Dtype { fp32, tf32, fp16, bf16, fp8, mxfp8, nvfp4 };

/// Operands of 8 bits, or of 4.
constexpr bool is_narrow(Dtype dtype) {
  return dtype == Dtype::fp8 || dtype == Dtype::mxfp8 || dtype == Dtype::nvfp4;
}

/// Bytes per operand in memory, without scales: tf32 is a way to multiply fp32 data.
constexpr Bytes size_of(Dtype dtype) {
  if (dtype == Dtype::nvfp4) return Bytes(0.5);
  if (is_narrow(dtype)) return Bytes(1);
  return dtype == Dtype::fp32 || dtype == Dtype::tf32 ? Bytes(4) : Bytes(2);
}

/// Bytes per value of a result: products in 8 and 4 bits give 16.
constexpr Bytes result_size(Dtype dtype) { return is_narrow(dtype) ? Bytes(2) : size_of(dtype); }

namespace config {

template <>
struct Names<Dtype> {
  static constexpr std::string_view what = "data type";
  static constexpr std::array table{Name{"fp32", Dtype::fp32, "IEEE single"},
                                    Name{"tf32", Dtype::tf32, "TensorFloat-32 matrix units on fp32 data"},
                                    Name{"fp16", Dtype::fp16, "IEEE half with fp32 accumulation"},
                                    Name{"bf16", Dtype::bf16, "bfloat16 with fp32 accumulation"},
                                    Name{"fp8", Dtype::fp8, "8-bit operands, 16-bit results"},
                                    Name{"mxfp8", Dtype::mxfp8, "the same, a scale for each 32 operands"},
                                    Name{"nvfp4", Dtype::nvfp4, "4-bit operands, a scale for each 16"}};
};

}  // namespace config
}  // namespace trainyard
