#include "imports/join_execution_trace.hpp"

#include "imports/profile_work.hpp"
#include "imports/traced_work.hpp"
#include "interchange/input_text.hpp"
#include "units/plural.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <iterator>
#include <limits>
#include <map>
#include <set>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace trainyard {
namespace {

bool is_root(std::string_view name) { return name.starts_with("[pytorch|profiler|"); }
bool is_step(std::string_view name) { return name.starts_with("ProfilerStep"); }

/// By its name, a range of the framework or of the user: "enumerate(DataLoader)#...", "nccl:all_reduce". Old
/// profiles have no other sign.
bool is_named_as_range(std::string_view name) {
  return name.find("::") == std::string_view::npos && name.find_first_of("#(:. ") != std::string_view::npos;
}

/// A thread of both sides, without the ranges of which one side has more than the other.
struct CommonCalls {
  std::vector<const TracedNode*> nodes;
  std::vector<std::uint32_t> events;
};

class TraceJoiner {
public:
  TraceJoiner(const ExecutionTrace& trace, Profile& profile, const std::optional<std::string>& step_range)
      : trace_(trace), profile_(profile), step_range_(step_range) {}

  TraceJoin join() {
    std::unordered_map<std::uint64_t, std::uint32_t> of_number;
    for (std::uint32_t i = 0; i < profile_.events.size(); ++i) {
      const ProfileEvent& event = profile_.events[i];
      if (is_of_host(event) && event.record != ProfileEvent::no_number) of_number.emplace(event.record, i);
    }
    result_.by_number = !of_number.empty();
    if (result_.by_number) {
      join_numbers(of_number);
    } else {
      join_names();
    }
    if (!profile_.ranks) profile_.ranks = ranks_of(trace_);
    if (profile_.groups.empty()) profile_.groups = trace_.groups;
    choose_steps();
    return result_;
  }

private:
  static bool is_of_host(const ProfileEvent& event) {
    return event.kind == EventKind::op || event.kind == EventKind::range;
  }
  [[nodiscard]] std::string_view name(std::uint32_t event) const {
    return profile_.texts[profile_.events[event].name];
  }
  [[noreturn]] void refuse(const std::string& message) const {
    throw input_error(trace_.file, 0, message,
                      "--kineto takes the profile of the same run, of the same steps");
  }

  /// Whether a range is a step for the user.
  [[nodiscard]] bool marks_step(const ProfileEvent& event) const {
    if (!step_range_) return event.kind == EventKind::range && is_step(profile_.texts[event.name]);
    return is_of_host(event) && names_step(profile_.texts[event.name], *step_range_);
  }

  void give(const TracedNode& node, std::uint32_t index) {
    if (!given_.insert(index).second)
      refuse(fmt::format("two nodes are the call {}: {}", node.record, shown(node.name)));
    ++result_.joined;
    first_ = std::min(first_, profile_.events[index].start);
    last_ = std::max(last_, profile_.events[index].end);
    if (const std::uint32_t operands = add_operands(node, profile_); operands != no_event)
      profile_.events[index].operands = operands;
    if (const std::uint32_t collective = add_collective(node, trace_, profile_); collective != no_event)
      profile_.events[index].collective = collective;
  }

  void join_numbers(const std::unordered_map<std::uint64_t, std::uint32_t>& of_number) {
    for (const TracedNode& node : trace_.nodes) {
      if (node.record == 0 || is_root(node.name)) continue;
      const auto found = of_number.find(node.record);
      if (found == of_number.end()) {
        ++result_.missing;
        continue;
      }
      if (name(found->second) != node.name)
        refuse(fmt::format("call {} is {} here and {} in the profile", node.record, shown(node.name),
                           shown(name(found->second))));
      give(node, found->second);
    }
    if (result_.joined == 0) refuse("no operator is in the profile");
  }

