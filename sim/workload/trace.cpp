#include "workload/trace.hpp"

#include <algorithm>
#include <cmath>
#include <variant>

namespace trainyard {

bool has_messages(const Trace& trace) {
  return std::ranges::any_of(trace.ops, [](const Op& op) {
    return std::ranges::any_of(op.communications,
                               [](const OpCommunication& one) { return one.message.has_value(); });
  });
}

bool is_causal_attention(const Op& op) {
  const auto* shape = std::get_if<GemmShape>(&op.shape);
  if (op.kind != OpKind::attention || shape == nullptr) return false;
  const double product = 2.0 * shape->batch * shape->m * shape->n * shape->k;
  constexpr double rounding = 0.1;  // values may have other features than keys, and windows any size
  const auto has = [&](double products) {
    return std::abs(op.flops.si() - products * product) < rounding * products * product;
  };
  return has(1) || has(2.5);
}

}  // namespace trainyard
