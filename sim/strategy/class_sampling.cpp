#include "strategy/class_sampling.hpp"

#include "units/ids.hpp"
#include "workload/make_trace.hpp"

#include <algorithm>
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

/// Moves what is launched before the ops of a range to another op that precedes them.
void advance_launches(std::vector<Op>::iterator first, std::vector<Op>::iterator end, Op& earlier) {
  for (; first != end; ++first) {
    std::vector<OpCommunication>& sent = first->communications;
    const auto late = std::ranges::stable_partition(
        sent, [](const OpCommunication& one) { return one.at == LaunchTime::end; });
    earlier.communications.insert(earlier.communications.end(), late.begin(), late.end());
    sent.erase(late.begin(), late.end());
  }
}

void add_to(std::vector<Op>& ops, const Sampling& sampling, int layer) {
  const auto is_of = [&](Phase phase) {
    return [=](const Op& op) { return op.of_layer == layer && op.phase == phase; };
  };
  const auto last = std::find_if(ops.rbegin(), ops.rend(), is_of(Phase::backward));
  Op scatter = sampling.scatter();
  scatter.gradients = std::exchange(last->gradients, {});
  ops.insert(last.base(), std::move(scatter));
  const auto first = std::ranges::find_if(ops, is_of(Phase::forward));
  const auto end = std::find_if_not(first, ops.end(), is_of(Phase::forward));
  Op draw = sampling.draw();
  advance_launches(first, end, draw);
  const auto place = ops.insert(first, std::move(draw));
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
