#include "explain/network_limit.hpp"

#include "engine/makespan.hpp"
#include "explain/changes.hpp"
#include "explain/explain_step.hpp"
#include "units/ids.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <utility>

namespace trainyard {

namespace {

/// A shorter gain is one of rounding, or of collectives that hardly matter.
constexpr double least_gain_of_step = 1e-3;

bool has(const std::vector<NetworkPart>& parts, NetworkPart part) {
  return std::ranges::find(parts, part) != parts.end();
}

/// The rates of a phase's edges, by the parts of the network that allow them.
struct PhaseRates {
  std::array<Bandwidth, network_parts> links{};  ///< that the links of each part allow
  Bandwidth limit;                               ///< of one connection
  std::optional<NetworkPart> holder;             ///< the part that sets this limit
};

/// With these parts twice as fast.
Bandwidth rate_of(const PhaseRates& rates, const std::vector<NetworkPart>& faster) {
  const auto factor = [&](NetworkPart part) { return has(faster, part) ? times_more : 1.0; };
  Bandwidth rate = (rates.holder ? factor(*rates.holder) : 1.0) * rates.limit;
  for (int part = 0; part < network_parts; ++part)
    rate = std::min(rate, factor(static_cast<NetworkPart>(part)) * rates.links[at(part)]);
  return rate;
}

/// A collective of the step with its phases.
struct LimitedCollective {
  CollectivePace pace;
  std::vector<PhaseRates> phases;
};

/// The rates that the links of each part allow to the edges of a pattern.
std::array<Bandwidth, network_parts> rates_of(const ReplayedStep& step, int pattern) {
  std::array<Bandwidth, network_parts> rates{};
  rates.fill(Bandwidth{std::numeric_limits<double>::infinity()});
  const TaskGraph& graph = step.plan.graph;
  for_each_use(uses_of(graph.patterns[at(pattern)]), graph.links,
               [&](LinkId link, int times, Bandwidth capacity, std::uint32_t) {
                 Bandwidth& least = rates[at(static_cast<int>(part_of(step.cluster, link)))];
                 least = std::min(least, capacity / static_cast<double>(times));
               });
  return rates;
}

std::vector<LimitedCollective> collectives_of(const ReplayedStep& step) {
  std::vector<LimitedCollective> all;
  CollectivePaces paces(step);
  std::map<int, std::array<Bandwidth, network_parts>> rates;  // by pattern: most have that of others
  const std::vector<Collective>& collectives = step.plan.graph.collectives;
  for (int number = 0; number < static_cast<int>(collectives.size()); ++number) {
    LimitedCollective one{.pace = paces.of(number), .phases = {}};
    for (const CollectivePhase& phase : collectives[at(number)].phases) {
      const auto [found, is_new] = rates.try_emplace(phase.pattern);
      if (is_new) found->second = rates_of(step, phase.pattern);
      one.phases.push_back(
          {.links = found->second, .limit = phase.limit, .holder = paces.edges(number, phase).of_connection});
    }
    all.push_back(std::move(one));
  }
  return all;
}

class LimitOfStep {
public:
  explicit LimitOfStep(const ReplayedStep& step)
      : graph_(step.plan.graph), all_(collectives_of(step)), makespan_(makespan({}, 1)) {}

  /// By how much the step is shorter with these parts twice as fast.
  [[nodiscard]] Seconds gain(const std::vector<NetworkPart>& faster) const {
    const auto is_used = [&](const LimitedCollective& one) {
      return std::ranges::any_of(
          one.phases, [&](const PhaseRates& phase) { return rate_of(phase, faster) > rate_of(phase, {}); });
    };
    return std::ranges::any_of(all_, is_used) ? makespan_ - makespan(faster, 1) : Seconds{};
  }

  [[nodiscard]] Seconds latency_gain() const { return makespan_ - makespan({}, 1 / times_more); }
  [[nodiscard]] Seconds least() const { return least_gain_of_step * makespan_; }

  /// The pace of the collective that sends for the longest time, in a step, held by one of these parts; of
  /// all collectives if there are none.
  [[nodiscard]] CollectivePace longest(const std::vector<NetworkPart>& parts) const {
    const LimitedCollective* longest = nullptr;
    Seconds most;
    for (const LimitedCollective& one : all_) {
      if (!parts.empty() && !(one.pace.part && has(parts, *one.pace.part))) continue;
      const Seconds time = graph_.collectives[at(one.pace.collective)].rounds *
                           (parts.empty() ? one.pace.alone() : one.pace.transfer);
      if (longest != nullptr && time <= most) continue;
      longest = &one;
      most = time;
    }
    return longest == nullptr ? this->longest({}) : longest->pace;
  }

private:
  [[nodiscard]] Seconds makespan(const std::vector<NetworkPart>& faster, double latencies) const {
    StepVariant variant;
    for (const LimitedCollective& one : all_) {
      const Collective& collective = graph_.collectives[at(one.pace.collective)];
      Seconds time = latencies * collective.overhead;
      for (std::size_t i = 0; i < one.phases.size(); ++i) {
        CollectivePhase phase = collective.phases[i];
        phase.latency = latencies * phase.latency;
        time += closed_form(phase, rate_of(one.phases[i], faster));
      }
      variant.collectives.push_back(time);
    }
    return closed_makespan(graph_, variant);
  }

  const TaskGraph& graph_;
  std::vector<LimitedCollective> all_;
  Seconds makespan_;
};

}  // namespace

std::optional<NetworkLimit> network_limit(const Run& run) {
  if (updates_of(run) != nullptr || run.ranks == 1 || step_of(run).plan.graph.collectives.empty())
    return std::nullopt;
  const ReplayedStep step = replayed(run);
  const LimitOfStep limit(step);
  NetworkLimit found{.pace = {}, .faster = {}, .gain = {}, .latency_gain = limit.latency_gain()};
  Seconds alone;  // the largest gain of one part
  for (WhatIf& change : machine_changes(run.experiment)) {
    if (change.parts.empty() || !change.reason.empty()) continue;
    const Seconds gain = limit.gain(change.parts);
    if (!change.are_several) alone = std::max(alone, gain);
    // Pairs come last: several parts limit together only where none of them helps much alone.
    if (gain < limit.least() || gain <= found.gain || (change.are_several && 2 * alone > gain)) continue;
    found.gain = gain;
    found.faster = std::move(change);
  }
  found.is_latency = found.latency_gain > found.gain;
  found.pace = limit.longest(found.faster ? found.faster->parts : std::vector<NetworkPart>{});
  return found;
}

}  // namespace trainyard
