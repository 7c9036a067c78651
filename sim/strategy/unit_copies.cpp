#include "strategy/unit_copies.hpp"

#include "workload/accumulate.hpp"
#include "workload/make_trace.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <iterator>
#include <string_view>
#include <utility>
#include <vector>

namespace trainyard {
namespace {

constexpr std::string_view copy_out = "copy_out";
constexpr std::string_view join = "join_gradients";

/// A copy in front of an op of the trace, or right after it.
struct PlacedOp {
  int at = 0;
  bool is_after = false;
  Op op;
};

Op copy_op(Phase phase, std::string name, int layer, double values, Bytes bytes, Seconds launch,
           Seconds gap) {
  Op op;
  op.phase = phase;
  op.layer = std::move(name);
  op.kind = OpKind::elementwise;
  op.of_layer = layer;
  op.shape = VectorShape{values};
  op.bytes = bytes;
  op.host = launch;
  op.gaps = launch > Seconds() ? gap : Seconds();
  return op;
}

/// Inserts ops and moves the ranges of the passes, which follow each other.
void insert(std::vector<PlacedOp> added, RankClass& one) {
  const auto place = [](const PlacedOp& placed) { return 2 * placed.at + (placed.is_after ? 1 : -1); };
  std::ranges::stable_sort(added, {}, place);
  std::vector<Op> ops;
  ops.reserve(one.trace.ops.size() + added.size());
  std::vector<int> ends;  // by op: the place behind it and its copies
  auto next = added.begin();
  for (int i = 0; at(i) < one.trace.ops.size(); ++i) {
    for (; next != added.end() && place(*next) < 2 * i; ++next) ops.push_back(std::move(next->op));
    ops.push_back(std::move(one.trace.ops[at(i)]));
    for (; next != added.end() && place(*next) == 2 * i + 1; ++next) ops.push_back(std::move(next->op));
    ends.push_back(static_cast<int>(ops.size()));
  }
  int end = 0;
  for (PassOps& pass : one.passes) {
    pass.first = end;
    end = pass.end = pass.end == 0 ? 0 : ends[at(pass.end - 1)];
  }
  one.trace.ops = std::move(ops);
}

void remove_copies(RankClass& one) {
  std::vector<int> kept_before(one.trace.ops.size() + 1);
  for (std::size_t i = 0; i < one.trace.ops.size(); ++i)
    kept_before[i + 1] = kept_before[i] + (is_unit_copy(one.trace.ops[i]) ? 0 : 1);
  for (PassOps& pass : one.passes) {
    pass.first = kept_before[at(pass.first)];
    pass.end = kept_before[at(pass.end)];
  }
  std::erase_if(one.trace.ops, is_unit_copy);
}

/// An addition of gradients that ranks have divided adds their parts.
void set_additions(RankClass& one, bool adds_parts, const std::map<Axis, int>& shards, Bytes value) {
  for (const PassOps& pass : one.passes) {
    if (pass.end == pass.first || !is_gradient_addition(one.trace.ops[at(pass.end - 1)])) continue;
    double own = 0;
    for (int op = pass.first; op < pass.end; ++op) {
      for (const Gradient& gradient : one.trace.ops[at(op)].gradients) {
        const auto ranks = gradient.summed_over ? shards.find(*gradient.summed_over) : shards.end();
        own += gradient.elements / (adds_parts && ranks != shards.end() ? ranks->second : 1);
      }
    }
    Op& addition = one.trace.ops[at(pass.end - 1)];
    addition.shape = VectorShape{own};
    addition.flops = Flops(own);
    addition.bytes = 3 * own * value;
  }
}

int ranks_of(const ShardUnit& unit, const std::map<Axis, int>& shards) {
  int ranks = 1;
  for (const auto& [axis, values] : unit.parameters) {
    if (const auto found = shards.find(axis); found != shards.end()) ranks = std::max(ranks, found->second);
  }
  return ranks;
}

double divided(const ShardUnit& unit, const std::map<Axis, int>& shards) {
  double sum = 0;
  for (const auto& [axis, values] : unit.parameters) {
    const auto found = shards.find(axis);
    if (found != shards.end() && found->second > 1) sum += values;
  }
  return sum;
}

}  // namespace

UnitValues unit_values(const Stack& stack, Precision precision) {
  const ElementSizes sizes = element_sizes(precision);
  const Bytes kept = sizes.writes_copy ? Bytes(4) : sizes.parameter;
  return {
      .gathered = sizes.compute_weight, .reduced = size_of(stack.gradient_dtype, precision), .kept = kept};
}

UnitCopies unit_copies(const UnitRules& rules, double parameters, double gathered, int ranks,
                       const UnitValues& values) {
  if (rules.buffers == UnitBuffers::none || ranks < 2) return {};
  const Bytes weight = values.gathered;
  const Bytes gradient = values.reduced;
  const double part = gathered / ranks;
  const double own = parameters / ranks;
  const Bytes cast = values.kept == weight ? Bytes() : values.kept + weight;  // read and written, per value
  const Bytes widened = values.kept > gradient ? own * (values.kept + gradient) : Bytes();
  const Bytes passed = 2 * weight;
  const auto divided = [&](double count) { return rules.divides_gradients ? 2 * count * gradient : Bytes(); };
  switch (rules.buffers) {
    case UnitBuffers::none:
      return {};
    case UnitBuffers::flat:
      return {.before_gather = part * cast,
              .after_gather = {},
              .copied_out = {},
              .joined = parameters * passed,
              .before_reduction =
                  parameters * (gradient == weight ? Bytes() : weight + gradient) + divided(parameters),
              .after_reduction = divided(own) + widened};
    case UnitBuffers::tensors:
      return {.before_gather = part * (cast + passed),
              .after_gather = {},
              .copied_out = gathered * passed,
              .joined = parameters * (weight + gradient),
              .before_reduction = divided(parameters),
              .after_reduction = widened};
    case UnitBuffers::modules:
      return {.before_gather = part * passed,
              .after_gather = gathered * passed,
              .copied_out = {},
              .joined = {},
              // into the bucket, into the order of the ranks
              .before_reduction = 2 * parameters * (weight + gradient) + divided(parameters),
              .after_reduction = {}};
  }
  return {};
}

void set_unit_ops(RankClass& one, const Stack& stack, Sharded shard, const std::map<Axis, int>& shards,
                  Precision precision, Seconds launch, Seconds gap) {
  remove_copies(one);
  const bool divides = has_units(stack, shard) && !shards.empty();
  set_additions(one, shard >= Sharded::gradients, shards, element_sizes(precision).gradient);
  if (!divides || stack.units.buffers == UnitBuffers::none) return;
  const UnitRules rules = unit_rules(stack, shard);
  const UnitValues values = unit_values(stack, precision);
  std::vector<PlacedOp> added;
  int number = 0;
  for (const ShardUnit& unit : shard_units(one, rules)) {
    const double parameters = divided(unit, shards);
    const double gathered = gathered_parameters(unit, shards);
    const UnitCopies copies = unit_copies(rules, parameters, gathered, ranks_of(unit, shards), values);
    const std::string name = unit.is_root ? "root" : fmt::format("unit {}", number);
    ++number;
    const auto add = [&](int op, bool is_after, Phase phase, std::string_view what, double count,
                         Bytes bytes) {
      if (bytes <= Bytes()) return;
      added.push_back(
          {op, is_after,
           copy_op(phase, fmt::format("{}.{}", name, what), unit.first_layer, count, bytes, launch, gap)});
    };
    add(unit.first_forward, false, Phase::forward, copy_out, gathered, copies.copied_out);
    if (unit.first_backward < 0) continue;
    if (!unit.is_kept)
      add(unit.first_backward, false, Phase::backward, copy_out, gathered, copies.copied_out);
    add(unit.last_backward, true, Phase::backward, join, parameters, copies.joined);
  }
  insert(std::move(added), one);
}

bool is_unit_copy(const Op& op) {
  const std::string_view name = op.layer;
  const std::size_t dot = name.rfind('.');
  if (op.kind != OpKind::elementwise || dot == std::string_view::npos) return false;
  return name.substr(dot + 1) == copy_out || name.substr(dot + 1) == join;
}

}  // namespace trainyard