  void join_names() {
    std::map<std::uint64_t, std::vector<const TracedNode*>> traced;
    for (const TracedNode& node : trace_.nodes) {
      if (!is_root(node.name) && !is_step(node.name)) traced[node.thread].push_back(&node);
    }
    std::map<TextPool::Id, std::vector<std::uint32_t>> profiled;
    for (std::uint32_t i = 0; i < profile_.events.size(); ++i) {
      if (is_of_host(profile_.events[i]) && !is_step(name(i))) profiled[profile_.events[i].lane].push_back(i);
    }
    for (auto& [lane, events] : profiled) {
      std::ranges::stable_sort(events, {}, [&](std::uint32_t i) {
        return std::tuple(profile_.events[i].start, -profile_.events[i].end);
      });
    }
    for (const auto& [thread, nodes] : traced) join_thread(thread, nodes, profiled);
  }

  /// Puts events that begin at the same time, of which an older profile has whole microseconds alone, in the
  /// order of the nodes. Returns how many names are the same from the first on.
  std::size_t order_as(const std::vector<const TracedNode*>& nodes,
                       std::vector<std::uint32_t>& events) const {
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      std::size_t at = i;
      const std::int64_t start = profile_.events[events[i]].start;
      while (at < events.size() && profile_.events[events[at]].start == start &&
             name(events[at]) != nodes[i]->name) {
        constexpr std::size_t most = 4096;
        if (++at - i > most)
          refuse("more than 4,096 operators of the profile begin at the same time: their order is unknown");
      }
      if (at == events.size() || profile_.events[events[at]].start != start) return i;
      std::rotate(events.begin() + static_cast<std::ptrdiff_t>(i),
                  events.begin() + static_cast<std::ptrdiff_t>(at),
                  events.begin() + static_cast<std::ptrdiff_t>(at) + 1);
    }
    return nodes.size();
  }

  [[nodiscard]] static bool is_range(const TracedNode& node) {
    return node.is_range || is_named_as_range(node.name);
  }
  [[nodiscard]] bool is_range(std::uint32_t event) const {
    return profile_.events[event].kind == EventKind::range || is_named_as_range(name(event));
  }

  /// Neither side records all ranges of the other: the profiler's own (`enumerate(DataLoader)#...`) are in
  /// the profile alone.
  [[nodiscard]] CommonCalls common_calls(const std::vector<const TracedNode*>& nodes,
                                         const std::vector<std::uint32_t>& events) const {
    struct Calls {
      std::size_t nodes = 0, events = 0;
      bool is_range = false;
    };
    std::unordered_map<std::string_view, Calls> by_name;
    for (const TracedNode* const node : nodes) {
      Calls& calls = by_name[node->name];
      ++calls.nodes;
      calls.is_range = calls.is_range || is_range(*node);
    }
    for (const std::uint32_t event : events) {
      Calls& calls = by_name[name(event)];
      ++calls.events;
      calls.is_range = calls.is_range || is_range(event);
    }
    const auto is_common = [&](std::string_view name) {
      const Calls& calls = by_name.at(name);
      return !calls.is_range || calls.nodes == calls.events;
    };
    CommonCalls common;
    std::ranges::copy_if(nodes, std::back_inserter(common.nodes),
                         [&](const TracedNode* node) { return is_common(node->name); });
    std::ranges::copy_if(events, std::back_inserter(common.events),
                         [&](std::uint32_t event) { return is_common(name(event)); });
    return common;
  }

  void join_calls(const CommonCalls& calls) {
    for (std::size_t i = 0; i < calls.nodes.size(); ++i) give(*calls.nodes[i], calls.events[i]);
  }

