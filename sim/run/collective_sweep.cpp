#include "run/collective_sweep.hpp"

#include "config/keys.hpp"
#include "platform/channels.hpp"
#include "schedule/step_plan.hpp"

#include <algorithm>
#include <fmt/format.h>

namespace trainyard {

namespace {

std::vector<CollectiveGroup> groups_of(const Cluster& cluster, const CollectiveSweep& sweep) {
  std::vector<CollectiveGroup> groups = sweep.groups;
  if (groups.empty()) groups.push_back({all_ranks(cluster), Seconds{}});
  std::vector<int> group_of_rank(at(cluster.ranks()), -1);
  for (std::size_t g = 0; g < groups.size(); ++g) {
    if (groups[g].ranks.size() < 2) throw InputError("a collective needs at least 2 ranks", "use more GPUs");
    for (const Rank rank : groups[g].ranks) {
      if (index(rank) >= cluster.ranks()) {
        throw InputError(
            fmt::format("rank {} does not exist: ranks are 0 to {}", index(rank), cluster.ranks() - 1),
            "--nodes and --gpus set the number of ranks");
      }
      int& owner = group_of_rank[at(index(rank))];
      if (owner >= 0) {
        throw InputError(fmt::format("rank {} is in two groups", index(rank)),
                         "groups run at the same time: put each rank into one group");
      }
      owner = static_cast<int>(g);
    }
    if (sweep.root >= static_cast<int>(groups[g].ranks.size())) {
      throw InputError(
          fmt::format("root {} does not exist in a group of {} ranks", sweep.root, groups[g].ranks.size()),
          "the root is the position of a rank in its group, from 0");
    }
  }
  return groups;
}

/// The collectives of all groups: all groups at once for each size, one size after the other, in one
/// simulation.
class SweepGraph {
public:
  SweepGraph(const Cluster& cluster, const CollectiveSweep& sweep, const std::vector<CollectiveGroup>& groups)
      : sweep_(sweep), groups_(groups) {
    graph_.links = link_capacities(cluster);
    graph_.programs.resize(groups.size() + 1);  // the last program is for ranks in no group
    graph_.program_of_rank.assign(at(cluster.ranks()), static_cast<int>(groups.size()));
    for (std::size_t g = 0; g < groups.size(); ++g) {
      for (const Rank rank : groups[g].ranks) graph_.program_of_rank[at(index(rank))] = static_cast<int>(g);
      planners_.emplace_back(cluster, sweep.software,
                             PlannerRequest{.operation = sweep.operation,
                                            .groups = {groups[g].ranks},
                                            .root = groups[g].ranks[at(sweep.root)],
                                            .algorithm = sweep.algorithm,
                                            .grid = sweep.grid,
                                            .protocol = sweep.protocol});
    }
    for (std::size_t size = 0; size < sweep.sizes.size(); ++size) {
      if (size > 0) add_barrier();
      for (std::size_t g = 0; g < groups.size(); ++g) add_collective(g, sweep.sizes[size]);
    }
  }

  /// A timed collective of the graph, with all values of its row except the times.
  struct Timed {
    int collective = 0;
    CollectiveTiming row;
  };
  [[nodiscard]] const TaskGraph& graph() const { return graph_; }
  [[nodiscard]] const std::vector<Timed>& timed() const { return timed_; }
  [[nodiscard]] const std::vector<std::string>& notes() const { return notes_; }

private:
  std::vector<Task>& stream(std::size_t program) {
    return graph_.programs[program].of(Stream::communication);
  }

  /// No rank begins a size before all ranks of all groups have ended the previous one: message by message,
  /// the last ranks of a chunked phase still receive when its first ones have nothing left to send.
  void add_barrier() {
    int participants = 0;
    for (std::size_t g = 0; g < groups_.size(); ++g) {
      participants += static_cast<int>(groups_[g].ranks.size());
      stream(g).emplace_back(Join{static_cast<int>(graph_.collectives.size())});
    }
    graph_.collectives.push_back({.operation = sweep_.operation,
                                  .size = Bytes{},
                                  .participants = participants,
                                  .group_size = participants,
                                  .overhead = Seconds{},
                                  .phases = {}});
  }

