#include "schedule/undisturbed_segments.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <utility>
#include <vector>

namespace trainyard {
namespace {

/// Leaves a segment undisturbed only if nothing else can use the links of its collectives meanwhile: all
/// users of such a link involve the segment's own stage, whose ranks take part in one at a time.
class LinkUsers {
public:
  LinkUsers(const TaskGraph& graph, const LayoutCollectives& collectives, bool messages_overlap)
      : users_(graph.links.size(), unused) {
    for (const Pattern& pattern : graph.patterns) uses_.push_back(link_uses(pattern));
    std::set<std::pair<int, int>> known;  // pattern and first stage
    for (std::size_t i = 0; i < graph.collectives.size(); ++i) {
      const Collective& collective = graph.collectives[i];
      const bool is_beside = messages_overlap && collective.one_way;
      const LayoutCollectives::Ends of_stages = collectives.stages_of(static_cast<int>(i));
      if (of_stages.from < 0) continue;  // no rank is in a pass any more
      const LayoutCollectives::Ends ends = is_beside ? nobody : of_stages;
      for (const CollectivePhase& phase : collective.phases) {
        if (!known.emplace(phase.pattern, ends.from).second) continue;
        for (const LinkUse& use : uses_[at(phase.pattern)]) add(users_[index(use.link)], ends);
      }
    }
  }

  /// Whether all users of the collective's links involve the stage.
  [[nodiscard]] bool are_of(int stage, const Collective& collective) {
    for (const CollectivePhase& phase : collective.phases) {
      const auto [entry, is_new] = known_.try_emplace({phase.pattern, stage}, true);
      if (is_new) {
        entry->second = std::ranges::all_of(
            uses_[at(phase.pattern)], [&](const LinkUse& use) { return users_[index(use.link)].has(stage); });
      }
      if (!entry->second) return false;
    }
    return true;
  }

private:
  static constexpr LayoutCollectives::Ends nobody{-1, -1};
  static constexpr LayoutCollectives::Ends unused{-2, -2};

  /// Keeps the stages that all users of a link involve.
  static void add(LayoutCollectives::Ends& common, LayoutCollectives::Ends ends) {
    if (common == unused) {
      common = ends;
      return;
    }
    if (!ends.has(common.from)) common.from = common.to;
    if (!ends.has(common.to)) common.to = common.from;
    if (!ends.has(common.from)) common = nobody;
  }

  std::vector<std::vector<LinkUse>> uses_;      ///< by pattern
  std::vector<LayoutCollectives::Ends> users_;  ///< by link: the stages that all its users involve
  std::map<std::pair<int, int>, bool> known_;   ///< by pattern and stage
};

/// Whether a collective on another stream may run while the compute stream is in one, or another stream is:
/// then they share links, and the segment alone does not take its closed form.
bool has_joins_at_once(const Program& program) {
  constexpr auto compute = static_cast<std::size_t>(Stream::compute);
  std::map<int, int> begins;  // by event of the compute stream: streams with a collective that waits for it
  std::set<int> ends;         // events of the other streams after a collective
  for (std::size_t stream = 0; stream < program.streams.size(); ++stream) {
    if (stream == compute) continue;
    int awaited = -1;
    bool has_joined = false;
    for (const Task& task : program.streams[stream]) {
      if (const auto* wait = std::get_if<Wait>(&task)) awaited = wait->event;
      if (std::holds_alternative<Join>(task)) {
        ++begins[awaited];
        has_joined = true;
      }
      if (const auto* record = std::get_if<Record>(&task);
          record != nullptr && std::exchange(has_joined, false))
        ends.insert(record->event);
    }
  }
  int under_way = begins[-1];
  for (const Task& task : program.streams[compute]) {
    if (const auto* record = std::get_if<Record>(&task)) {
      if (const auto found = begins.find(record->event); found != begins.end()) under_way += found->second;
    }
    if (const auto* wait = std::get_if<Wait>(&task); wait != nullptr && ends.contains(wait->event))
      --under_way;
    if (under_way > 0 && std::holds_alternative<Join>(task)) return true;
  }
  return false;
}

}  // namespace

void check_segments(const LayoutCollectives& collectives, bool messages_overlap, TaskGraph& graph) {
  const auto has_joins = [](const Segment& segment) {
    return std::ranges::any_of(segment.program.streams, [](const std::vector<Task>& stream) {
      return std::ranges::any_of(stream, [](const Task& task) { return std::holds_alternative<Join>(task); });
    });
  };
  if (std::ranges::none_of(graph.segments, has_joins)) return;
  LinkUsers users(graph, collectives, messages_overlap);
  for (Segment& segment : graph.segments) {
    segment.is_undisturbed = segment.is_undisturbed && !has_joins_at_once(segment.program);
    for_each_task<Join>(segment.program, [&](const Join& join) {
      const int stage = collectives.stages_of(join.collective).from;
      segment.is_undisturbed =
          segment.is_undisturbed && users.are_of(stage, graph.collectives[at(join.collective)]);
    });
  }
}

}  // namespace trainyard