  void join_thread(std::uint64_t thread, const std::vector<const TracedNode*>& nodes,
                   const std::map<TextPool::Id, std::vector<std::uint32_t>>& profiled) {
    std::size_t traced = nodes.size();  // operators, as many as are compared with the nearest thread
    std::size_t nearest = 0;            // operators of the thread whose number is the nearest
    std::size_t agreed = 0;  // of threads with as many: the names that are the same from the first on
    const TracedNode* other = nullptr;  // the node behind these
    std::size_t best = std::numeric_limits<std::size_t>::max();
    for (const auto& [lane, events] : profiled) {
      if (used_lanes_.contains(lane)) continue;
      CommonCalls common = common_calls(nodes, events);
      if (common.nodes.empty()) continue;
      const auto [fewer, more] = std::minmax({common.events.size(), common.nodes.size()});
      if (more - fewer < best) {
        best = more - fewer;
        traced = common.nodes.size();
        nearest = common.events.size();
      }
      if (fewer != more) continue;
      const std::size_t same = order_as(common.nodes, common.events);
      if (same < common.nodes.size()) {
        if (other == nullptr || same > agreed) other = common.nodes[same];
        agreed = std::max(agreed, same);
        continue;
      }
      result_.missing += nodes.size() - common.nodes.size();
      join_calls(common);
      for (const std::uint32_t event : events) {
        if (!given_.contains(event)) passed_over_.insert(event);
      }
      used_lanes_.insert(lane);
      return;
    }
    if (std::ranges::all_of(nodes, [](const TracedNode* node) { return is_range(*node); })) {
      result_.missing += nodes.size();
      return;
    }
    if (used_lanes_.size() == profiled.size())
      refuse(fmt::format("the execution trace has more threads than the profile: none is left for thread {}",
                         thread));
    const auto count = [](std::size_t number) { return grouped(static_cast<std::int64_t>(number)); };
    if (best > 0)
      refuse(fmt::format("thread {} has {} operators, and no thread of the profile as many (the nearest: {})",
                         thread, count(traced), count(nearest)));
    refuse(fmt::format("thread {} has other operators than the profile from its no. {} on: {}", thread,
                       count(agreed + 1), shown(other->name)));
  }

  /// Leaves the steps of which most operators were traced. Where only a part of the profile was and no step
  /// says which, a range is added.
  void choose_steps() {
    std::vector<std::size_t> all{0};     // operators before each event
    std::vector<std::size_t> joined{0};  // those that were traced
    for (std::uint32_t i = 0; i < profile_.events.size(); ++i) {
      const bool counts = is_of_host(profile_.events[i]) && !is_step(name(i)) && !passed_over_.contains(i);
      all.push_back(all.back() + (counts ? 1 : 0));
      joined.push_back(joined.back() + (counts && given_.contains(i) ? 1 : 0));
    }
    const auto place = [&](std::int64_t time) {
      return std::ranges::lower_bound(profile_.events, time, {}, &ProfileEvent::start) -
             profile_.events.begin();
    };
    std::set<std::int64_t> untraced_starts;
    for (const ProfileEvent& event : profile_.events) {
      if (!marks_step(event)) continue;
      const auto begin = place(event.start);
      const auto end = place(event.end);
      if (2 * (joined[end] - joined[begin]) <= all[end] - all[begin]) untraced_starts.insert(event.start);
    }
    const auto is_untraced = [&](const ProfileEvent& event) {
      return marks_step(event) && untraced_starts.contains(event.start);
    };
    const std::size_t untraced = std::erase_if(profile_.events, is_untraced);
    const bool has_steps =
        std::ranges::any_of(profile_.events, [&](const ProfileEvent& event) { return marks_step(event); });
    const bool is_whole =
        untraced == 0 && std::ranges::none_of(profile_.events, [&](const ProfileEvent& event) {
          const auto index = static_cast<std::uint32_t>(&event - profile_.events.data());
          return is_of_host(event) && !passed_over_.contains(index) &&
                 (event.end < first_ || event.start > last_);
        });
    if (has_steps || is_whole) return;
    result_.step_range = "execution trace";
    ProfileEvent range{.start = first_, .end = last_, .kind = EventKind::range};
    range.name = profile_.texts.id(*result_.step_range);
    range.lane = profile_.texts.id("execution trace");
    range.owner = range.lane;
    profile_.events.insert(std::ranges::lower_bound(profile_.events, first_, {}, &ProfileEvent::start),
                           range);
  }

  const ExecutionTrace& trace_;
  Profile& profile_;
  const std::optional<std::string>& step_range_;
  std::unordered_set<std::uint32_t> given_;                        // events that were joined
  std::unordered_set<std::uint32_t> passed_over_;                  // ranges that the execution trace lacks
  std::set<TextPool::Id> used_lanes_;                              // threads of the profile that were joined
  std::int64_t first_ = std::numeric_limits<std::int64_t>::max();  // start of the traced part, ns
  std::int64_t last_ = std::numeric_limits<std::int64_t>::min();
  TraceJoin result_;
};

}  // namespace

TraceJoin join_execution_trace(const ExecutionTrace& trace, Profile& profile,
                               const std::optional<std::string>& step_range) {
  return TraceJoiner(trace, profile, step_range).join();
}

}  // namespace trainyard
