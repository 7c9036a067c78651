#include "config/diagnostic.hpp"
#include "engine/executors.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

namespace trainyard::engine {

namespace {

class ClosedExecutor : public CollectiveExecutor {
public:
  ClosedExecutor(std::vector<Seconds> durations, Calendar& calendar)
      : durations_(std::move(durations)), calendar_(calendar) {}

  void arrive(int, int, double) override {}
  void start(int collective, double date) override {
    calendar_.enter(date + durations_[at(collective)].si(), EventKind::over, collective);
  }
  virtual void end(int) {}
  /// Whether the times of all collectives so far are those that they take alone on the network.
  [[nodiscard]] virtual bool is_exact() const { return true; }

private:
  std::vector<Seconds> durations_;
  Calendar& calendar_;
};

/// Notices collectives that run at the same time and use a link together.
class WatchfulExecutor final : public ClosedExecutor {
public:
  WatchfulExecutor(const TaskGraph& graph, std::span<const LinkUses> uses, std::vector<Seconds> durations,
                   Calendar& calendar)
      : ClosedExecutor(std::move(durations), calendar), graph_(graph), uses_(uses) {}

  void start(int collective, double date) override {
    is_exact_ = is_exact_ &&
                std::ranges::none_of(running_, [&](int other) { return share_links(collective, other); });
    running_.push_back(collective);
    ClosedExecutor::start(collective, date);
  }
  void end(int collective) override { std::erase(running_, collective); }
  [[nodiscard]] bool is_exact() const override { return is_exact_; }

private:
  bool share_links(int one, int other) {
    for (const CollectivePhase& mine : graph_.collectives[at(one)].phases) {
      for (const CollectivePhase& theirs : graph_.collectives[at(other)].phases) {
        if (share_link(std::min(mine.pattern, theirs.pattern), std::max(mine.pattern, theirs.pattern)))
          return true;
      }
    }
    return false;
  }

  bool share_link(int first, int second) {
    if (first == second) return true;  // also the private link of its limit
    const auto [known, is_new] = shared_.try_emplace({first, second}, false);
    if (is_new) {
      known->second = trainyard::share_links(uses_[at(first)], uses_[at(second)]);
    }
    return known->second;
  }

  const TaskGraph& graph_;
  std::span<const LinkUses> uses_;  ///< by pattern
  std::vector<int> running_;        ///< collectives
  bool is_exact_ = true;
  std::map<std::pair<int, int>, bool> shared_ = {};  ///< whether two patterns use a link together
};

/// The bytes on each link, of patterns whose every edge carried `carried`.
LinkValues<double> link_bytes(std::span<const Bytes> carried, std::span<const LinkUses> uses,
                              std::size_t links) {
  const bool are_counted =
      std::ranges::all_of(uses, [](const LinkUses& of_one) { return of_one.counted != nullptr; });
  if (!are_counted) {
    std::vector<double> bytes(links, 0);
    for (std::size_t pattern = 0; pattern < uses.size(); ++pattern)
      add_link_bytes(carried[pattern], uses[pattern], bytes);
    return bytes;
  }
  LinkValues<double> bytes;
  const double none[] = {0};
  bytes.append(none, static_cast<std::uint32_t>(links));
  for (std::size_t pattern = 0; pattern < uses.size(); ++pattern)
    add_link_bytes(carried[pattern], uses[pattern], bytes);
  return bytes;
}

std::vector<Seconds> durations(const TaskGraph& graph, std::span<const LinkUses> uses) {
  std::vector<Bandwidth> rates;
  for (const LinkUses& of_pattern : uses) rates.push_back(lockstep_rate(of_pattern, graph.links));
  std::vector<Seconds> all;
  for (const Collective& collective : graph.collectives)
    all.push_back(time_alone(collective, [&](int pattern) { return rates[at(pattern)]; }));
  return all;
}

/// Replays the graph with every collective as long as it takes alone; nothing once the executor says that
/// this is not how long one takes.
std::optional<Timeline> replay_closed(const TaskGraph& graph, const EngineOptions& options,
                                      std::span<const LinkUses> uses, ClosedExecutor& executor,
                                      Calendar& calendar) {
  std::vector<Bytes> carried(graph.patterns.size());  // per edge
  Replay replay(graph, options, calendar);
  replay.begin(executor);
  while (!calendar.empty() && !replay.done()) {
    const Event event = calendar.pop();
    if (event.kind == EventKind::over) {
      if (!uses.empty()) {
        for (const CollectivePhase& phase : graph.collectives[at(event.target)].phases)
          carried[at(phase.pattern)] += phase.bytes * phase.messages;
      }
      executor.end(event.target);
      replay.leave_all(event.target, event.date);
    } else {
      replay.wake(event.target, event.item, event.date);
    }
    if (!executor.is_exact()) return std::nullopt;
  }
  if (uses.empty()) return replay.finish({});
  return replay.finish(link_bytes(carried, uses, graph.links.size()));
}

std::vector<LinkUses> uses_of_patterns(const TaskGraph& graph) {
  std::vector<LinkUses> uses;
  for (const Pattern& pattern : graph.patterns) uses.push_back(uses_of(pattern));
  return uses;
}

}  // namespace

Timeline run_closed(const TaskGraph& graph, const EngineOptions& options) {
  Calendar calendar;
  if (!options.variant.collectives.empty()) {
    ClosedExecutor executor(options.variant.collectives, calendar);
    return *replay_closed(graph, options, {}, executor, calendar);
  }
  if (!graph.link_events.empty()) {
    throw InputError("fidelity closed cannot simulate links that change during the run",
                     "use fidelity: flow, rounds or messages");
  }
  const std::vector<LinkUses> uses = uses_of_patterns(graph);
  ClosedExecutor executor(durations(graph, uses), calendar);
  return *replay_closed(graph, options, uses, executor, calendar);
}

std::optional<Timeline> run_undisturbed(const TaskGraph& graph, const EngineOptions& options) {
  if (!graph.link_events.empty() || !graph.job_of_rank.empty()) return std::nullopt;
  const std::vector<LinkUses> uses = uses_of_patterns(graph);
  Calendar calendar;
  WatchfulExecutor executor(graph, uses, durations(graph, uses), calendar);
  return replay_closed(graph, options, uses, executor, calendar);
}

}  // namespace trainyard::engine
