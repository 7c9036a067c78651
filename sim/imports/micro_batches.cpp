#include "imports/micro_batches.hpp"

#include "imports/profile_rows.hpp"
#include "interchange/input_text.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <limits>
#include <map>
#include <set>
#include <utility>

namespace trainyard {
namespace {

constexpr std::int64_t ever = std::numeric_limits<std::int64_t>::max();

/// Launches of backward kernels with no forward kernel between them.
struct BackwardPass {
  std::int64_t last = 0;             ///< ns of the host: its last launch
  std::int64_t next_forward = ever;  ///< the first forward launch behind it
  std::vector<double> gradients;  ///< sizes of the tensors that it completes, -1 if unknown; in order of size
};

struct Passes {
  std::vector<BackwardPass> backward;
  bool has_update_between = false;  ///< the optimizer works between two of them
};

struct Launch {
  std::int64_t time = 0;
  WorkPhase phase{};
  TextPool::Id thread = TextPool::none;
  bool communicates = false;
};

/// In the order of time.
std::vector<Launch> launches_of(const Profile& profile, const ProfileWork& work, int step) {
  std::vector<Launch> launches;
  for_each_work(work, step, [&](const GpuWork& one) {
    if ((!one.is_compute && !one.communicates()) || one.launch == no_event) return;
    const ProfileEvent& launch = profile.events[one.launch];
    launches.push_back({launch.start, one.phase, launch.lane, one.communicates()});
  });
  std::ranges::sort(launches, {}, [](const Launch& one) { return std::pair(one.time, one.phase); });
  return launches;
}

/// Work that the threads of backward launch outside of ranges is backward work, too: profiles of 2021 have
/// ranges around some of it only.
Passes passes_of(const Profile& profile, const ProfileWork& work, int step) {
  const std::vector<Launch> launches = launches_of(profile, work, step);
  std::set<TextPool::Id> backward_threads;
  for (const Launch& one : launches) {
    if (one.phase == WorkPhase::backward && !one.communicates) backward_threads.insert(one.thread);
  }
  const bool has_others = std::ranges::any_of(launches, [&](const Launch& one) {
    return one.phase == WorkPhase::rest && !one.communicates && !backward_threads.contains(one.thread);
  });
  Passes passes;
  bool is_in_pass = false;
  bool is_updated = false;
  for (const Launch& one : launches) {
    if (one.communicates) {
      // reductions of the last gradients follow all kernels of the pass
      if (is_in_pass && backward_threads.contains(one.thread)) passes.backward.back().last = one.time;
    } else if (one.phase == WorkPhase::backward) {
      if (!is_in_pass) {
        passes.has_update_between = passes.has_update_between || (is_updated && !passes.backward.empty());
        passes.backward.emplace_back();
      }
      passes.backward.back().last = one.time;
      is_in_pass = true;
      is_updated = false;
    } else if (one.phase == WorkPhase::rest && !(has_others && backward_threads.contains(one.thread))) {
      if (is_in_pass) passes.backward.back().next_forward = one.time;
      is_in_pass = false;
    } else if (one.phase == WorkPhase::optimizer) {
      is_updated = true;
    }
  }
  return passes;
}

/// Passes without gradients, as of a loss of its own, belong to the next one with some.
std::vector<BackwardPass> with_gradients(const ProfileWork& work, int step,
                                         std::vector<BackwardPass> passes) {
  const auto gradients = gradients_of(work, step);
  auto next = gradients.begin();
  for (BackwardPass& pass : passes) {
    for (; next != gradients.end() && next->time < pass.next_forward; ++next) {
      pass.gradients.push_back(next->values.value_or(-1));
      pass.last = std::max(pass.last, next->time);
    }
    std::ranges::sort(pass.gradients);
  }
  std::erase_if(passes, [](const BackwardPass& pass) { return pass.gradients.empty(); });
  return passes;
}

}  // namespace

int backward_passes_of(const Profile& profile, const ProfileWork& work, int step) {
  return static_cast<int>(passes_of(profile, work, step).backward.size());
}

void refuse_micro_batches(const Profile& profile, const ProfileWork& work, int step, std::size_t count) {
  throw input_error(
      profile.file, 0,
      fmt::format("{} accumulates gradients over {} passes that cannot be told apart",
                  step >= 0 ? fmt::format("step {}", work.steps[step].number) : "the profile", count),
      "profile a step without accumulation, or name a range around one micro-batch with --step-range");
}

MicroBatches micro_batches_of(const Profile& profile, const ProfileWork& work, int step) {
  constexpr Interval all{std::numeric_limits<std::int64_t>::min(), ever};
  Passes found = passes_of(profile, work, step);
  if (found.has_update_between) return {.launches = {all}};
  const std::vector<BackwardPass> passes = with_gradients(work, step, std::move(found.backward));
  MicroBatches result{.launches = {all}};
  bool are_equal = true;
  std::map<double, std::size_t> counts;
  for (std::size_t i = 0; i < passes.size(); ++i) {
    for (const double size : passes[i].gradients) ++counts[size];
    are_equal = are_equal && passes[i].gradients == passes.front().gradients;
    if (i == 0) continue;
    result.launches.back().end = passes[i - 1].last + 1;
    result.launches.push_back({passes[i - 1].last + 1, ever});
  }
  result.has_sizes = !counts.contains(-1);
  if (are_equal) return result;
  const bool is_accumulation = result.has_sizes && std::ranges::all_of(counts, [&](const auto& one) {
                                 return one.second % passes.size() == 0;
                               });
  if (is_accumulation) refuse_micro_batches(profile, work, step, passes.size());
  return {.launches = {all}};
}

}  // namespace trainyard
