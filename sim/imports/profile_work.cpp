#include "imports/profile_work.hpp"

#include "imports/intervals.hpp"
#include "imports/op_names.hpp"
#include "imports/operands.hpp"
#include "interchange/input_text.hpp"

#include <algorithm>
#include <charconv>
#include <fmt/format.h>
#include <limits>
#include <map>
#include <string_view>
#include <system_error>
#include <utility>

namespace trainyard {
namespace {

std::optional<int> step_number(std::string_view name) {
  constexpr std::string_view prefix = "ProfilerStep";
  if (!name.starts_with(prefix)) return std::nullopt;
  name.remove_prefix(prefix.size());
  while (name.starts_with(' ')) name.remove_prefix(1);
  if (!name.starts_with('#')) return std::nullopt;
  name.remove_prefix(1);
  while (name.starts_with(' ')) name.remove_prefix(1);
  int number = 0;
  const auto [end, problem] = std::from_chars(name.data(), name.data() + name.size(), number);
  return problem == std::errc() ? std::optional(number) : std::nullopt;
}

/// The number behind a range's name, "iteration 12", "step#12", "step_12"; nothing if something else follows.
std::optional<int> number_behind(std::string_view name, std::string_view of) {
  if (!name.starts_with(of) || name.size() == of.size()) return std::nullopt;
  name.remove_prefix(of.size());
  name.remove_prefix(std::min(name.find_first_not_of(" #:_-"), name.size()));
  int number = 0;
  const auto [end, problem] = std::from_chars(name.data(), name.data() + name.size(), number);
  return problem == std::errc() && end == name.data() + name.size() ? std::optional(number) : std::nullopt;
}

class Joiner {
public:
  Joiner(const Profile& profile, const std::optional<std::string>& step_range)
      : profile_(profile), step_range_(step_range), launches_(profile) {}

  ProfileWork join() {
    find_steps();
    find_modules();
    add_work();
    add_gradients();
    result_.of_step.resize(result_.steps.size());
    for (std::uint32_t i = 0; i < result_.work.size(); ++i) {
      if (result_.work[i].step >= 0) result_.of_step[result_.work[i].step].push_back(i);
    }
    return std::move(result_);
  }

private:
  [[nodiscard]] const ProfileEvent& event(std::uint32_t index) const { return profile_.events[index]; }
  [[nodiscard]] std::string_view name(std::uint32_t index) const { return profile_.texts[event(index).name]; }

  void find_steps() {
    if (step_range_) {
      add_steps([&](std::string_view name) {
        return name == *step_range_ ? std::optional(static_cast<int>(result_.steps.size())) : std::nullopt;
      });
      if (result_.steps.empty())
        add_steps([&](std::string_view name) { return number_behind(name, *step_range_); });
      if (result_.steps.empty())
        throw input_error(profile_.file, 0, "no range has the name " + shown(*step_range_),
                          ranges_in_words());
    } else {
      add_steps(step_number);
    }
    if (!result_.steps.empty()) {
      result_.marks = step_range_ ? StepMarks::ranges : StepMarks::profiler_steps;
    } else {
      divide_at_updates();
    }
    std::ranges::sort(result_.steps, {}, &ProfiledStep::start);
    for (std::size_t i = 1; i < result_.steps.size(); ++i) {
      const ProfiledStep& before = result_.steps[i - 1];
      const ProfiledStep& step = result_.steps[i];
      if (step.start >= before.end && step.number != before.number) continue;
      throw input_error(profile_.file, 0,
                        fmt::format("steps {} and {} {}", before.number, step.number,
                                    step.number == before.number ? "are the same" : "overlap"),
                        "profiles of several processes are a file each");
    }
  }

  /// A step for each pass of the optimizer, from the end of the one before it to its own. Passes without
  /// backward work between them, as of a model with several optimizers, are one.
  void divide_at_updates() {
    std::vector<Interval> updates;
    std::vector<std::int64_t> backward;
    for (const ProfileEvent& one : profile_.events) {  // by start
      const std::string_view name = profile_.texts[one.name];
      if (one.kind == EventKind::op && is_backward_range(name)) backward.push_back(one.start);
      const bool is_range = one.kind == EventKind::op || one.kind == EventKind::range;
      if (is_range && is_optimizer_range(name)) updates.push_back({one.start, one.end});
    }
    std::vector<std::int64_t> ends;
    for (const Interval& one : merged(std::move(updates))) {
      const auto since = ends.empty() ? backward.begin() : std::ranges::lower_bound(backward, ends.back());
      if (ends.empty() || (since != backward.end() && *since < one.end)) {
        ends.push_back(one.end);
      } else {
        ends.back() = one.end;
      }
    }
    if (ends.size() < 2) return;
    std::int64_t start = profile_.events.front().start;
    for (const std::int64_t end : ends) {
      result_.steps.push_back({.number = static_cast<int>(result_.steps.size()), .start = start, .end = end});
      start = end;
    }
    result_.marks = StepMarks::updates;
  }

  /// Adds the ranges to whose names `number_of` gives a number.
  template <class NumberOf>
  void add_steps(const NumberOf& number_of) {
    for (const ProfileEvent& one : profile_.events) {
      // in 2021 ranges were operators
      const bool may_be_step = one.kind == EventKind::range || (step_range_ && one.kind == EventKind::op);
      if (!may_be_step) continue;
      const std::optional<int> number = number_of(profile_.texts[one.name]);
      if (number) result_.steps.push_back({.number = *number, .start = one.start, .end = one.end});
    }
  }

