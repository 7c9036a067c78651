#include "explain/library_choice.hpp"

#include "collectives/nccl_shape.hpp"
#include "collectives/planner.hpp"
#include "engine/makespan.hpp"
#include "explain/what_would_help.hpp"
#include "platform/channels.hpp"
#include "run/simulate.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <span>
#include <string>
#include <tuple>
#include <utility>

namespace trainyard {

namespace {

/// NVLS has one protocol.
constexpr std::array<NcclChoice, 7> choices{{{Algorithm::ring, Protocol::ll},
                                             {Algorithm::ring, Protocol::ll128},
                                             {Algorithm::ring, Protocol::simple},
                                             {Algorithm::tree, Protocol::ll},
                                             {Algorithm::tree, Protocol::ll128},
                                             {Algorithm::tree, Protocol::simple},
                                             {Algorithm::nvls, Protocol::simple}}};

/// Collectives about which NCCL decides alike.
using Kind = std::tuple<Operation, Axis, int, Algorithm, Protocol>;

Kind kind_of(const Collective& collective) {
  return {collective.operation, collective.label.axis, collective.group_size, collective.label.algorithm,
          collective.label.protocol};
}

bool is_nccls(Algorithm algorithm) {
  return std::ranges::find(choices, algorithm, &NcclChoice::algorithm) != choices.end();
}

/// The ranks that take part in a collective, ascending.
std::vector<Rank> participants(const TaskGraph& graph, int collective) {
  const auto joins = [&](const Program& program) {
    return std::ranges::any_of(program.streams, [&](const std::vector<Task>& stream) {
      return std::ranges::any_of(stream, [&](const Task& task) {
        const auto* join = std::get_if<Join>(&task);
        return join != nullptr && join->collective == collective;
      });
    });
  };
  const auto runs_a_join = [&](const Program& program) {
    return joins(program) || std::ranges::any_of(program.of(Stream::compute), [&](const Task& task) {
             const auto* segment = std::get_if<RunSegment>(&task);
             return segment != nullptr && joins(graph.segments[at(segment->segment)].program);
           });
  };
  std::vector<bool> takes_part;
  for (const Program& program : graph.programs) takes_part.push_back(runs_a_join(program));
  std::vector<Rank> ranks;
  for (int rank = 0; rank < graph.ranks(); ++rank) {
    if (takes_part[at(graph.program_of_rank[at(rank)])]) ranks.push_back(Rank{rank});
  }
  return ranks;
}

/// The groups that exchange data: the parts that a pattern's edges connect.
RankGroups connected(const Pattern& pattern, int ranks) {
  std::vector<int> first(at(ranks));
  for (int rank = 0; rank < ranks; ++rank) first[at(rank)] = rank;
  const auto root_of = [&](int rank) {
    while (first[at(rank)] != rank) rank = first[at(rank)] = first[at(first[at(rank)])];
    return rank;
  };
  std::set<int> joined;
  for (const Pattern::Edge& edge : pattern.edges) {
    const int from = root_of(index(edge.from));
    const int to = root_of(index(edge.to));
    first[at(std::max(from, to))] = std::min(from, to);
    joined.insert({index(edge.from), index(edge.to)});
  }
  std::map<int, std::vector<Rank>> groups;
  for (const int rank : joined) groups[root_of(rank)].push_back(Rank{rank});
  RankGroups result;
  for (auto& [root, group] : groups) result.push_back(std::move(group));
  return result;
}

RankGroups on_nodes(const Cluster& cluster, const std::vector<Rank>& ranks) {
  std::map<NodeId, std::vector<Rank>> groups;
  for (const Rank rank : ranks) groups[cluster.node_of(rank)].push_back(rank);
  RankGroups result;
  for (auto& [node, group] : groups) result.push_back(std::move(group));
  return result;
}

/// The groups of a collective; empty if its patterns do not show them.
RankGroups groups_of(const Cluster& cluster, const TaskGraph& graph, int number) {
  const Collective& collective = graph.collectives[at(number)];
  if (collective.participants == collective.group_size) return {participants(graph, number)};
  const Pattern& pattern = graph.patterns[at(collective.phases.front().pattern)];
  RankGroups groups = collective.label.algorithm == Algorithm::nvls
                          ? on_nodes(cluster, participants(graph, number))
                          : connected(with_edges(pattern), graph.ranks());
  const bool are_whole = std::ranges::all_of(
      groups, [&](const auto& group) { return static_cast<int>(group.size()) == collective.group_size; });
  return are_whole ? groups : RankGroups{};
}

/// The choices that NCCL has for some groups, and the times of collectives by each.
class Choices {
public:
  Choices(const ResolvedExperiment& resolved, Operation operation, RankGroups groups)
      : resolved_(resolved), cluster_(*resolved.network), operation_(operation), groups_(std::move(groups)) {
    const std::vector<Channel> channels = sample_channels(cluster_, groups_.front());
    if (channels.front().is_chain) return;
    shape_ = nccl_shape(cluster_, resolved.library.version, resolved.library.compute_capability, operation,
                        groups_.front(), channels);
    shape_->is_rccl = resolved.library.library == CommunicationLibrary::rccl;
  }

