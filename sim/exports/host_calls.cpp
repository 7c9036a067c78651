#include "exports/host_calls.hpp"

#include "run/timeline_tracks.hpp"

#include <algorithm>
#include <set>

namespace trainyard {
namespace {

class CallMaker {
public:
  explicit CallMaker(const ExportedStep& step) : step_(step) {}

  std::vector<HostCall> make() {
    add_communication(-1);
    for (const TimelineEvent* bar : step_.compute) {
      if (step_.ready_op.empty()) add_communication_before(bar->start);
      const Op& op = step_.trace->ops.at(at(bar->op));
      is_backward_ = op.phase == Phase::backward;
      calls_.push_back({.kind = op.kind == OpKind::host ? CallKind::wait : CallKind::op,
                        .bar = bar,
                        .op = bar->op,
                        .is_backward = op.phase == Phase::backward,
                        .latest = op.kind == OpKind::host ? any_time : nanoseconds(bar->start)});
      for (const Gradient& gradient : op.gradients)
        calls_.push_back({.kind = CallKind::gradient,
                          .bar = bar,
                          .gradient = &gradient,
                          .op = bar->op,
                          .is_backward = op.phase == Phase::backward,
                          .latest = any_time});
      add_communication(bar->op);
    }
    add_rest();
    find_ranges();
    return std::move(calls_);
  }

private:
  void add(const TimelineEvent* bar, bool is_backward) {
    launched_.insert(bar);
    calls_.push_back({.kind = CallKind::communication,
                      .bar = bar,
                      .is_backward = is_backward,
                      .latest = nanoseconds(bar->start)});
  }

  /// In a step that runs ops several times the order is that of the GPU.
  void add_communication_before(Seconds start) {
    for (; next_ < step_.other_work.size() && step_.other_work[next_]->start < start; ++next_)
      add(step_.other_work[next_], is_backward_);
  }

  void add_communication(int ready_op) {
    if (step_.ready_op.empty()) return;
    for (const TimelineEvent* bar : step_.other_work) {
      if (step_.ready_op.at(bar->collective) != ready_op) continue;
      add(bar, ready_op >= 0 && step_.trace->ops.at(at(ready_op)).phase == Phase::backward);
    }
  }

  /// Behind an op that this rank does not run.
  void add_rest() {
    for (const TimelineEvent* bar : step_.other_work) {
      if (!launched_.contains(bar)) add(bar, false);
    }
  }

  [[nodiscard]] bool share_a_range(const HostCall& one, const HostCall& next) const {
    if (one.kind != CallKind::op || next.kind != CallKind::op) return false;
    if (!one.is_backward || !next.is_backward) return false;
    const Op& a = step_.trace->ops.at(at(one.op));
    const Op& b = step_.trace->ops.at(at(next.op));
    return a.layer == b.layer && a.gradients.empty();
  }

  void find_ranges() {
    for (std::size_t i = 0; i < calls_.size(); ++i) {
      calls_[i].begins_range = i == 0 || !share_a_range(calls_[i - 1], calls_[i]);
      calls_[i].ends_range = i + 1 == calls_.size() || !share_a_range(calls_[i], calls_[i + 1]);
    }
  }

  const ExportedStep& step_;
  std::set<const TimelineEvent*> launched_;
  std::size_t next_ = 0;      // of the other work, in a step that runs ops several times
  bool is_backward_ = false;  // the last op
  std::vector<HostCall> calls_;
};

}  // namespace

std::vector<HostCall> host_calls(const ExportedStep& step) { return CallMaker(step).make(); }

std::optional<HostSchedule> host_schedule(std::span<const std::int64_t> latest, std::int64_t step) {
  constexpr std::int64_t usual =
      4000;                           // assumed: PyTorch needs about that long for an operator and its launch
  constexpr std::int64_t least = 16;  // for ranges that nest
  const auto calls = static_cast<std::int64_t>(latest.size());
  // A quarter of the step, so that the lead of a host whose first kernels are short leaves it time for the
  // rest.
  HostSchedule made{.cost = std::min(usual, step / (4 * (calls + 2))), .lead = 0, .starts = {}};
  if (made.cost < least) return std::nullopt;
  const std::int64_t margin = made.cost / 8;
  made.lead = made.cost;
  for (std::int64_t i = 0; i < calls; ++i) {
    if (latest[i] != any_time) made.lead = std::max(made.lead, (i + 1) * made.cost - latest[i]);
  }
  made.lead += margin;
  made.starts.resize(latest.size());
  std::int64_t next = step - made.lead - margin;
  for (std::size_t i = latest.size(); i-- > 0;) {
    next = std::min(next, latest[i]) - made.cost;
    made.starts[i] = next;
  }
  return made;
}

}  // namespace trainyard
