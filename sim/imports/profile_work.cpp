#include "imports/profile_work.hpp"

#include "imports/operands.hpp"
#include "interchange/input_text.hpp"

#include <algorithm>
#include <charconv>
#include <fmt/format.h>
#include <map>
#include <numeric>
#include <string_view>
#include <system_error>
#include <unordered_map>

namespace trainyard {
namespace {

bool ends_with_backward(std::string_view name) {
  while (!name.empty() && name.back() >= '0' && name.back() <= '9') name.remove_suffix(1);
  return name.ends_with("Backward");
}

bool is_backward_range(std::string_view name) {
  return name.starts_with("autograd::engine::evaluate_function") || name.starts_with("torch::autograd::") ||
         ends_with_backward(name);
}

bool is_optimizer_range(std::string_view name) {
  return name.starts_with("Optimizer.step") || name == "## optimizer ##";
}

bool is_zero_grad_range(std::string_view name) {
  return name.starts_with("Optimizer.zero_grad") || name == "## zero_grad ##";
}

/// Of an operator that computes, not of what runs it.
bool is_operator(std::string_view name) {
  return name.find("::") != std::string_view::npos && !is_backward_range(name) && !name.starts_with("c10d::");
}

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

/// What encloses a launch on its thread.
struct Surroundings {
  std::uint32_t launch = no_event, op = no_event, wrapper = no_event, record = no_event;
  WorkPhase phase = WorkPhase::rest;
};

class Joiner {
public:
  Joiner(const Profile& profile, const std::optional<std::string>& step_range)
      : profile_(profile), step_range_(step_range) {}

  ProfileWork join() {
    find_steps();
    find_launches();
    find_modules();
    add_work();
    add_gradients();
    return std::move(result_);
  }

private:
  [[nodiscard]] const ProfileEvent& event(std::uint32_t index) const { return profile_.events[index]; }
  [[nodiscard]] std::string_view name(std::uint32_t index) const { return profile_.texts[event(index).name]; }

  void find_steps() {
    for (const ProfileEvent& one : profile_.events) {
      // in 2021 ranges were operators
      const bool may_be_step = one.kind == EventKind::range || (step_range_ && one.kind == EventKind::op);
      if (!may_be_step) continue;
      const std::string_view name = profile_.texts[one.name];
      const std::optional<int> number =
          step_range_
              ? (name == *step_range_ ? std::optional(static_cast<int>(result_.steps.size())) : std::nullopt)
              : step_number(name);
      if (number) result_.steps.push_back({.number = *number, .start = one.start, .end = one.end});
    }
    if (step_range_ && result_.steps.empty())
      throw input_error(profile_.file, 0, "no range has the name " + shown(*step_range_), ranges_in_words());
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

  void find_launches() {
    std::vector<std::uint32_t> host;
    for (std::uint32_t i = 0; i < profile_.events.size(); ++i) {
      const EventKind kind = event(i).kind;
      if (kind == EventKind::op || kind == EventKind::range || kind == EventKind::launch) host.push_back(i);
    }
    std::ranges::stable_sort(host, [&](std::uint32_t a, std::uint32_t b) {
      const ProfileEvent& x = event(a);
      const ProfileEvent& y = event(b);
      if (x.lane != y.lane) return x.lane < y.lane;
      if (x.start != y.start) return x.start < y.start;
      if (x.end != y.end) return x.end > y.end;
      return (x.kind == EventKind::launch) < (y.kind == EventKind::launch);
    });
    std::vector<std::uint32_t> stack;
    TextPool::Id lane = TextPool::none;
    for (const std::uint32_t index : host) {
      const ProfileEvent& one = event(index);
      if (one.lane != lane) stack.clear();
      lane = one.lane;
      while (!stack.empty() && (event(stack.back()).end < one.start ||
                                (event(stack.back()).end == one.start && one.end > event(stack.back()).end)))
        stack.pop_back();
      if (one.kind == EventKind::launch) {
        if (one.correlation != ProfileEvent::no_number) add_launch(index, stack);
      } else {
        stack.push_back(index);
      }
    }
  }

  void add_launch(std::uint32_t index, const std::vector<std::uint32_t>& stack) {
    std::vector<Surroundings>& launches = launches_[event(index).correlation];
    const auto launches_something = [&](std::uint32_t call) {
      return name(call).find("aunch") != std::string_view::npos;
    };
    if (!launches.empty()) {
      // calls that only wait or ask share a correlation with nothing else; with two launches time decides
      if (launches_something(launches.back().launch) && !launches_something(index)) return;
      if (!launches_something(launches.back().launch)) launches.pop_back();
    }
    launches.push_back(surroundings(index, stack));
  }

  [[nodiscard]] Surroundings surroundings(std::uint32_t launch,
                                          const std::vector<std::uint32_t>& stack) const {
    Surroundings its{.launch = launch};
    std::uint32_t innermost = no_event;
    for (const std::uint32_t index : stack) {
      const std::string_view name = this->name(index);
      if (is_backward_range(name)) {
        if (its.phase == WorkPhase::rest) its.phase = WorkPhase::backward;
        if (its.wrapper == no_event) its.wrapper = index;
      } else if (is_optimizer_range(name)) {
        its.phase = WorkPhase::optimizer;
      } else if (is_zero_grad_range(name)) {
        its.phase = WorkPhase::zero_grad;
      }
      if (name == "record_param_comms") its.record = index;
      if (its.op == no_event && event(index).kind == EventKind::op && is_operator(name)) its.op = index;
      innermost = index;
    }
    if (its.op == no_event && its.wrapper == no_event && innermost != no_event &&
        event(innermost).kind == EventKind::op)
      its.op = innermost;
    return its;
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
      if (const Surroundings* its = launch_of(one)) {
        work.launch = its->launch;
        work.op = its->op;
        work.wrapper = its->wrapper;
        work.record = its->record;
        work.phase = its->phase;
        work.step = step_at(event(its->launch).start);
      }
      result_.work.push_back(work);
    }
    add_modules();
  }

