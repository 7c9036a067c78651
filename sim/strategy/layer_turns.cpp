#include "strategy/layer_turns.hpp"

#include "strategy/layout_refusal.hpp"
#include "units/ids.hpp"
#include "workload/accumulate.hpp"
#include "workload/make_trace.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <iterator>
#include <numeric>
#include <string>
#include <utility>

namespace trainyard {

namespace {

/// Takes the ops of the section out of a pass.
std::vector<Op> section_of(std::vector<Op>& pass, const std::vector<Layer>& layers,
                           const TurnSection& section, Precision precision) {
  const auto is_outside = [&](const Op& op) {
    if (op.of_layer < section.first) return true;
    return op.phase == Phase::forward && !casts_inputs(precision) && is_cast(op, layers[at(op.of_layer)]);
  };
  const auto inside = std::ranges::stable_partition(pass, is_outside);
  std::vector<Op> taken(std::make_move_iterator(inside.begin()), std::make_move_iterator(inside.end()));
  pass.erase(inside.begin(), inside.end());
  return taken;
}

class TurnWriter {
public:
  TurnWriter(std::vector<Op> one, const std::vector<Layer>& layers, const TurnSection& section,
             const TurnSetting& setting)
      : one_(std::move(one)),
        first_(layers[at(section.first)]),
        section_(section),
        values_(setting.micro_batch * first_.in_elements * element_sizes(setting.precision).activation),
        labels_(setting.micro_batch * rows_of(first_) * index_size) {
    for (std::size_t i = 0; i < one_.size(); ++i) {
      if (one_[i].of_layer == section.first && one_[i].phase == Phase::backward) returns_ = i;
    }
    if (setting.adds_gradients)
      addition_ = gradient_addition(one_, element_sizes(setting.precision).gradient);
  }

  std::vector<Op> write() {
    for (int turn = 0; turn < section_.among.count; ++turn) add(turn);
    return std::move(all_);
  }

private:
  [[nodiscard]] std::size_t ops_of(int turn) const {
    return one_.size() + (turn > 0 && addition_.has_value() ? 1 : 0);
  }

  void add(int turn) {
    const std::size_t begin = all_.size();
    for (const Op& op : one_) {
      all_.push_back(op);
      all_.back().layer = named(op.layer, turn);
      all_.back().gradients.clear();
    }
    if (turn > 0 && addition_) {
      all_.push_back(*addition_);
      all_.back().layer = named(addition_->layer, turn);
    }
    if (turn + 1 == section_.among.count) complete_gradients(begin);
    if (turn == 0) send_inputs(all_[begin], 0, 0);
    if (turn + 1 < section_.among.count) send_inputs(all_[begin], turn + 1, ops_of(turn));
    if (first_.has_input_gradient) return_gradients(begin + returns_, turn);
  }

  /// The last turn completes gradients where it computes or, if that is another op, adds them.
  void complete_gradients(std::size_t begin) {
    for (std::size_t i = 0; i < one_.size(); ++i) {
      std::vector<Gradient>& complete = (addition_ ? all_.back() : all_[begin + i]).gradients;
      complete.insert(complete.end(), one_[i].gradients.begin(), one_[i].gradients.end());
    }
  }

  [[nodiscard]] bool has_owner() const { return section_.turns == LayerTurns::by_replica; }

  static std::string named(const std::string& layer, int turn) {
    return fmt::format("{} #{}", layer, turn + 1);
  }

  void send(Op& op, int turn, OpCommunication what) {
    what.axis = section_.among.axis();
    what.root = has_owner() ? turn : 0;
    what.of = named(what.of, turn);
    what.in_order = true;
    op.communications.push_back(std::move(what));
  }

  /// `waits`: ops from this one to the first one of the turn.
  void send_inputs(Op& op, int turn, std::size_t waits) {
    const Operation operation = has_owner() ? Operation::broadcast : Operation::all_gather;
    const auto send_part = [&](const std::string& name, Bytes size) {
      send(op, turn,
           {.operation = operation,
            .size = size,
            .at = LaunchTime::start,
            .waits = static_cast<int>(waits),
            .of = name});
    };
    send_part(first_.name, values_);
    send_part("labels", labels_);
  }

  /// Only ops after the section wait for these gradients.
  void return_gradients(std::size_t after, int turn) {
    const std::size_t end = all_.size() + at(section_.among.count - turn - 1) * ops_of(1);
    send(all_[after], turn,
         {.operation = has_owner() ? Operation::reduce : Operation::reduce_scatter,
          .size = values_,
          .at = LaunchTime::end,
          .waits = static_cast<int>(end - after - 1),
          .of = first_.name});
  }

  std::vector<Op> one_;  ///< forward and backward of one turn
  const Layer& first_;
  const TurnSection& section_;
  Bytes values_;                ///< inputs of a turn
  Bytes labels_;                ///< of its samples
  std::size_t returns_ = 0;     ///< the op after which gradients of inputs are complete
  std::optional<Op> addition_;  ///< of gradients to those of earlier turns
  std::vector<Op> all_;
};

}  // namespace

std::optional<TurnSection> turn_section(const std::vector<Layer>& layers, const std::vector<LayerRule>& rules,
                                        DividingRanks among) {
  if (among.count == 1) return std::nullopt;
  for (std::size_t i = 0; i < layers.size(); ++i) {
    const LayerRule* rule = rule_for(layers[i].name, rules);
    if (rule != nullptr && rule->turns != LayerTurns::none)
      return TurnSection{static_cast<int>(i), rule->turns, among, key_of(*rule, rules, "turns")};
  }
  return std::nullopt;
}

int slice_multiple(const TurnSection& section, const std::vector<Layer>& layers) {
  if (section.turns != LayerTurns::by_slice) return 1;
  return section.among.count / std::gcd(section.among.count, rows_of(layers[at(section.first)]));
}

void require_slices(const TurnSection& section, const std::vector<Layer>& layers, int micro_batch) {
  const int multiple = slice_multiple(section, layers);
  if (micro_batch % multiple == 0) return;
  const int rows = rows_of(layers[at(section.first)]);
  const int fewer = micro_batch / multiple * multiple;
  const std::string fitting =
      fewer == 0 ? std::to_string(multiple) : fmt::format("{} or {}", fewer, fewer + multiple);
  refuse_layout(
      section.key,
      fmt::format("{} samples{} of a micro-batch do not divide into {} equal slices, one per replica",
                  micro_batch, rows == 1 ? "" : fmt::format(" of {} tokens", rows), section.among.count),
      fmt::format("batch_per_gpu: {}, or turns: by_replica", fitting));
}

TurnOps take_turns(TurnOps one, const std::vector<Layer>& layers, const TurnSection& section,
                   const TurnSetting& setting) {
  std::vector<Op> turn = section_of(one.forward, layers, section, setting.precision);
  std::ranges::move(section_of(one.backward, layers, section, setting.precision), std::back_inserter(turn));
  std::vector<Op> turns = TurnWriter(std::move(turn), layers, section, setting).write();
  one.backward.insert(one.backward.begin(), std::make_move_iterator(turns.begin()),
                      std::make_move_iterator(turns.end()));
  return one;
}

}  // namespace trainyard
