#include "imports/cut_off_steps.hpp"

#include <algorithm>
#include <iterator>
#include <unordered_set>
#include <utility>

namespace trainyard {

std::vector<bool> complete_steps(const Profile& profile, const ProfileWork& work) {
  std::vector<bool> is_complete(work.steps.size(), true);
  std::unordered_set<std::uint64_t> of_work;  // correlations
  for (const GpuWork& one : work.work) {
    const std::uint64_t correlation = profile.events[one.event].correlation;
    if (correlation != ProfileEvent::no_number) of_work.insert(correlation);
  }
  std::unordered_set<TextPool::Id> that_launch;  // names of calls
  for (const ProfileEvent& one : profile.events) {
    if (one.kind == EventKind::launch && of_work.contains(one.correlation)) that_launch.insert(one.name);
  }
  for (const ProfileEvent& one : profile.events) {
    const bool has_number = one.kind == EventKind::launch && one.correlation != ProfileEvent::no_number;
    if (!has_number || of_work.contains(one.correlation) || !that_launch.contains(one.name)) continue;
    const auto after = std::ranges::upper_bound(work.steps, one.start, {}, &ProfiledStep::start);
    if (after == work.steps.begin() || one.start >= std::prev(after)->end) continue;
    is_complete[std::prev(after) - work.steps.begin()] = false;
  }
  // The latest step that has begun on the GPU when work without a launch runs.
  std::vector<std::pair<std::int64_t, std::size_t>> begins;
  for (std::size_t i = 0; i < work.of_step.size(); ++i) {
    if (!work.of_step[i].empty())
      begins.emplace_back(profile.events[work.work[work.of_step[i].front()].event].start, i);
  }
  std::ranges::sort(begins);
  for (const GpuWork& one : work.work) {
    if (one.launch != no_event) continue;
    const auto after = std::ranges::upper_bound(begins, profile.events[one.event].start, {},
                                                &std::pair<std::int64_t, std::size_t>::first);
    if (after != begins.begin()) is_complete[std::prev(after)->second] = false;
  }
  return is_complete;
}

}  // namespace trainyard
