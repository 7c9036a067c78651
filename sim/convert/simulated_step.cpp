#include "convert/trace_validation.hpp"
#include "imports/intervals.hpp"
#include "run/child_processes.hpp"
#include "run/step.hpp"

#include <cmath>
#include <map>
#include <utility>

namespace trainyard {
namespace {

/// A bar of a timeline in whole picoseconds: intervals of profiles are whole numbers.
Interval interval_of(const TimelineEvent& bar) {
  constexpr double per_second = 1e12;
  return {std::llround(bar.start.si() * per_second), std::llround(bar.end.si() * per_second)};
}

Seconds seconds_in(const std::vector<Interval>& picoseconds) {
  return Seconds(static_cast<double>(total(picoseconds)) * 1e-12);
}

/// The bars of the rank that ends last, by kind of work.
struct BarsByPart {
  std::vector<Interval> kernels, collectives, copies, framework;
};

BarsByPart parts_of_bars(const Step& step, const ClassStep& one) {
  BarsByPart parts;
  for (const TimelineEvent& bar : step.bars) {
    if (bar.rank != one.first || bar.stream == Stream::launch) continue;
    if (bar.is_collective) {
      parts.collectives.push_back(interval_of(bar));
    } else if (bar.op < 0) {
      parts.framework.push_back(interval_of(bar));
    } else if (const OpRow& op = op_of(step, bar); op.kind != OpKind::host) {
      parts.kernels.push_back(interval_of(bar));
    } else if (op.layer.starts_with(host_copy_layer)) {
      parts.copies.push_back(interval_of(bar));
    }
  }
  for (std::vector<Interval>* list : {&parts.kernels, &parts.collectives, &parts.copies, &parts.framework})
    *list = merged(std::move(*list));
  return parts;
}

std::vector<Interval> union_of(std::vector<Interval> a, const std::vector<Interval>& b) {
  a.insert(a.end(), b.begin(), b.end());
  return merged(std::move(a));
}

}  // namespace

SimulatedStep simulated_step(const Run& run) {
  const Step& step = step_of(run);
  const ClassStep& one = slowest_class(step);
  const BarsByPart parts = parts_of_bars(step, one);
  SimulatedStep result;
  result.time = step.time;
  result.computing = seconds_in(parts.kernels);
  result.slowed = one.slowed;
  result.exposed = seconds_in(without(parts.collectives, parts.kernels));
  const std::vector<Interval> busy = union_of(parts.kernels, parts.collectives);
  result.copying = seconds_in(without(parts.copies, busy));
  result.other = seconds_in(without(parts.framework, union_of(busy, parts.copies)));
  result.idle = step.time - result.computing - result.exposed - result.copying - result.other;
  for (const OpRow& op : one.ops) result.ops.push_back({op.phase, op.kind, op.duration, op.start, op.source});
  std::map<Operation, SentCollectives> sums;
  for (const CollectiveRow& row : step.collectives) {
    SentCollectives& sum = sums[row.operation];
    sum.operation = row.operation;
    sum.count += row.rounds;
    sum.size += row.rounds * row.size;
    sum.time += row.rounds * (row.end - row.start);
  }
  for (const auto& [operation, sum] : sums) result.collectives.push_back(sum);
  return result;
}

}  // namespace trainyard