  /// Alone on the network; empty if NCCL does not have the choice.
  std::optional<Seconds> time(const NcclChoice& choice, Bytes size) {
    if (!shape_ || !nccl_time(*shape_, choice, size)) return std::nullopt;
    try {
      auto [found, is_new] =
          planners_.try_emplace(std::pair(choice.algorithm, choice.protocol), cluster_, resolved_.library,
                                PlannerRequest{.operation = operation_,
                                               .groups = groups_,
                                               .algorithm = choice.algorithm,
                                               .protocol = choice.protocol});
      const Collective collective = found->second.collective(size, patterns_);
      return time_alone(collective,
                        [&](int pattern) { return rate_alone(cluster_, patterns_[at(pattern)]); });
    } catch (const InputError&) {
      return std::nullopt;
    } catch (const JobImpossible&) {
      return std::nullopt;
    }
  }

private:
  const ResolvedExperiment& resolved_;
  const Cluster& cluster_;
  Operation operation_;
  RankGroups groups_;
  std::optional<NcclShape> shape_;
  std::vector<Pattern> patterns_;
  std::map<std::pair<Algorithm, Protocol>, Planner> planners_;
};

class ChoicesOfStep {
public:
  explicit ChoicesOfStep(const Run& run) : run_(run), graph_(step_of(run).plan.graph) {
    std::vector<Bandwidth> rates;
    for (const Pattern& pattern : graph_.patterns)
      rates.push_back(lockstep_rate(uses_of(pattern), graph_.links));
    for (const Collective& collective : graph_.collectives)
      times_.push_back(time_alone(collective, [&](int pattern) { return rates[at(pattern)]; }));
  }

  std::optional<CostlyChoice> worst() {
    for (const auto& [kind, collectives] : kinds()) try_kind(kind, collectives);
    if (worst_ && is_settable(*worst_)) try_algorithms(*worst_);
    return worst_;
  }

private:
  [[nodiscard]] Seconds least() const { return least_gain_of_choice * run_.pace.time; }

  /// In closed form. Most steps have no choice to compare it with.
  Seconds makespan() {
    if (!makespan_) makespan_ = closed_makespan(graph_, {.collectives = times_});
    return *makespan_;
  }

  [[nodiscard]] Seconds in_step(int number, Seconds time) const {
    return graph_.collectives[at(number)].rounds * time;
  }

  /// The kinds that take enough time to matter.
  [[nodiscard]] std::map<Kind, std::vector<int>> kinds() const {
    std::map<Kind, std::vector<int>> all;
    for (int number = 0; number < static_cast<int>(graph_.collectives.size()); ++number) {
      const Collective& one = graph_.collectives[at(number)];
      if (one.phases.empty() || has_root(one.operation) || !is_nccls(one.label.algorithm)) continue;
      all[kind_of(one)].push_back(number);
    }
    std::erase_if(all, [&](const auto& entry) {
      Seconds sum;
      for (const int number : entry.second) sum += in_step(number, times_[at(number)]);
      return sum < least();
    });
    return all;
  }

  /// Groups that lie alike and send as much take the same time by any choice: each time is looked up once.
  std::optional<Seconds> time_by(const NcclChoice& choice, int number) {
    const Collective& one = graph_.collectives[at(number)];
    const auto key =
        std::tuple(kind_of(one), one.size, times_[at(number)], choice.algorithm, choice.protocol);
    const auto known = known_.find(key);
    if (known != known_.end()) return known->second;
    const std::pair<Kind, int> place{kind_of(one), one.phases.front().pattern};
    auto found = choices_.find(place);
    if (found == choices_.end()) {
      RankGroups groups = groups_of(*run_.experiment.network, graph_, number);
      std::optional<Choices> made;
      if (!groups.empty()) made.emplace(run_.experiment, one.operation, std::move(groups));
      found = choices_.emplace(place, std::move(made)).first;
    }
    const std::optional<Seconds> time = found->second ? found->second->time(choice, one.size) : std::nullopt;
    known_.emplace(key, time);
    return time;
  }

  /// The user has set the algorithm of these: NCCL chooses among its protocols.
  [[nodiscard]] bool is_fixed(Operation operation, Axis axis) const {
    return run_.experiment.settings.sync.algorithm != Algorithm::automatic && takes_key(operation, axis);
  }

