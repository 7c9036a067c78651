#include "schedule/unit_program.hpp"

#include "units/ids.hpp"

namespace trainyard {

UnitProgram::UnitProgram(std::span<const UnitLaunch> units, ProgramWriter& writer, LaunchProgram& host)
    : units_(units),
      writer_(writer),
      host_(host),
      states_(units.size(), State::sharded),
      events_(units.size(), -1) {}

void UnitProgram::before(int op) {
  const auto count = static_cast<int>(units_.size());
  for (int i = 0; i < count; ++i) {
    const ShardUnit& unit = units_[at(i)].unit;
    if (op == unit.first_forward) {
      if (current_ >= 0 && !is_kept(current_)) free(current_);
      current_ = i;
      use(i, i + 1);
    } else if (op == unit.first_backward) {
      current_ = -1;
      use(i, i - 1);
    }
  }
}

void UnitProgram::after(int op) {
  for (int i = 0; at(i) < units_.size(); ++i) {
    const UnitLaunch& launch = units_[at(i)];
    if (op != launch.unit.last_backward) continue;
    free(i);
    writer_.order(Stream::compute, Stream::communication);
    for (const int reduction : launch.reductions) host_.join(Stream::communication, Join{reduction});
  }
}

/// The unit's kernels wait for its parameters; those of the next one are gathered meanwhile.
void UnitProgram::use(int unit, int next) {
  if (states_[at(unit)] == State::sharded) gather(unit);
  if (states_[at(unit)] == State::under_way) {
    writer_.wait(Stream::compute, events_[at(unit)]);
    states_[at(unit)] = State::gathered;
  }
  if (next >= 0 && at(next) < units_.size() && states_[at(next)] == State::sharded) gather(next);
}

void UnitProgram::gather(int unit) {
  writer_.order(Stream::compute, Stream::parameters);
  for (const int collective : units_[at(unit)].gathers) host_.join(Stream::parameters, Join{collective});
  events_[at(unit)] = writer_.record(Stream::parameters);
  states_[at(unit)] = State::under_way;
}

void UnitProgram::free(int unit) { states_[at(unit)] = State::sharded; }

bool UnitProgram::is_kept(int unit) const {
  return units_[at(unit)].unit.is_root || at(unit) + 1 == units_.size();
}

}  // namespace trainyard
