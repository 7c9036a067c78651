#include "imports/micro_batches.hpp"

#include "imports/profile_rows.hpp"
#include "interchange/input_text.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <limits>
#include <utility>

namespace trainyard {
namespace {

constexpr std::int64_t ever = std::numeric_limits<std::int64_t>::max();

/// Launches of backward kernels with no forward kernel between them.
struct BackwardPass {
  std::int64_t last = 0;             ///< ns of the host: its last launch
  std::int64_t next_forward = ever;  ///< the first forward launch behind it
  std::vector<double> gradients;     ///< sizes of the tensors that it completes, -1 if unknown; in order of size
};

struct Passes {
  std::vector<BackwardPass> backward;
  bool has_update_between = false;  ///< the optimizer works between two of them
};

Passes passes_of(const Profile& profile, const ProfileWork& work, int step) {
  std::vector<std::pair<std::int64_t, WorkPhase>> launches;
  for_each_work(work, step, [&](const GpuWork& one) {
    if (one.is_compute && !one.communicates()) launches.emplace_back(launch_time(profile, one), one.phase);
  });
  std::ranges::sort(launches);
  Passes passes;
  bool is_in_pass = false;
  bool is_updated = false;
  for (const auto& [time, phase] : launches) {
    if (phase == WorkPhase::backward) {
      if (!is_in_pass) {
        passes.has_update_between = passes.has_update_between || (is_updated && !passes.backward.empty());
        passes.backward.emplace_back();
      }
      passes.backward.back().last = time;
      is_in_pass = true;
      is_updated = false;
    } else if (phase == WorkPhase::rest) {
      if (is_in_pass) passes.backward.back().next_forward = time;
      is_in_pass = false;
    } else if (phase == WorkPhase::optimizer) {
      is_updated = true;
    }
  }
  return passes;
}

/// Passes without gradients, as of a loss of its own, belong to the next one with some.
std::vector<BackwardPass> with_gradients(const ProfileWork& work, int step, std::vector<BackwardPass> passes) {
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

std::vector<Interval> micro_batches_of(const Profile& profile, const ProfileWork& work, int step) {
  std::vector<Interval> result{{std::numeric_limits<std::int64_t>::min(), ever}};
  Passes found = passes_of(profile, work, step);
  if (found.has_update_between) return result;
  const std::vector<BackwardPass> passes = with_gradients(work, step, std::move(found.backward));
  for (std::size_t i = 1; i < passes.size(); ++i) {
    if (passes[i].gradients != passes.front().gradients) {
      throw input_error(
          profile.file, 0,
          fmt::format("{} has {} backward passes: the first completes {} gradients, another one {}{}",
                      step >= 0 ? fmt::format("step {}", work.steps[step].number) : "the profile",
                      passes.size(), passes.front().gradients.size(), passes[i].gradients.size(),
                      passes[i].gradients.size() == passes.front().gradients.size() ? " of other sizes" : ""),
          "a trace has one forward and one backward pass, or equal ones that accumulate gradients; profile one "
          "model at a time, or name a range around such a pass with --step-range");
    }
    result.back().end = passes[i - 1].last + 1;
    result.push_back({passes[i - 1].last + 1, ever});
  }
  return result;
}

}  // namespace trainyard
