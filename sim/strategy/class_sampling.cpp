#include "strategy/class_sampling.hpp"

#include "units/ids.hpp"
#include "workload/make_trace.hpp"

#include <algorithm>
#include <functional>
#include <iterator>
#include <string>
#include <utility>

namespace trainyard {

namespace {

class Sampling {
public:
  Sampling(const Layer& layer, int number, Precision precision)
      : layer_(layer), number_(number), sizes_(element_sizes(precision)) {}

  [[nodiscard]] Op draw() const {
    constexpr Bytes value{4};
    constexpr int passes = 6;  // random values, one for each of four bytes, the collection
    const double classes = static_cast<double>(layer_.gemm.n) / layer_.drawn;
    return op(Phase::forward, ".draw", OpKind::elementwise, classes, passes * classes * value);
  }

  [[nodiscard]] Op gather() const {
    const Bytes weight = sizes_.writes_copy ? sizes_.compute_weight : sizes_.parameter;
    return op(Phase::forward, ".gather", OpKind::embedding, drawn(), 2 * drawn() * weight);
  }

  [[nodiscard]] Op scatter() const {
    constexpr int of_drawn = 3;  // their gradients, and the zeros that are read and written
    const double values = parameter_elements(layer_) + of_drawn * drawn();
    return op(Phase::backward, ".scatter", OpKind::embedding, drawn(), values * sizes_.gradient);
  }

private:
  [[nodiscard]] double drawn() const { return layer_.drawn * parameter_elements(layer_); }

  [[nodiscard]] Op op(Phase phase, const char* name, OpKind kind, double values, Bytes bytes) const {
    Op made;
    made.phase = phase;
    made.layer = layer_.name + name;
    made.kind = kind;
    made.of_layer = number_;
    made.shape = VectorShape{values};
    made.flops = Flops(values);
    made.bytes = bytes;
    return made;
  }

  const Layer& layer_;
  int number_;
  ElementSizes sizes_;
};

using OpIterator = std::vector<Op>::iterator;

/// Moves the collectives launched before the ops of a range to another op, which precedes them.
void advance_launches(OpIterator first, OpIterator end, Op& earlier) {
  for (; first != end; ++first) {
    std::vector<OpCommunication>& sent = first->communications;
    const auto early = std::ranges::stable_partition(
        sent, [](const OpCommunication& one) { return one.at == LaunchTime::end; });
    earlier.communications.insert(earlier.communications.end(), early.begin(), early.end());
    sent.erase(early.begin(), early.end());
  }
}

void add_to(std::vector<Op>& ops, const Sampling& sampling, int layer) {
  const auto is_own = [&](const Op& op) { return op.of_layer == layer; };
  const auto last = std::ranges::find_if(ops.rbegin(), ops.rend(), is_own);
  Op scatter = sampling.scatter();
  scatter.gradients = std::exchange(last->gradients, {});
  ops.insert(last.base(), std::move(scatter));
  const auto product =
      std::ranges::find_if(ops, [&](const Op& op) { return is_own(op) && is_matrix(op.kind); });
  const auto casts = std::stable_partition(ops.begin(), product, std::not_fn(is_own));
  Op draw = sampling.draw();
  advance_launches(casts, std::next(product), draw);
  const auto place = ops.insert(casts, std::move(draw));
  ops.insert(std::next(place), sampling.gather());
}

}  // namespace

void add_sampling(Trace& trace, const std::vector<Layer>& layers) {
  for (std::size_t i = 0; i < layers.size(); ++i) {
    if (layers[i].drawn >= 1) continue;
    const auto number = static_cast<int>(i);
    add_to(trace.ops, Sampling(layers[i], number, trace.precision.value_or(Precision::fp32)), number);
  }
}

}  // namespace trainyard
