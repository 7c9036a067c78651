#include "published/curve_model.hpp"

#include "collectives/algorithm_plans.hpp"
#include "collectives/nccl_shape.hpp"
#include "collectives/ring.hpp"
#include "experiment/collective_software.hpp"
#include "platform/load.hpp"
#include "schedule/step_plan.hpp"

#include <algorithm>
#include <utility>

namespace trainyard {
namespace {

constexpr std::size_t most_known = 64;

/// As plan_by(), without the search for rings, which the curve has already done.
CollectivePlan plan_of(const Cluster& cluster, const ProtocolOverheads& overheads,
                       const CollectiveRequest& request, Algorithm algorithm,
                       const std::vector<Channel>& channels) {
  if (algorithm == Algorithm::chain) return chain(cluster, overheads, request, channels);
  if (algorithm == Algorithm::ring) return ring(cluster, overheads, request, channels);
  return plan_by(algorithm, cluster, overheads, request);
}

/// The bandwidth of each phase's edges when all send at once.
std::vector<Bandwidth> lockstep_rates(const Cluster& cluster, const CollectivePlan& plan) {
  const std::vector<Bandwidth> links = capacities(cluster);
  std::vector<Bandwidth> rates;
  for (const PhasePlan& phase : plan.phases) {
    const std::vector<LinkUse> uses = link_uses(plan.patterns[static_cast<std::size_t>(phase.pattern)]);
    rates.push_back(std::min(phase.limit, lockstep_rate(uses, links)));
  }
  return rates;
}

}  // namespace

Cluster cluster_of(const config::Catalogue& catalogue, const CollectiveCurve& curve) {
  config::Document document =
      config::load(config::find(catalogue, config::Kind::platform, curve.machine->platform));
  for (const auto& [key, value] : curve.machine->set) config::set(document, key, value, "platform");
  return make_cluster(load_platform(document), curve.nodes, curve.gpus, curve.gpus_per_node);
}

CurveModel::CurveModel(const config::Catalogue& catalogue, CollectiveCurve curve)
    : curve_(std::move(curve)), cluster_(cluster_of(catalogue, curve_)) {
  group_ = all_ranks(cluster_);
  channels_ = ring_channels(cluster_, group_);
  // NCCL's choices here do not depend on these constants.
  const CollectiveSoftware software =
      collective_software(catalogue, Protocols{}, curve_.nccl, cluster_.platform);
  Planner planner(cluster_, software,
                  {.operation = curve_.operation,
                   .groups = {group_},
                   .root = group_.front(),
                   .algorithm = curve_.algorithm,
                   .protocol = curve_.protocol});
  std::vector<Pattern> patterns;
  for (const CurvePoint& point : curve_.points) {
    const CollectivePlan& plan = planner.plan(point.size(), patterns);
    ways_.push_back({plan.algorithm, plan.protocol});
  }
  for (const Channel& channel : channels_) {
    for (std::size_t i = 0; i < channel.order.size(); ++i) {
      const Rank next = channel.order[(i + 1) % channel.order.size()];
      if (channel.is_chain && i + 1 == channel.order.size()) continue;
      types_.push_back(route(cluster_, channel.order[i], next, channel.nic).type);
    }
  }
  worst_ = types_.front();
  for (const PathType type : types_) worst_ = worse(worst_, type);
  std::ranges::sort(types_);
  types_.erase(std::unique(types_.begin(), types_.end()), types_.end());

  const CollectiveRequest request{
      .operation = curve_.operation, .group = group_, .root = group_.front(), .protocol = Protocol::simple};
  const Algorithm algorithm = channels_.front().is_chain ? Algorithm::chain : Algorithm::ring;
  ring_rate_ =
      lockstep_rates(cluster_, plan_of(cluster_, no_overheads(), request, algorithm, channels_)).front();
  const NcclShape shape =
      nccl_shape(cluster_, curve_.nccl, software.compute_capability, curve_.operation, group_, channels_);
  const NcclChannels planned = nccl_channels(curve_.nccl, 1, worst_, shape.compute_capability);
  const double channels_per_ring =
      static_cast<double>(shape.channels) / static_cast<double>(channels_.size());
  planned_rate_ =
      shape.nodes > 1 ? shape.between * channels_per_ring : planned.each * static_cast<double>(planned.count);
}

void CurveModel::append_turns(const BetweenOverheads& between, std::vector<double>& values) const {
  if (curve_.operation == Operation::all_to_all)
    values.insert(values.end(), {between.base.si(), between.peer.si(), between.efficiency});
  for (const Way& way : ways_) {
    const auto protocol = static_cast<std::size_t>(way.protocol);
    if (way.algorithm == Algorithm::ring) values.push_back(between.turn[protocol].si());
    if (way.algorithm != Algorithm::tree) continue;
    values.insert(values.end(), {between.tree_step[protocol].si(), between.chunk[protocol].si(),
                                 between.channel[protocol].si(), between.of_two});
  }
}

bool CurveModel::takes_turns(const Protocols& constants) const {
  return cluster_.nodes > 1 && overheads_of(constants, curve_.nccl, cluster_.platform).between.has_value();
}

std::vector<double> CurveModel::relevant(const ProtocolOverheads& overheads) const {
  std::vector<double> values{overheads.launch.si()};
  const auto is_nvls = [](const Way& way) { return way.algorithm == Algorithm::nvls; };
  if (std::ranges::any_of(ways_, is_nvls))
    values.insert(values.end(), {overheads.nvls_step.si(), overheads.nvls_efficiency});
  if (curve_.operation == Operation::all_to_all && overheads.pairs) {
    const PairOverheads& pairs = *overheads.pairs;
    values.insert(values.end(), {pairs.base_ll.si(), pairs.base_simple.si(), pairs.channel_ll.si(),
                                 pairs.channel_simple.si(), pairs.efficiency, pairs.startup});
  }
  if (overheads.between && cluster_.nodes > 1) append_turns(*overheads.between, values);
  for (const Way& way : ways_) {
    const auto protocol = static_cast<std::size_t>(way.protocol);
    values.push_back(overheads.base[protocol].si());
    for (const PathType type : types_) {
      const auto row = static_cast<std::size_t>(type);
      values.insert(values.end(), {overheads.step[row][protocol].si(), overheads.efficiency[row][protocol],
                                   overheads.startup[row]});
    }
  }
  return values;
}

std::vector<Seconds> CurveModel::compute(const ProtocolOverheads& overheads, double rate_factor) const {
  std::map<Way, CollectivePlan> plans;
  std::vector<Seconds> times;
  for (std::size_t i = 0; i < ways_.size(); ++i) {
    const auto [algorithm, protocol] = ways_[i];
    CollectivePlan& plan = plans[ways_[i]];
    if (plan.phases.empty()) {
      const CollectiveRequest request{
          .operation = curve_.operation, .group = group_, .root = group_.front(), .protocol = protocol};
      plan = plan_of(cluster_, overheads, request, algorithm, channels_);
      const std::vector<Bandwidth> rates = lockstep_rates(cluster_, plan);
      for (std::size_t phase = 0; phase < rates.size(); ++phase) {
        plan.phases[phase].limit = rates[phase] * rate_factor;
        plan.phases[phase].ring_turns.rate = plan.phases[phase].ring_turns.rate * rate_factor;
      }
    }
    const Collective collective = trainyard::collective(plan, curve_.points[i].size(), 0);
    Seconds time = collective.overhead;
    for (const CollectivePhase& phase : collective.phases) time += closed_form(phase, phase.limit);
    times.push_back(with_launches(time, overheads.launch * curve_.gpus_per_process) + curve_.call);
  }
  return times;
}

const std::vector<Seconds>& CurveModel::times(const Protocols& constants, double rate_factor) {
  const ProtocolOverheads overheads = overheads_of(constants, curve_.nccl, cluster_.platform);
  std::vector<double> key = relevant(overheads);
  key.push_back(rate_factor);
  if (const auto found = known_.find(key); found != known_.end()) return found->second;
  if (known_.size() >= most_known) known_.clear();
  return known_.emplace(std::move(key), compute(overheads, rate_factor)).first->second;
}

}  // namespace trainyard
