#include "collectives/collective.hpp"

#include <algorithm>

namespace trainyard {

void Pattern::add_edge(Edge edge, std::span<const LinkId> route, std::span<const std::int32_t> passes_on) {
  edges.push_back(edge);
  links.insert(links.end(), route.begin(), route.end());
  offsets.push_back(static_cast<std::uint32_t>(links.size()));
  previous.insert(previous.end(), passes_on.begin(), passes_on.end());
  previous_offsets.push_back(static_cast<std::uint32_t>(previous.size()));
}

std::span<const LinkId> Pattern::route(std::size_t edge) const {
  return std::span(links).subspan(offsets[edge], offsets[edge + 1] - offsets[edge]);
}

std::span<const std::int32_t> Pattern::passed_on_by(std::size_t edge) const {
  return std::span(previous).subspan(previous_offsets[edge],
                                     previous_offsets[edge + 1] - previous_offsets[edge]);
}

std::int64_t Pattern::edge_count() const { return static_cast<std::int64_t>(edges.size()) + summed_edges; }

const Pattern& with_edges(const Pattern& pattern) { return pattern.source ? (*pattern.source)() : pattern; }

std::vector<LinkUse> link_uses(const Pattern& pattern) {
  if (pattern.counted.empty()) return pattern.uses.empty() ? link_uses(pattern.links) : pattern.uses;
  std::vector<LinkUse> uses;
  pattern.counted.for_each_part([&](std::uint32_t link, std::span<const int> block, std::uint32_t repeats) {
    for (std::uint32_t i = 0; i < repeats; ++i) {
      for (const int times : block) {
        if (times > 0) uses.push_back({LinkId{link}, times});
        ++link;
      }
    }
  });
  return uses;
}

std::vector<LinkUse> link_uses(std::span<const LinkId> links) {
  if (links.empty()) return {};
  // Counted by link number, not sorted: patterns of many ranks use most links between the first and the last.
  const auto [first, last] = std::ranges::minmax(links, {}, [](LinkId link) { return index(link); });
  std::vector<int> times(index(last) - index(first) + 1, 0);
  for (const LinkId link : links) ++times[index(link) - index(first)];
  std::vector<LinkUse> uses;
  uses.reserve(static_cast<std::size_t>(std::ranges::count_if(times, [](int each) { return each > 0; })));
  for (std::uint32_t i = 0; i < times.size(); ++i) {
    if (times[i] > 0) uses.push_back({LinkId{index(first) + i}, times[i]});
  }
  return uses;
}

Bandwidth lockstep_rate(std::span<const LinkUse> uses, const LinkValues<Bandwidth>& capacities) {
  Bandwidth rate{std::numeric_limits<double>::infinity()};
  for (const LinkUse& use : uses) rate = std::min(rate, capacities[index(use.link)] / use.times);
  return rate;
}

LinkUses uses_of(const Pattern& pattern) {
  if (pattern.counted.empty()) return {.listed = link_uses(pattern)};
  return {.counted = &pattern.counted};
}

Bandwidth lockstep_rate(const LinkUses& uses, const LinkValues<Bandwidth>& capacities) {
  Bandwidth rate{std::numeric_limits<double>::infinity()};
  for_each_use(uses, capacities, [&](LinkId, int times, Bandwidth capacity, std::uint32_t) {
    rate = std::min(rate, capacity / times);
  });
  return rate;
}

bool share_links(const LinkUses& one, const LinkUses& other) {
  if (one.counted != nullptr && other.counted != nullptr) {
    bool found = false;
    one.counted->for_each_part_with(*other.counted, [&](std::uint32_t, std::span<const int> times,
                                                        std::span<const int> other_times, std::uint32_t) {
      for (std::size_t i = 0; i < times.size(); ++i) found = found || (times[i] > 0 && other_times[i] > 0);
    });
    return found;
  }
  if (one.counted != nullptr) return share_links(other, one);
  if (other.counted != nullptr) {
    return std::ranges::any_of(one.listed,
                               [&](const LinkUse& use) { return (*other.counted)[index(use.link)] > 0; });
  }
  // Both in ascending order of links.
  auto mine = one.listed.begin();
  for (const LinkUse& use : other.listed) {
    mine = std::ranges::lower_bound(mine, one.listed.end(), use.link, {}, &LinkUse::link);
    if (mine == one.listed.end()) return false;
    if (mine->link == use.link) return true;
  }
  return false;
}

double total_uses(const LinkUses& uses) {
  double sum = 0;
  for (const LinkUse& use : uses.listed) sum += use.times;
  if (uses.counted == nullptr) return sum;
  uses.counted->for_each_part([&](std::uint32_t, std::span<const int> block, std::uint32_t repeats) {
    double of_block = 0;
    for (const int times : block) of_block += times;
    sum += of_block * repeats;
  });
  return sum;
}

Seconds closed_form(const CollectivePhase& phase, Bandwidth rate) {
  if (phase.hops == 0) return (phase.latency + phase.bytes / rate) * phase.messages;
  return phase.latency * phase.hops + phase.bytes / rate * (phase.messages + phase.hops - 1);
}

Bytes bytes_sent(const CollectivePhase& phase, const Pattern& pattern) {
  return phase.bytes * (static_cast<double>(phase.messages) * static_cast<double>(pattern.edge_count()));
}

}  // namespace trainyard
