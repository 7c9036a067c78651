#include "schedule/unit_program.hpp"

#include "units/ids.hpp"

#include <algorithm>
#include <numeric>

namespace trainyard {

namespace {

constexpr int none = -1;

}  // namespace

UnitProgram::UnitProgram(std::span<const UnitLaunch> units, const UnitRules& rules, ProgramWriter& writer,
                         LaunchProgram& host)
    : units_(units),
      rules_(rules),
      writer_(writer),
      host_(host),
      states_(units.size(), State::sharded),
      events_(units.size(), none),
      begun_(units.size(), none),
      last_use_(units.size(), none) {
  std::vector<std::pair<int, int>> uses;  // of backward: first op and unit
  for (int i = 0; at(i) < units_.size(); ++i) {
    const ShardUnit& unit = units_[at(i)].unit;
    forward_.emplace(unit.first_forward, i);
    if (unit.first_backward < 0) continue;
    ends_.emplace(unit.last_backward, i);
    uses.emplace_back(unit.first_backward, i);
    if (!rules_.synchronises || unit.last_repeat < 0 || unit.first_gradient < unit.last_repeat) continue;
    uses.emplace_back(unit.first_gradient, i);
    freed_after_.emplace(unit.last_repeat, i);
  }
  std::ranges::sort(uses);
  for (const auto& [op, unit] : uses) {
    backward_.emplace(op, static_cast<int>(uses_.size()));
    last_use_[at(unit)] = static_cast<int>(uses_.size());
    uses_.push_back(unit);
  }
}

/// The unit that backward uses after this use; none after the last one.
int UnitProgram::unit_after(int use) const { return at(use) + 1 < uses_.size() ? uses_[at(use) + 1] : none; }

int UnitProgram::unit_at(const std::map<int, int>& units, int op) const {
  const auto found = units.find(op);
  return found == units.end() ? none : found->second;
}

void UnitProgram::before(int op) {
  if (const int unit = unit_at(forward_, op); unit >= 0) begin_forward(unit);
  if (const int use = unit_at(backward_, op); use >= 0) begin_backward(use);
  const int ending = unit_at(ends_, op);
  if (ending >= 0 && units_[at(ending)].joins_gradients && reduced_ >= 0)
    writer_.wait(Stream::compute, reduced_);
}

void UnitProgram::after(int op) {
  // Gathers wait for the copies of the unit, which are its first op.
  if (rules_.buffers == UnitBuffers::tensors) {
    if (const int unit = unit_at(forward_, op); unit >= 0) begun_[at(unit)] = writer_.record(Stream::compute);
    if (const int use = unit_at(backward_, op);
        use >= 0 && rules_.backward_prefetch == BackwardPrefetch::pre) {
      begin_ = writer_.record(Stream::compute);
      prefetch_backward(use);
    }
  }
  if (const int unit = unit_at(freed_after_, op); unit >= 0 && unit_after(turn_) != unit)
    release(unit, writer_.record(Stream::compute));
  if (const int unit = unit_at(ends_, op); unit >= 0) end_backward(unit);
}

/// Whether `next` may be gathered while `unit` runs.
bool UnitProgram::is_ahead(int unit, int next) const {
  if (rules_.ahead == GatheredAhead::any) return true;
  const std::optional<int>& block = units_[at(unit)].unit.block;
  return block && block == units_[at(next)].unit.block;
}

/// Lets a unit wait for reductions that it may not hide.
void UnitProgram::await_reductions(int unit) {
  const bool is_new = used_ < 0 || !is_ahead(used_, unit);
  used_ = unit;
  if (reduced_ >= 0 && (rules_.synchronises || (rules_.ahead == GatheredAhead::block && is_new)))
    writer_.wait(Stream::compute, reduced_);
}

/// The host has waited for the GPU, gathers the next unit, unless this one alone has as many parameters as
/// may be whole, then launches its kernels.
void UnitProgram::synchronise(int unit, int next) {
  writer_.order(Stream::compute, Stream::launch);
  writer_.order(Stream::parameters, Stream::launch);
  const bool is_full = rules_.live_parameters && units_[at(unit)].gathered >= *rules_.live_parameters;
  if (next >= 0 && !is_full && states_[at(next)] == State::sharded)
    gather(next, units_[at(next)].gathers, none);
  writer_.order(Stream::launch, Stream::compute);
}

/// The host puts the ranks' parts of a collective together.
void UnitProgram::prepare(int unit, int collective) {
  const Seconds time = units_[at(unit)].preparation;
  if (time <= Seconds()) return;
  writer_.add(Stream::launch, Compute{.duration = time, .collective = collective});
  writer_.order(Stream::launch, Stream::parameters);
}

void UnitProgram::begin_forward(int unit) {
  await_reductions(unit);
  const int event = writer_.record(Stream::compute);
  if (current_ >= 0 && !units_[at(current_)].unit.is_kept) release(current_, event);
  if (unit == 0) {  // the update and the pass before it have ended
    writer_.wait(Stream::parameters, event);
    std::ranges::fill(begun_, none);
  }
  current_ = unit;
  if (rules_.buffers != UnitBuffers::tensors) begun_[at(unit)] = event;
  if (states_[at(unit)] == State::sharded) gather_forward(unit);
  await(unit);
  const bool has_next = at(unit) + 1 < units_.size();
  if (rules_.synchronises) {
    synchronise(unit, has_next ? unit + 1 : none);
    return;
  }
  if (rules_.forward_prefetch && has_next && states_[at(unit) + 1] == State::sharded)
    gather_forward(unit + 1);
}

void UnitProgram::begin_backward(int use) {
  turn_ = use;
  const int unit = uses_[at(use)];
  await_reductions(unit);
  const int event = writer_.record(Stream::compute);
  if (current_ >= 0 && !units_[at(current_)].unit.is_kept) release(current_, event);
  current_ = none;
  if (states_[at(unit)] == State::sharded) gather_backward(unit, event);
  await(unit);
  begin_ = event;
  if (rules_.synchronises)
    synchronise(unit, unit_after(use));
  else if (rules_.backward_prefetch == BackwardPrefetch::pre && rules_.buffers != UnitBuffers::tensors)
    prefetch_backward(use);
}

/// Gathers the unit that comes next, once this one has begun.
void UnitProgram::prefetch_backward(int use) {
  const int next = unit_after(use);
  if (next >= 0 && states_[at(next)] == State::sharded && is_ahead(uses_[at(use)], next))
    gather_backward(next, begin_);
}

void UnitProgram::end_backward(int unit) {
  const UnitLaunch& launch = units_[at(unit)];
  const int event = writer_.record(Stream::compute);
  release(unit, event);
  // The root ends behind units that have been used since it began.
  const int use = last_use_[at(unit)];
  if (rules_.backward_prefetch == BackwardPrefetch::post && !rules_.synchronises && use == turn_)
    prefetch_backward(use);
  if (launch.reductions.empty()) return;
  writer_.wait(Stream::parameters, event);
  run(launch.before_reduction, Stream::parameters, launch.reductions.front());
  for (const int reduction : launch.reductions) {
    prepare(unit, reduction);
    host_.join(Stream::parameters, Join{reduction});
  }
  if (launch.sums_of_copies.empty()) {
    run(launch.after_reduction, Stream::parameters, launch.reductions.back());
    reduced_ = writer_.record(Stream::parameters);
    return;
  }
  reduced_ = writer_.order(Stream::parameters, Stream::communication);
  for (const int sum : launch.sums_of_copies) host_.join(Stream::communication, Join{sum});
  run(launch.after_reduction, Stream::communication, launch.sums_of_copies.back());
}

void UnitProgram::await(int unit) {
  if (states_[at(unit)] != State::under_way) return;
  writer_.wait(Stream::compute, events_[at(unit)]);
  states_[at(unit)] = State::gathered;
}

void UnitProgram::gather_forward(int unit) {
  const UnitLaunch& launch = units_[at(unit)];
  int event = none;
  if (rules_.ahead == GatheredAhead::block) {  // not before its block, or, if it has none, its own kernels
    int first = unit;
    while (first > 0 && is_ahead(unit, first - 1)) --first;
    event = begun_[at(first)];
  } else if (!rules_.live_parameters && rules_.limit_gathers && !rules_.synchronises) {
    const int earlier = unit - (rules_.buffers == UnitBuffers::tensors ? 2 : 1);
    if (earlier >= 0) event = begun_[at(earlier)];
    // FSDP1's host waits for the event itself.
    if (event >= 0 && rules_.buffers == UnitBuffers::flat) host_.wait(event);
  }
  gather(unit, launch.gathers, event);
}

void UnitProgram::gather_backward(int unit, int event) {
  const UnitLaunch& launch = units_[at(unit)];
  gather(unit, launch.gathers_again.empty() ? launch.gathers : launch.gathers_again,
         rules_.live_parameters ? none : event);
}

/// Gathers a unit once `event` has happened.
void UnitProgram::gather(int unit, const std::vector<int>& collectives, int event) {
  const UnitLaunch& launch = units_[at(unit)];
  if (event >= 0) writer_.wait(Stream::parameters, event);
  live_ += launch.gathered;
  for (; rules_.live_parameters && live_ > *rules_.live_parameters && !freed_.empty(); freed_.pop_front()) {
    writer_.wait(Stream::parameters, freed_.front().first);
    live_ -= freed_.front().second;
  }
  states_[at(unit)] = State::under_way;
  if (!collectives.empty()) run(launch.before_gather, Stream::parameters, collectives.front());
  for (const int collective : collectives) {
    prepare(unit, collective);
    host_.join(Stream::parameters, Join{collective});
  }
  if (!collectives.empty()) run(launch.after_gather, Stream::parameters, collectives.back());
  events_[at(unit)] = writer_.record(Stream::parameters);
}

void UnitProgram::run(const SideWork& work, Stream stream, int collective) {
  if (work.duration <= Seconds()) return;
  host_.launch(stream, Compute{.duration = work.duration, .collective = collective, .use = work.use});
}

void UnitProgram::release(int unit, int event) {
  states_[at(unit)] = State::sharded;
  if (rules_.live_parameters) freed_.emplace_back(event, units_[at(unit)].gathered);
}

}  // namespace trainyard
