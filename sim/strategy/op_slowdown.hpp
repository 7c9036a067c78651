#pragma once
// How much longer the ops of a step take in a framework than their kernels alone: a factor for each group of
// ops and the cost of every launch. software.hpp finds them; the schedule multiplies.

#include "config/keys.hpp"
#include "units/quantity.hpp"
#include "workload/trace.hpp"

#include <array>
#include <string>
#include <string_view>

namespace trainyard {

/// Ops that share a factor.
enum class OpGroup { convolution, matrix_product, batch_norm, other, attention };
inline constexpr std::array all_op_groups{OpGroup::convolution, OpGroup::matrix_product, OpGroup::batch_norm,
                                          OpGroup::other, OpGroup::attention};

constexpr OpGroup group_of(OpKind kind) {
  switch (kind) {
    case OpKind::conv_forward:
    case OpKind::conv_dgrad:
    case OpKind::conv_wgrad:
      return OpGroup::convolution;
    case OpKind::gemm:
      return OpGroup::matrix_product;
    case OpKind::attention:
      return OpGroup::attention;
    case OpKind::batch_norm_forward:
    case OpKind::batch_norm_backward:
      return OpGroup::batch_norm;
    default:
      return OpGroup::other;
  }
}

/// Numbers by group.
struct ByOpGroup {
  std::array<double, all_op_groups.size()> values{};
  [[nodiscard]] double operator[](OpGroup group) const { return values[static_cast<std::size_t>(group)]; }
  [[nodiscard]] double& operator[](OpGroup group) { return values[static_cast<std::size_t>(group)]; }
};

struct OpSlowdown {
  ByOpGroup factor{.values = {1, 1, 1, 1, 1}};
  Seconds launch;      ///< added to every op
  std::string source;  ///< the runs it was fitted to; empty: kernels alone
};

}  // namespace trainyard

namespace trainyard::config {

template <>
struct Names<OpGroup> {
  static constexpr std::string_view what = "group of ops";
  static constexpr std::array table{
      Name{"convolution", OpGroup::convolution, "convolutions, forward and backward"},
      Name{"matrix_product", OpGroup::matrix_product, "matrix products"},
      Name{"batch_norm", OpGroup::batch_norm, "batch normalisation, forward and backward"},
      Name{"other", OpGroup::other, "all other kernels, which the memory's bandwidth limits"},
      Name{"attention", OpGroup::attention, "fused attention"}};
};

}  // namespace trainyard::config
