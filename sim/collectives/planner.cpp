#include "collectives/planner.hpp"

#include "collectives/algorithm_plans.hpp"
#include "collectives/nccl_shape.hpp"
#include "collectives/ring.hpp"
#include "collectives/torus2d.hpp"

#include <algorithm>
#include <cassert>
#include <iterator>
#include <stdexcept>

namespace trainyard {

namespace {

/// Operations with only one algorithm.
bool is_direct_only(Operation operation) {
  return operation == Operation::all_to_all || operation == Operation::send_recv;
}

/// NCCL counts a chain as a tree.
bool is_known_to_nccl(Algorithm algorithm) {
  return algorithm == Algorithm::automatic || algorithm == Algorithm::ring || algorithm == Algorithm::tree ||
         algorithm == Algorithm::chain;
}

bool runs_on_chain(Operation operation) { return operation == Operation::all_reduce || has_root(operation); }

}  // namespace

CollectivePlan plan_by(Algorithm algorithm, const Cluster& cluster, const ProtocolOverheads& overheads,
                       const CollectiveRequest& request) {
  using Make = CollectivePlan (*)(const Cluster&, const ProtocolOverheads&, const CollectiveRequest&);
  constexpr std::array<std::pair<Algorithm, Make>, 9> makers{
      {{Algorithm::ring, ring},
       {Algorithm::chain, chain},
       {Algorithm::tree, tree},
       {Algorithm::hierarchical, hierarchical},
       {Algorithm::hierarchical_tree, hierarchical_tree},
       {Algorithm::torus2d, torus2d},
       {Algorithm::halving_doubling, halving_doubling},
       {Algorithm::recursive_doubling, recursive_doubling},
       {Algorithm::direct, direct}}};
  const auto* maker = std::ranges::find(makers, algorithm, &std::pair<Algorithm, Make>::first);
  if (maker == makers.end()) throw std::logic_error("auto is not an algorithm");
  return maker->second(cluster, overheads, request);
}

Planner::Planner(const Cluster& cluster, CollectiveSoftware software, PlannerRequest request)
    : cluster_(cluster), software_(software), request_(std::move(request)) {
  assert(request_.group.size() >= 2);
  const bool is_free = request_.algorithm == Algorithm::automatic || !request_.protocol;
  if (is_direct_only(request_.operation) || !is_free) return;
  const std::vector<Channel> channels = ring_channels(cluster, request_.group);
  has_ring_ = !channels.front().is_chain;
  if (software_.version != NcclVersion::none)
    shape_ = nccl_shape(cluster, software_.version, software_.compute_capability, request_.operation,
                        request_.group, channels);
}

Planner::Choice Planner::choose(Bytes size) const {
  Choice choice{request_.algorithm, request_.protocol.value_or(Protocol::simple)};
  const bool is_free = choice.algorithm == Algorithm::automatic;
  if (is_direct_only(request_.operation)) {
    if (is_free) choice.algorithm = Algorithm::direct;
    return choice;
  }
  // Algorithms unknown to NCCL move whole chunks, as MPI does: NCCL's tables do not cover them.
  if (shape_ && is_known_to_nccl(choice.algorithm) && (is_free || !request_.protocol)) {
    const NcclChoice nccl = nccl_choice(*shape_, size, demanded_of_nccl());
    if (is_free) choice.algorithm = nccl.algorithm;
    if (!request_.protocol) choice.protocol = nccl.protocol;
  }
  if (!is_free) return choice;
  if (choice.algorithm == Algorithm::automatic) choice.algorithm = Algorithm::ring;
  // If NVLinks form no ring, NCCL runs along a chain of them; operations that a chain cannot carry out go
  // directly between all pairs.
  if (!has_ring_) choice.algorithm = runs_on_chain(request_.operation) ? Algorithm::chain : Algorithm::direct;
  return choice;
}

UnalignedRounds Planner::unaligned(Choice choice, Bytes size) const {
  if (request_.parts == PartAlignment::whole || choice.algorithm != Algorithm::ring ||
      choice.protocol == Protocol::ll)
    return UnalignedRounds::none;
  const auto ranks = static_cast<int>(request_.group.size());
  // LL128 writes the parts, or reads them, in every round and never from another GPU's buffer.
  const bool is_direct = request_.gpus_per_process >= ranks && choice.protocol == Protocol::simple;
  return unaligned_rounds(software_.version, request_.operation, ranks, size, is_direct);
}

std::optional<Algorithm> Planner::demanded_of_nccl() const {
  if (request_.algorithm == Algorithm::automatic) return std::nullopt;
  return request_.algorithm == Algorithm::ring ? Algorithm::ring : Algorithm::tree;
}

const Planner::Made& Planner::make(Bytes size, std::vector<Pattern>& patterns) {
  Choice choice = choose(size);
  choice.unaligned = unaligned(choice, size);
  if (const auto found = made_.find(choice); found != made_.end()) return found->second;
  Made made{plan_by(choice.algorithm, cluster_, software_.overheads,
                    {.operation = request_.operation,
                     .group = request_.group,
                     .root = request_.root,
                     .protocol = choice.protocol,
                     .unaligned = choice.unaligned}),
            static_cast<int>(patterns.size())};
  if (auto note = note_on_latencies(cluster_, software_.overheads, request_.group))
    made.plan.notes.push_back(*std::move(note));
  // Another protocol of the same algorithm sends over the same edges at another pace.
  const auto same = std::find_if(made_.begin(), made_.end(), [&](const auto& other) {
    return other.first.algorithm == choice.algorithm;
  });
  if (same != made_.end()) {
    made.first_pattern = same->second.first_pattern;
  } else {
    std::move(made.plan.patterns.begin(), made.plan.patterns.end(), std::back_inserter(patterns));
  }
  made.plan.patterns.clear();
  return made_.emplace(choice, std::move(made)).first->second;
}

Collective Planner::collective(Bytes size, std::vector<Pattern>& patterns) {
  const Made& made = make(size, patterns);
  return trainyard::collective(made.plan, size, made.first_pattern);
}

const CollectivePlan& Planner::plan(Bytes size, std::vector<Pattern>& patterns) {
  return make(size, patterns).plan;
}

}  // namespace trainyard
