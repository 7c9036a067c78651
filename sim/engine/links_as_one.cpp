#include "engine/links_as_one.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <unordered_map>

namespace trainyard::engine {

namespace {

constexpr int none = -1;
constexpr double most_weight = 4096;  // per link, over all patterns

/// Classes of equal links, by LinkId: links of one capacity, then split by how often each pattern uses them.
class LinkClasses {
public:
  explicit LinkClasses(const TaskGraph& graph) : of_link_(graph.links.size(), none) {
    for (const LinkEvent& event : graph.link_events) {
      int& own = of_link_[index(event.link)];
      if (own == none) own = count_++;
    }
  }

  /// Puts every link that is used, but has no class yet, into the class of its capacity.
  void begin(std::span<const std::span<const LinkUse>> uses, const LinkValues<Bandwidth>& capacities) {
    std::map<Bandwidth, int> with_capacity;
    for (const std::span<const LinkUse> of_pattern : uses) {
      for (const LinkUse& use : of_pattern) {
        int& mine = of_link_[index(use.link)];
        if (mine != none) continue;
        const auto [entry, is_new] = with_capacity.try_emplace(capacities[index(use.link)], count_);
        if (is_new) ++count_;
        mine = entry->second;
      }
    }
  }

  void split(std::span<const LinkUse> uses) {
    std::unordered_map<std::uint64_t, int> parts;  // key: a class and the number of uses
    for (const LinkUse& use : uses) {
      int& mine = of_link_[index(use.link)];
      const std::uint64_t part =
          static_cast<std::uint64_t>(mine) << 32U | static_cast<std::uint32_t>(use.times);
      const auto [entry, is_new] = parts.try_emplace(part, count_);
      if (is_new) ++count_;
      mine = entry->second;
    }
  }

  [[nodiscard]] int of(LinkId link) const { return of_link_[index(link)]; }
  [[nodiscard]] int count() const { return count_; }

private:
  std::vector<int> of_link_;
  int count_ = 0;
};

/// A merged link and the patterns that use it.
struct Row {
  struct Use {
    int pattern = 0;
    double times = 0;  ///< in units of the pattern
  };
  Bandwidth capacity;
  std::vector<Use> uses;
};

/// The factor that makes a row's weights whole numbers, the smallest at least 1.
double multiplier(const Row& row) {
  double smallest = row.uses.front().times;
  double sum = 0;
  for (const Row::Use& use : row.uses) {
    smallest = std::min(smallest, use.times);
    sum += use.times;
  }
  const auto error = [&](double factor) {
    double worst = 0;
    for (const Row::Use& use : row.uses) {
      const double weight = use.times / smallest * factor;
      worst = std::max(worst, std::abs(weight - std::round(weight)) / weight);
    }
    return worst;
  };
  double best = 1;
  for (double factor = 1; factor * sum / smallest <= most_weight && error(best) > 1e-12; ++factor) {
    if (error(factor) < error(best)) best = factor;
  }
  return best / smallest;
}

}  // namespace

LinksAsOne links_as_one(const TaskGraph& graph, std::span<const std::span<const LinkUse>> uses) {
  LinkClasses classes(graph);
  classes.begin(uses, graph.links);
  for (const std::span<const LinkUse> of_pattern : uses) classes.split(of_pattern);

  LinksAsOne merged;
  std::vector<Row> rows;
  std::vector<int> row_of_class(at(classes.count()), none);
  for (std::size_t p = 0; p < uses.size(); ++p) {
    int unit = uses[p].empty() ? 1 : uses[p].front().times;
    for (const LinkUse& use : uses[p]) unit = std::min(unit, use.times);
    merged.units.push_back(unit);
    for (const LinkUse& use : uses[p]) {
      int& row = row_of_class[at(classes.of(use.link))];
      if (row == none) {
        row = static_cast<int>(rows.size());
        rows.push_back({graph.links[index(use.link)], {}});
      }
      std::vector<Row::Use>& known = rows[at(row)].uses;
      if (!known.empty() && known.back().pattern == static_cast<int>(p)) continue;
      known.push_back({static_cast<int>(p), static_cast<double>(use.times) / unit});
    }
  }

  merged.routes.resize(uses.size());
  for (const Row& row : rows) {
    const double scale = multiplier(row);
    for (const Row::Use& use : row.uses) {
      merged.routes[at(use.pattern)].insert(merged.routes[at(use.pattern)].end(),
                                            static_cast<std::size_t>(std::lround(use.times * scale)),
                                            static_cast<int>(merged.links.size()));
    }
    merged.links.push_back(row.capacity * scale);
    merged.scales.push_back(scale);
  }
  for (const LinkEvent& event : graph.link_events)
    merged.of_event.push_back(row_of_class[at(classes.of(event.link))]);
  return merged;
}

}  // namespace trainyard::engine