  /// Whether the key `sync.algorithm` is about these collectives.
  [[nodiscard]] bool takes_key(Operation operation, Axis axis) const {
    if (operation != Operation::all_reduce) return false;
    if (run_.experiment.layout) return traits(axis).are_replicas();
    const auto communicates = [](const Op& op) { return !op.communications.empty(); };
    return run_.experiment.settings.sync.kind == SyncKind::all_reduce &&
           std::ranges::none_of(run_.experiment.classes, [&](const RankClass& one) {
             return std::ranges::any_of(one.trace.ops, communicates);
           });
  }

  void try_kind(const Kind& kind, const std::vector<int>& collectives) {
    const auto& [operation, axis, ranks, algorithm, protocol] = kind;
    for (const NcclChoice& choice : choices) {
      if (choice == NcclChoice{algorithm, protocol}) continue;
      if (is_fixed(operation, axis) && choice.algorithm != algorithm) continue;
      StepVariant variant{.collectives = times_};
      Seconds saved;
      Seconds most;
      CostlyChoice found{.operation = operation,
                         .axis = axis,
                         .chosen = {algorithm, protocol},
                         .better = choice,
                         .size = {},
                         .time = {},
                         .better_time = {},
                         .gain = {}};
      for (const int number : collectives) {
        const std::optional<Seconds> time = time_by(choice, number);
        if (!time || *time >= times_[at(number)]) continue;
        variant.collectives[at(number)] = *time;
        const Seconds saving = in_step(number, times_[at(number)] - *time);
        saved += saving;
        if (saving <= most) continue;
        most = saving;
        found.size = graph_.collectives[at(number)].size;
        found.time = times_[at(number)];
        found.better_time = *time;
      }
      if (saved < least()) continue;
      found.gain = makespan() - closed_makespan(graph_, variant);
      if (found.gain >= least() && (!worst_ || found.gain > worst_->gain)) worst_ = found;
    }
  }

  [[nodiscard]] bool is_settable(const CostlyChoice& choice) const {
    return takes_key(choice.operation, choice.axis) && !is_fixed(choice.operation, choice.axis);
  }

  /// The step in closed form, with an algorithm for its all-reduces; empty if it cannot run, or has none.
  [[nodiscard]] std::optional<Seconds> closed_step(Algorithm algorithm) const {
    ResolvedExperiment resolved = run_.experiment;
    resolved.settings.sync.algorithm = algorithm;
    try {
      return closed_pace(resolved).time;
    } catch (const InputError&) {
      return std::nullopt;
    } catch (const JobImpossible&) {
      return std::nullopt;
    }
  }

  /// Tries each other algorithm: NCCL then chooses its protocol, and other sizes take it, too. Closed forms
  /// are compared with each other, whatever the run's fidelity.
  void try_algorithms(CostlyChoice& found) const {
    const std::optional<Seconds> automatic = closed_step(Algorithm::automatic);
    if (!automatic) {
      found.remedy = ChoiceRemedy::untried;
      return;
    }
    found.remedy = ChoiceRemedy::too_small;
    Seconds least_time = (1 - least_gain_of_choice) * *automatic;
    for (const Algorithm algorithm : {Algorithm::ring, Algorithm::tree, Algorithm::nvls}) {
      if (algorithm == found.chosen.algorithm) continue;
      const std::optional<Seconds> time = closed_step(algorithm);
      if (!time || *time >= least_time) continue;
      least_time = *time;
      found.remedy = ChoiceRemedy::found;
      found.set = {{std::string(algorithm_key), std::string(config::name_of(algorithm))}};
      found.step_time_with_set = *time / *automatic * run_.pace.time;
    }
  }

  const Run& run_;
  const TaskGraph& graph_;
  std::vector<Seconds> times_;  ///< of each collective alone
  std::optional<Seconds> makespan_;
  std::map<std::pair<Kind, int>, std::optional<Choices>> choices_;  ///< by kind and pattern
  std::map<std::tuple<Kind, Bytes, Seconds, Algorithm, Protocol>, std::optional<Seconds>> known_;
  std::optional<CostlyChoice> worst_;
};

}  // namespace

std::optional<CostlyChoice> costly_choice(const Run& run) {
  const CollectiveSoftware& library = run.experiment.library;
  if (updates_of(run) != nullptr || run.ranks == 1 || run.ranks > most_ranks_of_choice) return std::nullopt;
  if (is_of_hosts(library.library) || library.version == NcclVersion::none) return std::nullopt;
  // No choice beats the bounds of collectives.
  const Step& step = step_of(run);
  if (step.time - step.lower_bound < least_gain_of_choice * step.time) return std::nullopt;
  if (step.network_gain < least_gain_of_choice * step.time) return std::nullopt;
  return ChoicesOfStep(run).worst();
}

}  // namespace trainyard