  /// The latest launch with the work's number that is no later than it; the only one, whatever the clocks
  /// say.
  [[nodiscard]] const Surroundings* launch_of(const ProfileEvent& work) const {
    if (work.correlation == ProfileEvent::no_number) return nullptr;
    const auto found = launches_.find(work.correlation);
    if (found == launches_.end()) return nullptr;
    const Surroundings* latest = &found->second.front();
    for (const Surroundings& one : found->second) {
      const bool is_before = event(one.launch).start <= work.start;
      const bool is_later = event(one.launch).start > event(latest->launch).start;
      const bool is_latest_too_late = event(latest->launch).start > work.start;
      if (is_before && (is_later || is_latest_too_late)) latest = &one;
    }
    return latest;
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
      std::erase_if(open, [&](std::uint32_t module) { return event(module).end < time; });
      if (!open.empty()) result_.work[i].module = open.back();
    }
  }

  void add_gradients() {
    for (const ProfileEvent& one : profile_.events) {
      if (one.kind != EventKind::op || profile_.texts[one.name] != "torch::autograd::AccumulateGrad")
        continue;
      ProfiledGradient gradient{.time = one.start, .step = step_at(one.start)};
      if (one.operands != no_event) {
        const Operands& its = profile_.operands[one.operands];
        const auto types = operand_texts(profile_.texts[its.types]);
        if (types && !types->empty() && types->front().empty()) continue;  // no gradient
        const auto shapes = operand_shapes(profile_.texts[its.dims]);
        if (shapes && !shapes->empty() && !shapes->front().empty())
          gradient.values = values_of(shapes->front().front());
      }
      result_.gradients.push_back(gradient);
    }
  }

  const Profile& profile_;
  const std::optional<std::string>& step_range_;
  std::unordered_map<std::uint64_t, std::vector<Surroundings>> launches_;
  std::vector<std::uint32_t> modules_;
  ProfileWork result_;
};

}  // namespace

ProfileWork join_launches(const Profile& profile, const std::optional<std::string>& step_range) {
  return Joiner(profile, step_range).join();
}

bool names_communication(std::string_view kernel) {
  return kernel.starts_with("nccl") || kernel.starts_with("hccl") ||
         kernel.find("ncclKernel") != std::string_view::npos;
}

}  // namespace trainyard
