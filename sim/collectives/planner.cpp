#include "collectives/planner.hpp"

#include "collectives/algorithm_plans.hpp"
#include "collectives/bounds.hpp"
#include "collectives/group_kinds.hpp"
#include "collectives/host_libraries.hpp"
#include "collectives/nccl_shape.hpp"
#include "collectives/nvls.hpp"
#include "collectives/ring.hpp"
#include "collectives/torus2d.hpp"
#include "collectives/unite.hpp"
#include "config/traits.hpp"

#include <algorithm>
#include <cassert>
#include <fmt/format.h>
#include <iterator>
#include <limits>
#include <stdexcept>

namespace trainyard {

namespace {

/// Operations with only one algorithm.
bool is_direct_only(Operation operation) {
  return operation == Operation::gather || operation == Operation::scatter ||
         operation == Operation::all_to_all || operation == Operation::send_recv;
}

/// Whether ranks that lie otherwise on their nodes take other steps. Direct messages do not, nor does a
/// switch that all of them have.
bool depends_on_places(Algorithm algorithm) {
  return algorithm != Algorithm::direct && algorithm != Algorithm::nvls;
}

/// NCCL counts a chain as a tree.
bool is_known_to_nccl(Algorithm algorithm) {
  return algorithm == Algorithm::automatic || algorithm == Algorithm::ring || algorithm == Algorithm::tree ||
         algorithm == Algorithm::chain;
}

bool runs_on_chain(Operation operation) {
  return operation == Operation::all_reduce || is_whole_with_root(operation);
}

std::vector<Bandwidth> rates_of(const Cluster& cluster, const std::vector<Pattern>& patterns) {
  std::vector<Bandwidth> rates;
  for (const Pattern& pattern : patterns) rates.push_back(rate_alone(cluster, pattern));
  return rates;
}

Seconds time_alone(const CollectivePlan& plan, const std::vector<Bandwidth>& rates, Bytes size) {
  return trainyard::time_alone(collective(plan, size, 0), [&](int pattern) { return rates[at(pattern)]; });
}

int least_channels(const Cluster& cluster, const RankGroups& groups) {
  int least = std::numeric_limits<int>::max();
  for (const std::vector<Rank>& group : groups) least = std::min(least, channels_per_pair(cluster, group));
  return least;
}

/// "6, 7, 8 and 3 more".
std::string some_of(const std::vector<Rank>& group) {
  constexpr std::size_t most_listed = 8;
  std::string text;
  for (std::size_t i = 0; i < std::min(group.size(), most_listed); ++i)
    text += fmt::format("{}{}", i > 0 ? ", " : "", index(group[i]));
  return group.size() > most_listed ? fmt::format("{} and {} more", text, group.size() - most_listed) : text;
}

}  // namespace

CollectivePlan plan_by(Algorithm algorithm, const Cluster& cluster, const ProtocolOverheads& overheads,
                       const CollectiveRequest& request) {
  using Make = CollectivePlan (*)(const Cluster&, const ProtocolOverheads&, const CollectiveRequest&);
  constexpr std::array<std::pair<Algorithm, Make>, 12> makers{
      {{Algorithm::ring, ring},
       {Algorithm::chain, chain},
       {Algorithm::tree, tree},
       {Algorithm::hierarchical, hierarchical},
       {Algorithm::hierarchical_tree, hierarchical_tree},
       {Algorithm::torus2d, torus2d},
       {Algorithm::halving_doubling, halving_doubling},
       {Algorithm::recursive_doubling, recursive_doubling},
       {Algorithm::binomial, binomial},
       {Algorithm::scatter_allgather, scatter_allgather},
       {Algorithm::nvls, nvls},
       {Algorithm::direct, direct}}};
  static_assert(config::are_all_named<Algorithm>() &&
                makers.size() + 1 == config::Names<Algorithm>::table.size());  // all but auto
  const auto* maker = std::ranges::find(makers, algorithm, &std::pair<Algorithm, Make>::first);
  if (maker == makers.end()) throw std::logic_error("auto is not an algorithm");
  return maker->second(cluster, overheads, request);
}

Bandwidth rate_alone(const Cluster& cluster, const Pattern& pattern) {
  Bandwidth rate{std::numeric_limits<double>::infinity()};
  for (const LinkUse& use : link_uses(pattern))
    rate = std::min(rate, capacity(cluster, use.link) / use.times);
  return rate;
}

Planner::Planner(const Cluster& cluster, CollectiveSoftware software, PlannerRequest request)
    : cluster_(cluster), software_(software), request_(std::move(request)) {
  RankGroups groups = std::exchange(request_.groups, {});
  const std::vector<Rank>& first = groups.front();
  const bool is_one = groups.size() == 1;
  assert(first.size() >= 2);
  assert(std::ranges::all_of(groups, [&](const auto& group) { return group.size() == first.size(); }));
  assert(!request_.one_way || (request_.operation == Operation::send_recv && first.size() == 2));
  if (has_root(request_.operation))
    root_place_ = static_cast<std::size_t>(std::ranges::find(first, request_.root) - first.begin());
  participants_ = static_cast<int>(groups.size() * first.size());
  bounding_ = bounding_groups(cluster, groups);
  if (is_one || is_direct_only(request_.operation) || !depends_on_places(request_.algorithm)) {
    kinds_.push_back({.groups = std::move(groups), .shape = {}});
  } else {
    for (RankGroups& alike : group_kinds(cluster, std::move(groups)))
      kinds_.push_back({.groups = std::move(alike), .shape = {}});
  }
  const bool is_free = request_.algorithm == Algorithm::automatic || !request_.protocol;
  if (is_direct_only(request_.operation) && ll_counts_channels(software_.version))
    message_channels_ = least_channels(cluster, kinds_.front().groups);
  if (is_direct_only(request_.operation) || !is_free) return;
  for (Kind& kind : kinds_) {
    const std::vector<Rank>& group = kind.groups.front();
    const std::vector<Channel> channels = sample_channels(cluster, group);
    kind.has_ring = !channels.front().is_chain;
    if (software_.version == NcclVersion::none) continue;
    kind.shape = nccl_shape(cluster, software_.version, software_.compute_capability, request_.operation,
                            group, channels);
    kind.shape->is_rccl = software_.library == CommunicationLibrary::rccl;
  }
}

Planner::Choice Planner::choose(const Kind& kind, Bytes size) const {
  Choice choice{request_.algorithm, request_.protocol.value_or(Protocol::simple)};
  const bool is_free = choice.algorithm == Algorithm::automatic;
  if (is_direct_only(request_.operation)) {
    if (is_free) choice.algorithm = Algorithm::direct;
    if (!request_.protocol) {
      const bool is_whole = request_.operation == Operation::send_recv;
      const auto receivers = is_whole ? 1.0 : static_cast<double>(kind.groups.front().size());
      choice.protocol = nccl_message_protocol(software_.version, size / receivers, message_channels_);
    }
    return choice;
  }
  // Algorithms unknown to NCCL move whole chunks, as MPI does: NCCL's tables do not cover them.
  if (kind.shape && is_known_to_nccl(choice.algorithm) && (is_free || !request_.protocol)) {
    const NcclChoice nccl = nccl_choice(*kind.shape, size, demanded_of_nccl());
    if (is_free) choice.algorithm = nccl.algorithm;
    if (!request_.protocol) choice.protocol = nccl.protocol;
    if (choice.algorithm == Algorithm::nvls && choice.protocol != Protocol::simple)
      choice.algorithm = Algorithm::ring;
  }
  if (!is_free) return choice;
  if (is_of_hosts(software_.library))
    choice.algorithm = host_choice(software_.library, request_.operation,
                                   static_cast<int>(kind.groups.front().size()), size);
  if (choice.algorithm == Algorithm::automatic) choice.algorithm = Algorithm::ring;
  // If NVLinks form no ring, NCCL runs along a chain of them; operations that a chain cannot carry out go
  // directly between all pairs.
  if (!kind.has_ring && choice.algorithm == Algorithm::ring)
    choice.algorithm = runs_on_chain(request_.operation) ? Algorithm::chain : Algorithm::direct;
  return choice;
}

std::optional<Algorithm> Planner::demanded_of_nccl() const {
  if (request_.algorithm == Algorithm::automatic) return std::nullopt;
  return request_.algorithm == Algorithm::ring ? Algorithm::ring : Algorithm::tree;
}

CollectivePlan Planner::plan_of(Choice choice, const RankGroups& groups, bool is_all) const {
  CollectivePlan plan = plan_by(choice.algorithm, cluster_, software_.overheads,
                                {.operation = request_.operation,
                                 .group = groups.front(),
                                 .root = groups.front()[root_place_],
                                 .protocol = choice.protocol,
                                 .concurrent = std::span(groups).subspan(1),
                                 .one_way = request_.one_way,
                                 .grid = request_.grid,
                                 .keeps_paces = !is_all});
  if (auto note = note_on_latencies(cluster_, software_.overheads, groups.front()))
    plan.notes.push_back(*std::move(note));
  return plan;
}

std::vector<Planner::Made> Planner::make(const std::vector<Choice>& choices) const {
  struct Part {
    Choice choice;
    RankGroups groups;
  };
  std::vector<Part> parts;
  for (std::size_t i = 0; i < kinds_.size(); ++i) {
    const auto same = std::ranges::find(parts, choices[i], &Part::choice);
    if (!depends_on_places(choices[i].algorithm) && same != parts.end()) {
      same->groups.insert(same->groups.end(), kinds_[i].groups.begin(), kinds_[i].groups.end());
    } else {
      parts.push_back({choices[i], kinds_[i].groups});
    }
  }
  struct Alike {
    std::vector<CollectivePlan> plans;
    std::vector<Rank> example;
  };
  std::vector<Alike> all;
  for (const Part& part : parts) {
    CollectivePlan plan = plan_of(part.choice, part.groups, parts.size() == 1);
    const auto found =
        std::ranges::find_if(all, [&](const Alike& one) { return can_unite(one.plans.front(), plan); });
    Alike& alike = found != all.end() ? *found : all.emplace_back();
    if (alike.plans.empty()) alike.example = part.groups.front();
    alike.plans.push_back(std::move(plan));
  }
  std::vector<Made> result;
  for (Alike& alike : all) {
    Made& made = result.emplace_back();
    made.plan = unite(cluster_, std::move(alike.plans));
    made.plan.participants = participants_;
    made.plan.paces.clear();
    if (all.size() == 1) break;
    made.rates = rates_of(cluster_, made.plan.patterns);
    const auto size = static_cast<int>(alike.example.size());
    made.plan.notes.push_back(
        fmt::format("the {} groups of {} ranks in {} lie on their nodes in ways that take different steps; "
                    "{} of them, which "
                    "are the slowest (such as ranks {}), stand for all",
                    participants_ / size, size, config::name_of(request_.operation), made.plan.groups,
                    some_of(alike.example)));
  }
  return result;
}

int Planner::known_pattern(const std::vector<Choice>& choices) const {
  // Another protocol of the same algorithm sends over the same edges at another pace.
  const auto same = std::ranges::find_if(made_, [&](const auto& other) {
    return other.second.size() == 1 && other.second.front().first_pattern >= 0 &&
           std::ranges::equal(other.first, choices, {}, &Choice::algorithm, &Choice::algorithm);
  });
  return same == made_.end() ? -1 : same->second.front().first_pattern;
}

std::vector<Planner::Made>& Planner::made_for(Bytes size) {
  std::vector<Choice> choices;
  for (const Kind& kind : kinds_) {
    choices.push_back(choose(kind, size));
  }
  auto found = made_.find(choices);
  if (found == made_.end()) {
    std::vector<Made> made = make(choices);
    if (made.size() == 1) made.front().first_pattern = known_pattern(choices);
    found = made_.emplace(std::move(choices), std::move(made)).first;
  }
  return found->second;
}

const Planner::Made& Planner::slowest(Bytes size, std::vector<Pattern>& patterns) {
  std::vector<Made>& made = made_for(size);
  Made* slowest = &made.front();
  for (Made& other : made) {
    if (made.size() > 1 &&
        time_alone(other.plan, other.rates, size) > time_alone(slowest->plan, slowest->rates, size))
      slowest = &other;
  }
  if (slowest->first_pattern < 0) {
    slowest->first_pattern = static_cast<int>(patterns.size());
    std::ranges::move(slowest->plan.patterns, std::back_inserter(patterns));
  }
  slowest->plan.patterns.clear();
  return *slowest;
}

Collective Planner::collective(Bytes size, std::vector<Pattern>& patterns) {
  const Made& made = slowest(size, patterns);
  return trainyard::collective(made.plan, size, made.first_pattern);
}

const CollectivePlan& Planner::plan(Bytes size, std::vector<Pattern>& patterns) {
  return slowest(size, patterns).plan;
}

Seconds Planner::bound(Bytes size) {
  const auto [found, is_new] = bounds_.try_emplace(size);
  if (is_new) {
    std::vector<BoundingGroup> groups = bounding_;
    // Groups for which the slowest stand do not share links with others.
    if (made_for(size).size() > 1)
      std::ranges::for_each(groups, [](BoundingGroup& group) { group.together = 1; });
    found->second = collective_bound(cluster_, software_.overheads, request_.operation, groups, size);
  }
  return found->second;
}

}  // namespace trainyard
