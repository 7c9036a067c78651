#include "run/step_parts.hpp"

#include "run/layout_parts.hpp"
#include "units/ids.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <set>

namespace trainyard {

namespace {

struct Interval {
  Seconds start, end;
};

using Bars = std::vector<const TimelineEvent*>;

Bars bars_of(const Step& step, Rank rank) {
  Bars bars;
  for (const TimelineEvent& bar : step.bars) {
    if (bar.rank == rank) bars.push_back(&bar);
  }
  std::ranges::stable_sort(bars, {}, [](const TimelineEvent* bar) { return bar->start; });
  return bars;
}

/// Idle intervals of the compute stream, from 0 to `end`.
std::vector<Interval> gaps_of(const Bars& bars, Seconds end) {
  std::vector<Interval> gaps;
  Seconds busy_until;
  for (const TimelineEvent* bar : bars) {
    if (bar->stream != Stream::compute) continue;
    if (bar->start > busy_until) gaps.push_back({busy_until, bar->start});
    busy_until = std::max(busy_until, bar->end);
  }
  if (end > busy_until) gaps.push_back({busy_until, end});
  return gaps;
}

/// The parts of `gaps` outside a bar; the length of the rest is added to `covered`.
std::vector<Interval> without(const std::vector<Interval>& gaps, const TimelineEvent& bar, Seconds& covered) {
  std::vector<Interval> left;
  for (const Interval& gap : gaps) {
    const Seconds from = std::max(gap.start, bar.start);
    const Seconds to = std::min(gap.end, bar.end);
    if (to <= from) {
      left.push_back(gap);
      continue;
    }
    covered += to - from;
    if (gap.start < from) left.push_back({gap.start, from});
    if (to < gap.end) left.push_back({to, gap.end});
  }
  return left;
}

/// Kernels: their times alone, by purpose, and their delay by concurrent work.
void add_kernels(const Step& step, const Bars& bars, std::map<StepPart, Seconds>& times) {
  for (const TimelineEvent* bar : bars) {
    if (bar->stream != Stream::compute || bar->op < 0) continue;
    const OpRow& op = op_of(step, *bar);
    StepPart part = StepPart::optimizer;
    if (op.phase == Phase::forward) part = StepPart::forward;
    if (op.phase == Phase::backward) part = StepPart::backward;
    if (op.kind == OpKind::host) part = StepPart::host;
    times[part] += op.duration;
    times[StepPart::kernel_slowdown] += bar->end - bar->start - op.duration;
  }
}

/// The parts of a step that its input adds.
std::vector<PartTime> parts_of_input(const Run& run) {
  if (!run.input) return {{StepPart::input, {}}};
  std::vector<PartTime> parts;
  if (run.input->loading.kernels > Seconds{})
    parts.push_back({StepPart::decoding, run.input->loading.kernels});
  parts.push_back({StepPart::input, run.input->exposed});
  return parts;
}

StepParts parts_of_step(const Step& step, Rank rank, const std::vector<PartTime>& of_input) {
  const Bars bars = bars_of(step, rank);
  std::map<StepPart, Seconds> times;
  add_kernels(step, bars, times);
  StepParts parts;
  Seconds end = step.time;
  for (const PartTime& part : of_input) end -= part.time;
  std::vector<Interval> gaps = gaps_of(bars, end);
  std::set<Seconds> launched;
  for (const TimelineEvent* bar : bars) {
    if (bar->stream == Stream::launch) launched.insert(bar->end);
  }
  std::erase_if(gaps, [&](const Interval& gap) {
    if (!launched.contains(gap.end)) return false;  // the launch came last of all that the kernel waited for
    times[StepPart::host] += gap.end - gap.start;
    return true;
  });
  std::map<int, Seconds> exposed;
  for (const TimelineEvent* bar : bars) {
    if (bar->is_collective) gaps = without(gaps, *bar, exposed[bar->collective]);
  }
  for (const TimelineEvent* bar : bars) {
    if (bar->stream != Stream::compute && bar->stream != Stream::launch && !bar->is_collective)
      gaps = without(gaps, *bar, times[StepPart::framework]);
  }
  for (const Interval& gap : gaps) times[StepPart::waiting] += gap.end - gap.start;
  for (const auto& [collective, time] : exposed) {
    if (time <= Seconds{}) continue;
    times[StepPart::communication] += time;
    parts.collectives.push_back({collective, time});
  }
  for (const StepPart part :
       {StepPart::forward, StepPart::backward, StepPart::optimizer, StepPart::host, StepPart::kernel_slowdown,
        StepPart::communication, StepPart::framework, StepPart::waiting}) {
    constexpr double rounding = 1e-9;  // of differences of dates
    const bool is_rounding = std::abs(times[part].si()) <= rounding * step.time.si();
    parts.parts.push_back({part, is_rounding ? Seconds{} : times[part]});
  }
  std::ranges::copy(of_input, std::back_inserter(parts.parts));
  return parts;
}

/// Means over the ranks, per update.
StepParts parts_of_update(const Updates& updates) {
  const WorkerRow all = sum_of(updates.workers);
  StepParts parts;
  Seconds other = updates.time.median;
  for (const PartTime& sum :
       {PartTime{StepPart::compute, all.computing - all.wasted},
        PartTime{StepPart::wasted_compute, all.wasted}, PartTime{StepPart::communication, all.communicating},
        PartTime{StepPart::waiting, all.waiting}, PartTime{StepPart::input, all.loading}}) {
    const PartTime& part = parts.parts.emplace_back(sum.part, mean_per_update(updates, sum.time));
    other -= part.time;
  }
  // An interval is counted when it has ended, so one still open at the end of the measurement is missing.
  constexpr double rounding = 1e-9;
  const bool is_rounding = std::abs(other.si()) <= rounding * updates.time.median.si();
  parts.parts.push_back({StepPart::other, is_rounding ? Seconds{} : other});
  return parts;
}

}  // namespace

StepParts step_parts(const Run& run, const ClassStep& one) {
  if (has_bubbles(run.experiment)) {
    const std::vector<ClassStep>& classes = step_of(run).classes;
    const auto number = std::ranges::find(classes, one.first, &ClassStep::first) - classes.begin();
    StepParts parts = layout_parts(run.experiment, step_of(run), static_cast<std::size_t>(number));
    if (run.input) std::ranges::copy(parts_of_input(run), std::back_inserter(parts.parts));
    return parts;
  }
  return parts_of_step(step_of(run), one.first, parts_of_input(run));
}

StepParts step_parts(const Run& run) {
  if (const Updates* updates = updates_of(run)) return parts_of_update(*updates);
  return step_parts(run, slowest_class(step_of(run)));
}

}  // namespace trainyard
