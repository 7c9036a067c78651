#include "imports/join_execution_trace.hpp"

#include "imports/profile_work.hpp"
#include "imports/traced_work.hpp"
#include "interchange/input_text.hpp"
#include "units/plural.hpp"

#include <algorithm>
#include <fmt/format.h>
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

  void join_thread(std::uint64_t thread, const std::vector<const TracedNode*>& nodes,
                   const std::map<TextPool::Id, std::vector<std::uint32_t>>& profiled) {
    std::size_t nearest = 0;  // operators of the thread whose number is the nearest
    std::size_t agreed = 0;   // of the threads with as many: the names that are the same from the first on
    std::size_t best = std::numeric_limits<std::size_t>::max();
    for (const auto& [lane, events] : profiled) {
      if (used_lanes_.contains(lane)) continue;
      const std::size_t apart = std::max(events.size(), nodes.size()) - std::min(events.size(), nodes.size());
      if (apart < best) {
        best = apart;
        nearest = events.size();
      }
      if (apart != 0) continue;
      std::vector<std::uint32_t> order = events;
      const std::size_t same = order_as(nodes, order);
      agreed = std::max(agreed, same);
      if (same < nodes.size()) continue;
      for (std::size_t i = 0; i < nodes.size(); ++i) give(*nodes[i], order[i]);
      used_lanes_.insert(lane);
      return;
    }
    if (used_lanes_.size() == profiled.size())
      refuse(fmt::format("the execution trace has more threads than the profile: none is left for thread {}",
                         thread));
    const auto count = [](std::size_t number) { return grouped(static_cast<std::int64_t>(number)); };
    if (best > 0)
      refuse(fmt::format("thread {} has {} operators, and no thread of the profile as many (the nearest: {})",
                         thread, count(nodes.size()), count(nearest)));
    refuse(fmt::format("thread {} has other operators than the profile from its no. {} on: {}", thread,
                       count(agreed + 1), shown(nodes[agreed]->name)));
  }

  /// Leaves the steps of which most operators were traced. Where only a part of the profile was and no step
  /// says which, a range is added.
  void choose_steps() {
    std::vector<std::size_t> all{0};     // operators before each event
    std::vector<std::size_t> joined{0};  // those that were traced
    for (std::uint32_t i = 0; i < profile_.events.size(); ++i) {
      const bool counts = is_of_host(profile_.events[i]) && !is_step(name(i));
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
          return is_of_host(event) && (event.end < first_ || event.start > last_);
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
  std::set<TextPool::Id> used_lanes_;                              // threads of the profile that were joined
  std::int64_t first_ = std::numeric_limits<std::int64_t>::max();  // of what was traced, ns
  std::int64_t last_ = std::numeric_limits<std::int64_t>::min();
  TraceJoin result_;
};

}  // namespace

TraceJoin join_execution_trace(const ExecutionTrace& trace, Profile& profile,
                               const std::optional<std::string>& step_range) {
  return TraceJoiner(trace, profile, step_range).join();
}

}  // namespace trainyard