  /// Names of ranges, the most frequent first.
  [[nodiscard]] std::string ranges_in_words() const {
    std::map<std::string_view, int> counts;
    for (const ProfileEvent& one : profile_.events) {
      if (one.kind == EventKind::range) ++counts[profile_.texts[one.name]];
    }
    std::vector<std::pair<int, std::string_view>> order;
    for (const auto& [name, count] : counts) order.emplace_back(-count, name);
    std::ranges::sort(order);
    std::string text = order.empty() ? "the profile has no ranges" : "ranges: ";
    constexpr std::size_t most = 5;
    for (std::size_t i = 0; i < std::min(order.size(), most); ++i)
      text += (i > 0 ? ", " : "") + shown(order[i].second);
    return text;
  }

  /// Index of the step in which the host was at a time; -1: none.
  [[nodiscard]] int step_at(std::int64_t time) const {
    const auto after = std::ranges::upper_bound(result_.steps, time, {}, &ProfiledStep::start);
    if (after == result_.steps.begin()) return -1;
    const auto step = std::prev(after);
    return time < step->end ? static_cast<int>(step - result_.steps.begin()) : -1;
  }

  void find_modules() {
    for (std::uint32_t i = 0; i < profile_.events.size(); ++i) {
      if (event(i).kind == EventKind::module) modules_.push_back(i);
    }
  }

  void add_work() {
    for (std::uint32_t i = 0; i < profile_.events.size(); ++i) {
      const ProfileEvent& one = event(i);
      if (!is_on_gpu(one.kind)) continue;
      GpuWork work{.event = i};
      const std::string_view kernel = profile_.texts[one.name];
      work.is_communication = one.kind == EventKind::kernel && names_communication(kernel);
      const bool moves =
          kernel.starts_with("Memcpy") || kernel.starts_with("Memset") || kernel.starts_with("hipMem");
      work.is_compute = one.kind == EventKind::kernel && !work.is_communication && !moves;
      work.is_exchange = one.kind == EventKind::kernel && names_expert_exchange(kernel);
      if (const ProfiledLaunch* const launched = launches_.of(one)) {
        work.launch = launched->launch;
        work.op = launched->op;
        work.wrapper = launched->wrapper;
        work.record = launched->record;
        work.call = launched->call;
        work.leaf = launched->leaf;
        work.phase = launched->phase;
        work.step = step_at(event(launched->launch).start);
      }
      result_.work.push_back(work);
    }
    add_modules();
  }

  void add_modules() {
    if (modules_.empty()) return;
    std::vector<std::size_t> by_launch;
    for (std::size_t i = 0; i < result_.work.size(); ++i) {
      if (result_.work[i].launch != no_event && result_.work[i].phase == WorkPhase::rest)
        by_launch.push_back(i);
    }
    const auto launched = [&](std::size_t i) { return event(result_.work[i].launch).start; };
    std::ranges::stable_sort(by_launch, {}, launched);
    std::vector<std::uint32_t> open;
    std::size_t next = 0;
    for (const std::size_t i : by_launch) {
      const std::int64_t time = launched(i);
      while (next < modules_.size() && event(modules_[next]).start <= time) open.push_back(modules_[next++]);
      // an event that ended below an open one waits until it is on top
      while (!open.empty() && event(open.back()).end < time) open.pop_back();
      if (!open.empty()) result_.work[i].module = open.back();
    }
  }

  void add_gradients() {
    for (const ProfileEvent& one : profile_.events) {
      if (one.kind != EventKind::op || profile_.texts[one.name] != "torch::autograd::AccumulateGrad")
        continue;
      ProfiledGradient gradient{.time = one.start, .step = step_at(one.start)};
      if (one.operands != no_event) {
        const Operands& operands = profile_.operands[one.operands];
        const auto types = operand_texts(profile_.texts[operands.types]);
        if (types && !types->empty() && types->front().empty()) continue;  // no gradient
        const auto shapes = operand_shapes(profile_.texts[operands.dims]);
        if (shapes && !shapes->empty() && !shapes->front().empty())
          gradient.values = values_of(shapes->front().front());
      }
      result_.gradients.push_back(gradient);
    }
  }

  const Profile& profile_;
  const std::optional<std::string>& step_range_;
  ProfiledLaunches launches_;
  std::vector<std::uint32_t> modules_;
  ProfileWork result_;
};

}  // namespace

bool names_step(std::string_view name, std::string_view step_range) {
  return name == step_range || number_behind(name, step_range).has_value();
}

ProfileWork join_launches(const Profile& profile, const std::optional<std::string>& step_range) {
  return Joiner(profile, step_range).join();
}

std::span<const ProfiledGradient> gradients_of(const ProfileWork& work, int step) {
  const std::span<const ProfiledGradient> all = work.gradients;
  if (step < 0) return all;
  const auto begin = std::ranges::lower_bound(all, work.steps[step].start, {}, &ProfiledGradient::time);
  const auto end =
      std::ranges::lower_bound(begin, all.end(), work.steps[step].end, {}, &ProfiledGradient::time);
  return {begin, end};
}

bool names_communication(std::string_view kernel) {
  return kernel.starts_with("nccl") || kernel.starts_with("hccl") ||
         kernel.find("ncclKernel") != std::string_view::npos;
}

bool names_expert_exchange(std::string_view kernel) {
  kernel = kernel.substr(0, kernel.find_first_of("(<"));
  return kernel.find("::internode") != std::string_view::npos ||
         kernel.find("::intranode::") != std::string_view::npos;
}

}  // namespace trainyard