  void add_collective(std::size_t g, Bytes asked) {
    const auto ranks = static_cast<int>(groups_[g].ranks.size());
    // at least one element, even if the size divided among ranks would be less
    const Bytes size = std::max(whole_size(sweep_.operation, ranks, asked), Bytes(4));
    if (groups_[g].start > Seconds{}) stream(g).emplace_back(Compute{.duration = groups_[g].start});
    stream(g).emplace_back(Join{static_cast<int>(graph_.collectives.size())});
    const CollectivePlan& plan = planners_[g].plan(size, graph_.patterns);
    for (const std::string& note : plan.notes) {
      if (std::ranges::find(notes_, note) == notes_.end()) notes_.push_back(note);
    }
    timed_.push_back({static_cast<int>(graph_.collectives.size()),
                      {.size = size,
                       .elements = element_count(sweep_.operation, ranks, size),
                       .group = static_cast<int>(g),
                       .algorithm = std::string(config::name_of(plan.algorithm)),
                       .protocol = std::string(protocol_name(sweep_.software.library, plan.protocol)),
                       .channels = plan.channels,
                       .time = {},
                       .algbw = {},
                       .busbw = {},
                       .bound = planners_[g].bound(size),
                       .closed_form = {}}});
    graph_.collectives.push_back(planners_[g].collective(size, graph_.patterns));
  }

  const CollectiveSweep& sweep_;
  const std::vector<CollectiveGroup>& groups_;
  TaskGraph graph_;
  std::vector<Planner> planners_;
  std::vector<Timed> timed_;
  std::vector<std::string> notes_;
};

std::string way_of(CommunicationLibrary library, const CollectiveTiming& row) {
  return is_of_hosts(library) ? row.algorithm : row.algorithm + "/" + row.protocol;
}

std::vector<CollectiveSwitch> switches_of(const CollectiveReport& report, CommunicationLibrary library) {
  std::vector<CollectiveSwitch> switches;
  const std::size_t groups = report.groups.size();
  for (std::size_t g = 0; g < groups; ++g) {
    for (std::size_t i = g + groups; i < report.rows.size(); i += groups) {
      const CollectiveTiming& below = report.rows[i - groups];
      const CollectiveTiming& above = report.rows[i];
      if (way_of(library, below) == way_of(library, above)) continue;
      switches.push_back(
          {static_cast<int>(g), below.size, above.size, way_of(library, below), way_of(library, above)});
    }
  }
  return switches;
}

}  // namespace

CollectiveReport time_collective(const Cluster& cluster, const CollectiveSweep& sweep) {
  CollectiveReport report{.platform = cluster.platform.name,
                          .library = std::string(title_of(sweep.software.library)),
                          .operation = sweep.operation,
                          .ranks = cluster.ranks(),
                          .nodes = cluster.nodes,
                          .root = sweep.root,
                          .groups = groups_of(cluster, sweep),
                          .notes = {},
                          .rows = {},
                          .switches = {},
                          .links = {}};
  const SweepGraph plan(cluster, sweep, report.groups);
  report.notes = plan.notes();
  if (sweep.software.note) report.notes.push_back(*sweep.software.note);
  const Timeline timeline = run(plan.graph(), {.fidelity = sweep.fidelity, .recorded = {}});
  const Timeline alone = run(plan.graph(), {.fidelity = Fidelity::closed, .recorded = {}});
  double sum = 0;
  for (const SweepGraph::Timed& timed : plan.timed()) {
    CollectiveTiming row = timed.row;
    const auto duration_in = [&](const Timeline& of) {
      const CollectiveSpan& span = of.collectives[at(timed.collective)];
      return span.end - span.start;
    };
    const auto ranks = static_cast<int>(report.groups[at(row.group)].ranks.size());
    const Seconds launches = sweep.software.overheads.launch * sweep.gpus_per_process;
    row.time = with_launches(duration_in(timeline), launches) + sweep.call;
    row.closed_form = with_launches(duration_in(alone), launches) + sweep.call;
    if (row.time.si() < row.bound.si() * (1 - 1e-9)) {
      throw EngineError(fmt::format("{} of {} bytes is faster than its bound",
                                    config::name_of(sweep.operation), row.size.si()));
    }
    row.algbw = row.size / row.time;
    row.busbw = busbw(sweep.operation, ranks, row.size, row.time);
    sum += row.busbw.si() / 1e9;
    report.rows.push_back(std::move(row));
  }
  if (!report.rows.empty()) report.average_busbw_gbs = sum / static_cast<double>(report.rows.size());
  report.switches = switches_of(report, sweep.software.library);
  LinkTraffic links = link_traffic(cluster, timeline, {}, sweep.lists_links);
  report.links = std::move(links.rows);
  if (links.busiest_row) report.links.push_back(*std::move(links.busiest_row));
  return report;
}

}  // namespace trainyard
