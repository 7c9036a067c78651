#include "imports/profile_steps.hpp"

#include "imports/micro_batches.hpp"
#include "interchange/input_text.hpp"
#include "units/ids.hpp"
#include "units/plural.hpp"

#include <algorithm>
#include <cstdlib>
#include <fmt/format.h>
#include <iterator>
#include <limits>
#include <unordered_set>
#include <utility>

namespace trainyard {
namespace {

/// Whether two steps do the same: their rows are named alike, in the same order.
bool are_alike(const StepRows& a, const StepRows& b) {
  return std::ranges::equal(a.rows, b.rows, [](const ProfileRow& x, const ProfileRow& y) {
    return x.phase == y.phase && x.kind == y.kind && x.layer == y.layer;
  });
}

/// The index of the value that is the lower median.
std::size_t index_of_median(const std::vector<std::int64_t>& values) {
  std::vector<std::size_t> order(values.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::ranges::stable_sort(order, {}, [&](std::size_t i) { return values[i]; });
  return order[(order.size() - 1) / 2];
}

/// The step with the median period. One that computes much longer or shorter than the median step is a rare
/// one that is there by chance: then the step that is nearest to both medians, because the trace has the
/// usual times of ops.
std::size_t index_of_usual(const std::vector<StepRows>& steps, std::size_t count) {
  std::vector<std::int64_t> periods;
  std::vector<std::int64_t> computing;
  for (std::size_t i = 0; i < count; ++i) {
    periods.push_back(steps[i].period);
    computing.push_back(steps[i].computing);
  }
  const std::size_t middle = index_of_median(periods);
  const std::int64_t usual = computing[index_of_median(computing)];
  constexpr std::int64_t parts_that_differ = 50;  // 2 %
  if (std::abs(computing[middle] - usual) <= usual / parts_that_differ) return middle;
  std::vector<std::int64_t> distances;
  for (std::size_t i = 0; i < count; ++i)
    distances.push_back(std::abs(periods[i] - periods[middle]) + std::abs(computing[i] - usual));
  return static_cast<std::size_t>(std::ranges::min_element(distances) - distances.begin());
}

/// Takes rows away; collectives behind one of them are then behind the row before it.
void take_away(StepRows& rows, bool (*is_taken)(const ProfileRow&)) {
  std::vector<int> place;  // of each row, or of the one before it
  std::vector<ProfileRow> kept;
  for (ProfileRow& row : rows.rows) {
    if (!is_taken(row)) kept.push_back(std::move(row));
    place.push_back(static_cast<int>(kept.size()) - 1);
  }
  for (ProfileCollective& one : rows.collectives) {
    if (one.after >= 0) one.after = place[one.after];
  }
  rows.rows = std::move(kept);
}

bool is_of_optimizer(const ProfileRow& row) { return row.phase == Phase::optimizer; }

/// For each step, whether all of it is there in a file that is cut off: every launch in it has its work of
/// the GPU, except for calls that have none anywhere in the file (queries of events, allocations), and no
/// work without a launch in the file runs among its own. Events stand in no certain order, so that any step
/// may miss some.
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

class StepChooser {
public:
  StepChooser(const Profile& profile, const ProfileWork& work) : profile_(profile), work_(work) {}

  ChosenSteps choose_all() {
    choose();
    const MicroBatches micro_batches = micro_batches_of(profile_, work_, result_.shown);
    const std::size_t count = micro_batches.launches.size();
    if (count > 1 && are_forward_alike(micro_batches.launches)) {
      divide(micro_batches.launches);
    } else {
      if (count > 1 && micro_batches.has_sizes) refuse_micro_batches(profile_, work_, result_.shown, count);
      result_.rows = result_.parts;
      result_.times.resize(result_.rows.rows.size());
      for (const StepRows& step : steps_) add_times(step.rows, 0);
      warn_of_passes();
    }
    return std::move(result_);
  }

private:
  void choose() {
    std::vector<int> indices;
    for (int i = 0; i < static_cast<int>(work_.steps.size()); ++i) {
      StepRows rows = rows_of(profile_, work_, i);
      if (rows.rows.empty()) continue;
      indices.push_back(i);
      steps_.push_back(std::move(rows));
    }
    if (profile_.is_cut_off && !steps_.empty()) leave_out_cut_off(indices);
    if (steps_.empty()) {
      steps_.push_back(rows_of(profile_, work_, -1));
      if (steps_.front().rows.empty())
        throw input_error(profile_.file, 0, "no kernel computes",
                          "the profile has communication or copies only");
      result_.warnings.emplace_back(
          work_.steps.empty()
              ? "the profile has no steps (ProfilerStep#N, or --step-range NAME): all of it is one step"
              : "no kernel was launched in a step: all of the profile is one step");
      indices = {-1};
    }
    if (work_.marks == StepMarks::updates && indices.front() >= 0)
      result_.warnings.push_back(fmt::format(
          "the profile has no steps (ProfilerStep#N): each of its {} passes of the optimizer ends one",
          work_.steps.size()));
    // The last one ends with its last work: nothing tells when the next step would have begun.
    const std::size_t shown = index_of_usual(steps_, steps_.size() > 1 ? steps_.size() - 1 : 1);
    result_.parts = steps_[shown];
    if (result_.parts.is_part)
      result_.warnings.emplace_back(
          "other work of the GPU follows each range: only the time from its first work to its last counts");
    result_.shown = indices[shown];
    const StepRows reference = steps_[shown];
    std::vector<StepRows> alike;
    for (std::size_t i = 0; i < steps_.size(); ++i) {
      if (!are_alike(steps_[i], reference)) continue;
      alike.push_back(std::move(steps_[i]));
      if (indices[i] < 0) continue;
      result_.numbers.push_back(work_.steps[indices[i]].number);
      indices_.push_back(indices[i]);
    }
    if (result_.numbers.empty()) indices_.assign(1, -1);
    if (alike.size() < steps_.size())
      result_.warnings.push_back(
          fmt::format("{} of {} steps have other operators than the median one and are left out",
                      steps_.size() - alike.size(), steps_.size()));
    steps_ = std::move(alike);
  }

  /// Work after the end of the file belongs to the last step, or to any step that lacks a part.
  void leave_out_cut_off(std::vector<int>& indices) {
    indices.pop_back();
    steps_.pop_back();
    const std::vector<bool> is_complete = complete_steps(profile_, work_);
    std::size_t kept = 0;
    for (std::size_t i = 0; i < steps_.size(); ++i) {
      if (!is_complete[at(indices[i])]) continue;
      if (kept != i) steps_[kept] = std::move(steps_[i]);
      indices[kept++] = indices[i];
    }
    const std::size_t dropped = steps_.size() - kept;
    steps_.resize(kept);
    indices.resize(kept);
    if (steps_.empty())
      throw input_error(profile_.file, 0, "the file is cut off, and has no whole step before that",
                        "copy it again");
    result_.warnings.emplace_back("the file is cut off: its last step is left out");
    if (dropped > 0)
      result_.warnings.back() += fmt::format(", and {} without some of the launches or kernels",
                                             plural(static_cast<long long>(dropped), "step"));
  }

  void add_times(const std::vector<ProfileRow>& rows, std::size_t first) {
    for (std::size_t i = 0; i < rows.size(); ++i)
      result_.times[first + i].push_back({rows[i].time, rows[i].beside});
  }

  /// The rows of a micro-batch, without the sums of gradients, which are not in the first one, and without
  /// the optimizer.
  [[nodiscard]] StepRows rows_of_micro_batch(int step, const Interval& launched) const {
    StepRows rows = rows_of(profile_, work_, step, launched);
    take_away(rows, [](const ProfileRow& row) { return row.adds_gradients || is_of_optimizer(row); });
    return rows;
  }

  /// Whether all micro-batches have the same forward pass: else these are no micro-batches, or overlap.
  [[nodiscard]] bool are_forward_alike(const std::vector<Interval>& micro_batches) const {
    const auto forward = [&](const Interval& launched) {
      StepRows rows = rows_of_micro_batch(result_.shown, launched);
      take_away(rows, [](const ProfileRow& row) { return row.phase != Phase::forward; });
      return rows;
    };
    const StepRows first = forward(micro_batches.front());
    return !first.rows.empty() && std::ranges::all_of(micro_batches, [&](const Interval& one) {
      return are_alike(forward(one), first);
    });
  }

  /// The last micro-batch stands for all: it launches the collectives. Its times are medians of all that do
  /// the same, in all steps.
  void divide(const std::vector<Interval>& micro_batches) {
    result_.accumulation = static_cast<int>(micro_batches.size());
    result_.window = micro_batches.back();
    result_.rows = rows_of_micro_batch(result_.shown, micro_batches.back());
    const StepRows reference = result_.rows;
    const std::size_t first_update = reference.rows.size();
    for (const ProfileRow& row : result_.parts.rows) {
      if (is_of_optimizer(row)) result_.rows.rows.push_back(row);
      if (row.adds_gradients) result_.adding += row.time;
    }
    result_.times.resize(result_.rows.rows.size());
    int different = 0;
    int count = 0;
    for (const int step : indices_) {
      const std::vector<Interval> windows =
          step == result_.shown ? micro_batches : micro_batches_of(profile_, work_, step).launches;
      for (std::size_t i = 0; i < windows.size(); ++i) {
        const StepRows rows = rows_of_micro_batch(step, windows[i]);
        ++count;
        if (are_alike(rows, reference)) {
          add_times(rows.rows, 0);
        } else {
          ++different;
        }
        if (step == result_.shown && i + 1 < windows.size())
          result_.earlier_collectives += static_cast<int>(rows.collectives.size());
      }
    }
    for (StepRows& step : steps_) {
      take_away(step, [](const ProfileRow& row) { return !is_of_optimizer(row); });
      add_times(step.rows, first_update);
    }
    if (different > 0)
      result_.warnings.push_back(fmt::format(
          "{} of {} micro-batches have other operators than the last of the step and are left out", different,
          count));
  }

  void warn_of_passes() {
    const int passes = backward_passes_of(profile_, work_, result_.shown);
    if (passes < 2 || result_.shown < 0) return;
    result_.warnings.push_back(fmt::format(
        "forward and backward work alternate {} times in a step that is not divided: forward work after "
        "the first backward work counts as backward",
        passes));
  }

  const Profile& profile_;
  const ProfileWork& work_;
  std::vector<StepRows> steps_;
  std::vector<int> indices_;  // of these steps
  ChosenSteps result_;
};

}  // namespace

ChosenSteps choose_steps(const Profile& profile, const ProfileWork& work) {
  return StepChooser(profile, work).choose_all();
}

}  // namespace trainyard
