#include "exports/link_rates.hpp"

#include "exports/rank_step.hpp"
#include "platform/cluster.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <span>
#include <utility>

namespace trainyard {
namespace {

std::string kind_of(const Cluster& cluster, LinkId link) {
  const std::string medium(link_medium(cluster, link));
  if (!is_fabric(cluster, link)) return medium;
  return medium + (link_name(cluster, link).starts_with("fabric->") ? " in" : " out");
}

/// When each collective of a step runs, as one of the ranks in it saw it.
class CollectiveTimes {
public:
  explicit CollectiveTimes(const Run& run) {
    std::set<Rank> ranks;
    for (const TimelineEvent& bar : step_of(run).bars) ranks.insert(bar.rank);
    for (const Rank rank : ranks) {
      const ExportedStep step = rank_step(run, rank, "a profile");
      for (const TimelineEvent* bar : step.other_work) {
        if (!bar->is_collective) continue;
        Times& times = of_[bar->collective];
        if (times.runs.empty()) times.rank = rank;
        if (times.rank == rank) times.runs.emplace_back(bar->start, bar->end);
      }
    }
  }

  [[nodiscard]] std::span<const std::pair<Seconds, Seconds>> of(int collective) const {
    const auto found = of_.find(collective);
    if (found == of_.end()) return {};
    return found->second.runs;
  }

private:
  struct Times {
    Rank rank{};
    std::vector<std::pair<Seconds, Seconds>> runs;
  };
  std::map<int, Times> of_;
};

/// Bytes that a collective sends over the node's links each time it runs, by kind.
std::map<std::string, Bytes> bytes_by_kind(const Run& run, const Collective& collective, NodeId node) {
  const Cluster& cluster = *run.experiment.cluster;
  std::map<std::string, Bytes> sums;
  for (const CollectivePhase& phase : collective.phases) {
    const Pattern& pattern = step_of(run).plan.graph.patterns.at(at(phase.pattern));
    for (const LinkUse& use : link_uses(pattern)) {
      if (node_of(cluster, use.link) == node)
        sums[kind_of(cluster, use.link)] += static_cast<double>(use.times) * phase.messages * phase.bytes;
    }
  }
  return sums;
}

/// The sum of changes by date as spans from 0 to `end`.
std::vector<LinkRateSpan> spans_of(const std::map<Seconds, Bandwidth>& changes, Seconds end) {
  std::vector<LinkRateSpan> spans;
  Seconds since;
  Bandwidth rate;
  for (const auto& [date, change] : changes) {
    if (date > since) spans.push_back({since, date, rate});
    since = std::max(since, date);
    rate += change;
    // what is left of rates that were added and taken away again
    if (rate < Bandwidth(1)) rate = Bandwidth();
  }
  if (end > since) spans.push_back({since, end, rate});
  return spans;
}

}  // namespace

std::vector<NodeLinkRates> node_link_rates(const Run& run, NodeId node) {
  const Step& step = step_of(run);
  const CollectiveTimes times(run);
  std::map<std::string, std::map<Seconds, Bandwidth>> changes;
  for (int i = 0; i < static_cast<int>(step.plan.graph.collectives.size()); ++i) {
    const auto runs = times.of(i);
    if (runs.empty()) continue;
    for (const auto& [kind, bytes] : bytes_by_kind(run, step.plan.graph.collectives[at(i)], node)) {
      for (const auto& [start, end] : runs) {
        if (end <= start || bytes <= Bytes()) continue;
        const Bandwidth rate = bytes / (end - start);
        changes[kind][start] += rate;
        changes[kind][end] -= rate;
      }
    }
  }
  std::vector<NodeLinkRates> result;
  for (const auto& [kind, rate_changes] : changes)
    result.push_back({kind, spans_of(rate_changes, step.time)});
  return result;
}

}  // namespace trainyard
