#include "imports/rank_clocks.hpp"

#include "units/text.hpp"

#include <algorithm>
#include <cstdlib>
#include <fmt/format.h>
#include <map>

namespace trainyard {
namespace {

/// No rank leaves such a collective before all have come.
bool synchronises(const RankCollective& one) {
  return one.operation == Operation::all_reduce || one.operation == Operation::all_gather ||
         one.operation == Operation::reduce_scatter || one.operation == Operation::all_to_all;
}

std::int64_t median_of(std::vector<std::int64_t> values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>((values.size() - 1) / 2);
  std::ranges::nth_element(values, middle);
  return *middle;
}

/// The clock of each rank, numbered from 0.
std::vector<std::size_t> clocks_of(const std::vector<RankPlace>& places,
                                   const std::optional<int>& ranks_per_node) {
  std::vector<std::size_t> clocks(places.size(), 0);
  std::map<std::string, std::size_t> known;
  const bool has_hosts = std::ranges::none_of(places, [](const RankPlace& one) { return one.host.empty(); });
  if (!ranks_per_node && !has_hosts) return clocks;
  for (std::size_t i = 0; i < places.size(); ++i) {
    const std::string node =
        ranks_per_node ? std::to_string(places[i].rank / *ranks_per_node) : places[i].host;
    clocks[i] = known.emplace(node, known.size()).first->second;
  }
  return clocks;
}

class ClockAligner {
public:
  ClockAligner(const std::vector<JointCollective>& collectives, std::vector<std::size_t> clock_of,
               const std::vector<RankPlace>& places)
      : collectives_(collectives), clock_of_(std::move(clock_of)), places_(places) {
    result_.count = static_cast<int>(*std::ranges::max_element(clock_of_)) + 1;
    shift_.assign(result_.count, 0);
    is_aligned_.assign(result_.count, false);
    is_aligned_.front() = true;
  }

  RankClocks align() {
    // each clock to those aligned before, which share a collective with it
    for (bool is_new = result_.count > 1; is_new;) {
      is_new = false;
      for (std::size_t clock = 0; clock < shift_.size(); ++clock) is_new = align_clock(clock) || is_new;
    }
    for (const std::size_t clock : clock_of_) result_.shifts.push_back(shift_[clock]);
    if (result_.count > 1) measure_error();
    check();
    if (std::ranges::find(is_aligned_, false) != is_aligned_.end())
      result_.contradiction =
          "no collective joins the clocks of all nodes: times of different nodes do not compare";
    return std::move(result_);
  }

private:
  bool align_clock(std::size_t clock) {
    if (is_aligned_[clock]) return false;
    std::vector<std::int64_t> differences;
    for (const JointCollective& one : collectives_) {
      if (!synchronises(*one.parts.front().second)) continue;
      std::vector<std::int64_t> own;
      std::vector<std::int64_t> aligned;
      for (const auto& [rank, part] : one.parts) {
        if (clock_of_[rank] == clock) {
          own.push_back(part->end);
        } else if (is_aligned_[clock_of_[rank]]) {
          aligned.push_back(part->end + shift_[clock_of_[rank]]);
        }
      }
      if (!own.empty() && !aligned.empty())
        differences.push_back(median_of(std::move(aligned)) - median_of(std::move(own)));
    }
    if (differences.empty()) return false;
    shift_[clock] = median_of(std::move(differences));
    is_aligned_[clock] = true;
    return true;
  }

  void measure_error() {
    std::vector<std::int64_t> errors;
    for (const JointCollective& one : collectives_) {
      if (!synchronises(*one.parts.front().second)) continue;
      std::int64_t first = 0;
      std::int64_t last = 0;
      for (std::size_t i = 0; i < one.parts.size(); ++i) {
        const auto& [rank, part] = one.parts[i];
        const std::int64_t end = part->end + result_.shifts[rank];
        first = i == 0 ? end : std::min(first, end);
        last = i == 0 ? end : std::max(last, end);
      }
      errors.push_back(last - first);
    }
    result_.error = median_of(std::move(errors));
  }

  /// The worst case of a rank that leaves a collective before another one has come.
  void check() {
    constexpr std::int64_t resolution = 10'000;  // older profiles have whole microseconds
    std::int64_t worst = resolution;
    for (const JointCollective& one : collectives_) {
      if (!synchronises(*one.parts.front().second)) continue;
      const auto start_of = [&](const auto& part) { return part.second->start + result_.shifts[part.first]; };
      const auto end_of = [&](const auto& part) { return part.second->end + result_.shifts[part.first]; };
      const auto last = std::ranges::max_element(one.parts, {}, start_of);
      const auto first = std::ranges::min_element(one.parts, {}, end_of);
      const std::int64_t early = start_of(*last) - end_of(*first);
      if (early <= worst) continue;
      worst = early;
      result_.contradiction = fmt::format(
          "rank {} ends a collective {} before rank {} begins it: their clocks differ, and transfer and "
          "waiting are wrong; --ranks-per-node says which ranks share a clock",
          places_[first->first].rank, estimate(Seconds(static_cast<double>(early) * 1e-9)),
          places_[last->first].rank);
    }
  }

  const std::vector<JointCollective>& collectives_;
  std::vector<std::size_t> clock_of_;
  const std::vector<RankPlace>& places_;
  std::vector<std::int64_t> shift_;
  std::vector<bool> is_aligned_;
  RankClocks result_;
};

}  // namespace

RankClocks align_clocks(const std::vector<JointCollective>& collectives, const std::vector<RankPlace>& places,
                        const std::optional<int>& ranks_per_node) {
  return ClockAligner(collectives, clocks_of(places, ranks_per_node), places).align();
}

}  // namespace trainyard
