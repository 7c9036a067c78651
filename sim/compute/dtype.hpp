#pragma once
// Data types of kernels.

#include "config/keys.hpp"
#include "units/quantity.hpp"

#include <array>
#include <string_view>

namespace trainyard {

/// The data type a matrix unit computes in.
enum class Dtype { fp32, tf32, fp16, bf16 };

/// Bytes per value in memory: tf32 is a way to multiply fp32 data.
constexpr Bytes size_of(Dtype dtype) {
  return dtype == Dtype::fp32 || dtype == Dtype::tf32 ? Bytes(4) : Bytes(2);
}

namespace config {

template <>
struct Names<Dtype> {
  static constexpr std::string_view what = "data type";
  static constexpr std::array table{Name{"fp32", Dtype::fp32, "IEEE single"},
                                    Name{"tf32", Dtype::tf32, "TensorFloat-32 matrix units on fp32 data"},
                                    Name{"fp16", Dtype::fp16, "IEEE half with fp32 accumulation"},
                                    Name{"bf16", Dtype::bf16, "bfloat16 with fp32 accumulation"}};
};

}  // namespace config
}  // namespace trainyard
