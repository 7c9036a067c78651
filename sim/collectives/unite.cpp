#include "collectives/unite.hpp"

#include <algorithm>
#include <cassert>
#include <utility>

namespace trainyard {

namespace {

void append(Pattern& pattern, const Pattern& other) {
  assert(pattern.uses.empty() && other.uses.empty());
  const auto first_edge = static_cast<std::int32_t>(pattern.edges.size());
  const auto first_link = static_cast<std::uint32_t>(pattern.links.size());
  const auto first_previous = static_cast<std::uint32_t>(pattern.previous.size());
  pattern.edges.insert(pattern.edges.end(), other.edges.begin(), other.edges.end());
  pattern.links.insert(pattern.links.end(), other.links.begin(), other.links.end());
  for (std::size_t edge = 0; edge < other.edges.size(); ++edge) {
    pattern.offsets.push_back(first_link + other.offsets[edge + 1]);
    pattern.previous_offsets.push_back(first_previous + other.previous_offsets[edge + 1]);
  }
  for (const std::int32_t before : other.previous) pattern.previous.push_back(first_edge + before);
}

PatternPace united(const PatternPace& one, const PatternPace& other) {
  PatternPace pace{.is_held = one.is_held || other.is_held,
                   .connections = std::min(one.connections, other.connections)};
  pace.links.reserve(std::max(one.links.size(), other.links.size()));
  auto a = one.links.begin();
  auto b = other.links.begin();
  while (a != one.links.end() || b != other.links.end()) {
    if (b == other.links.end() || (a != one.links.end() && a->link < b->link)) {
      pace.links.push_back(*a++);
    } else if (a == one.links.end() || b->link < a->link) {
      pace.links.push_back(*b++);
    } else {
      pace.links.push_back({a->link, a->times + b->times, std::min(a->efficiency, b->efficiency)});
      ++a;
      ++b;
    }
  }
  return pace;
}

Bandwidth rate_of(const Cluster& cluster, const PatternPace& pace) {
  Bandwidth rate = pace.connections;
  for (const PatternPace::LinkPace& use : pace.links)
    rate = std::min(rate, capacity(cluster, use.link) / use.times * use.efficiency);
  return rate;
}

}  // namespace

bool can_unite(const CollectivePlan& one, const CollectivePlan& other) {
  const auto agree = [](const PhasePlan& a, const PhasePlan& b) {
    return a.pattern == b.pattern && a.messages == b.messages && a.share == b.share && a.hops == b.hops &&
           a.sums == b.sums;
  };
  return one.algorithm == other.algorithm && one.protocol == other.protocol &&
         one.patterns.size() == other.patterns.size() && std::ranges::equal(one.phases, other.phases, agree);
}

CollectivePlan unite(const Cluster& cluster, std::vector<CollectivePlan> plans) {
  CollectivePlan result = std::move(plans.front());
  if (plans.size() == 1) return result;
  for (std::size_t i = 1; i < plans.size(); ++i) {
    const CollectivePlan& plan = plans[i];
    assert(can_unite(result, plan));
    for (std::size_t pattern = 0; pattern < plan.patterns.size(); ++pattern) {
      append(result.patterns[pattern], plan.patterns[pattern]);
      result.paces[pattern] = united(result.paces[pattern], plan.paces[pattern]);
    }
    for (std::size_t phase = 0; phase < plan.phases.size(); ++phase) {
      PhasePlan& all = result.phases[phase];
      all.latency = std::max(all.latency, plan.phases[phase].latency);
      all.startup = std::max(all.startup, plan.phases[phase].startup);
    }
    result.participants += plan.participants;
    result.groups += plan.groups;
    for (const std::string& note : plan.notes) {
      if (std::ranges::find(result.notes, note) == result.notes.end()) result.notes.push_back(note);
    }
  }
  for (PhasePlan& phase : result.phases) {
    const PatternPace& pace = result.paces[at(phase.pattern)];
    if (phase.hops > 0 || pace.is_held) phase.limit = rate_of(cluster, pace);
  }
  return result;
}

}  // namespace trainyard
