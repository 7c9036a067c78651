#include "engine/limiting_links.hpp"

#include "units/ids.hpp"

#include <algorithm>
#include <functional>
#include <limits>
#include <map>
#include <numeric>
#include <utility>

namespace trainyard::engine {

namespace {

/// The ways that use a link, and how often: (way, times).
using Uses = std::vector<std::pair<int, int>>;

/// Reduces `times` to lowest terms; returns the divisor.
int reduce(Uses& uses) {
  int divisor = 0;
  for (const auto& [way, times] : uses) divisor = std::gcd(divisor, times);
  for (auto& [way, times] : uses) times /= divisor;
  return divisor;
}

struct TightRow {
  Uses uses;
  Bandwidth capacity;
};

/// One row for all links used in the same proportions, in the order of their first link.
std::vector<TightRow> merged_rows(std::span<const Bandwidth> links,
                                  std::span<const std::span<const int>> ways) {
  std::vector<Uses> uses(links.size());
  for (std::size_t way = 0; way < ways.size(); ++way) {
    const auto number = static_cast<int>(way);
    for (const int link : ways[way]) {
      Uses& its = uses[at(link)];
      if (its.empty() || its.back().first != number) its.emplace_back(number, 0);
      ++its.back().second;
    }
  }
  std::vector<TightRow> rows;
  std::map<Uses, std::size_t> known;
  for (std::size_t link = 0; link < links.size(); ++link) {
    if (uses[link].empty()) continue;
    const Bandwidth capacity = links[link] / static_cast<double>(reduce(uses[link]));
    const auto [found, is_new] = known.try_emplace(uses[link], rows.size());
    if (is_new)
      rows.push_back({std::move(uses[link]), capacity});
    else
      rows[found->second].capacity = std::min(rows[found->second].capacity, capacity);
  }
  return rows;
}

/// Finds the most that ways can carry over a row at once, given the other rows.
class MostCarried {
public:
  MostCarried(std::span<const TightRow> rows, std::size_t ways)
      : rows_(rows), is_kept_(rows.size(), 1), uses_of_(ways), fastest_(ways), times_(ways, 0) {
    for (std::size_t row = 0; row < rows.size(); ++row) {
      for (const auto& [way, times] : rows[row].uses) uses_of_[at(way)].emplace_back(row, times);
    }
    for (std::size_t way = 0; way < ways; ++way) {
      fastest_[way] = std::numeric_limits<double>::infinity();
      for (const auto& [row, times] : uses_of_[way])
        fastest_[way] = std::min(fastest_[way], rows[row].capacity.si() / times);
    }
  }

  /// Whether the row is the slowest on one of its ways.
  [[nodiscard]] bool is_slowest_of_a_way(std::size_t number) const {
    const TightRow& row = rows_[number];
    return std::ranges::any_of(
        row.uses, [&](const auto& use) { return row.capacity.si() / use.second <= fastest_[at(use.first)]; });
  }

  /// No more than this passes at once: what the ways carry alone or, where this is less, what another row
  /// lets through of all ways that it shares with this one.
  [[nodiscard]] double over(std::size_t number) {
    double most = 0;
    for (const auto& [way, times] : rows_[number].uses) {
      times_[at(way)] = times;
      most += times * fastest_[at(way)];
    }
    for (const Cover& cover : covers_of(number)) {
      double alone = 0;
      for (const auto& [way, times] : rows_[cover.row].uses) alone += times_[at(way)] * fastest_[at(way)];
      if (cover.together >= alone) continue;
      most += cover.together - alone;
      for (const auto& [way, times] : rows_[cover.row].uses) times_[at(way)] = 0;
    }
    for (const auto& [way, times] : rows_[number].uses) times_[at(way)] = 0;
    return most;
  }

  void drop(std::size_t number) { is_kept_[number] = 0; }
  [[nodiscard]] bool is_kept(std::size_t number) const { return is_kept_[number] != 0; }

private:
  struct Cover {
    std::size_t row = 0;
    double together = 0;  ///< bytes per second that it lets the ways over both send over this row
    double alone = 0;     ///< of these ways
  };

  /// The kept rows that let through less than their ways could send, the best first.
  [[nodiscard]] std::vector<Cover> covers_of(std::size_t number) const {
    std::map<std::size_t, Cover> all;
    for (const auto& [way, times] : rows_[number].uses) {
      for (const auto& [other, its_times] : uses_of_[at(way)]) {
        if (other == number || !is_kept(other)) continue;
        Cover& cover = all[other];
        const double of_it = static_cast<double>(times) / its_times;
        cover.together = std::max(cover.together, of_it * rows_[other].capacity.si());
        cover.alone += times * fastest_[at(way)];
      }
    }
    std::vector<Cover> covers;
    for (const auto& [row, cover] : all) {
      if (cover.together < cover.alone) covers.push_back({row, cover.together, cover.alone});
    }
    std::ranges::stable_sort(covers, std::greater<>(),
                             [](const Cover& cover) { return cover.alone - cover.together; });
    return covers;
  }

  std::span<const TightRow> rows_;
  std::vector<char> is_kept_;
  std::vector<std::vector<std::pair<std::size_t, int>>> uses_of_;  ///< by way: row and times
  std::vector<double> fastest_;                                    ///< by way: alone on the network
  std::vector<int> times_;  ///< by way, while a row is looked at: how often it crosses it
};

/// Keeps a row if it is the slowest on one of its ways, or if its ways together could fill it. A row that was
/// dropped no longer speaks for others, so that those that are kept imply all.
void drop_slack(std::vector<TightRow>& rows, std::size_t ways) {
  MostCarried most(rows, ways);
  for (std::size_t row = 0; row < rows.size(); ++row) {
    if (!most.is_slowest_of_a_way(row) && most.over(row) <= rows[row].capacity.si()) most.drop(row);
  }
  std::size_t number = 0;
  std::erase_if(rows, [&](const TightRow&) { return !most.is_kept(number++); });
}

}  // namespace

LimitingLinks limiting_links(std::span<const Bandwidth> links, std::span<const std::span<const int>> ways) {
  std::vector<TightRow> rows = merged_rows(links, ways);
  drop_slack(rows, ways.size());
  LimitingLinks tight;
  tight.routes.resize(ways.size());
  for (const TightRow& row : rows) {
    for (const auto& [way, times] : row.uses)
      tight.routes[at(way)].insert(tight.routes[at(way)].end(), at(times),
                                   static_cast<int>(tight.links.size()));
    tight.links.push_back(row.capacity);
  }
  return tight;
}

}  // namespace trainyard::engine
