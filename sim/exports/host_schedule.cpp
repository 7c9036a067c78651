#include "exports/host_schedule.hpp"

#include <algorithm>

namespace trainyard {

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
