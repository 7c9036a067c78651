#include "strategy/routing.hpp"

#include "random/functions.hpp"
#include "random/generator.hpp"
#include "units/ids.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

namespace trainyard {
namespace {

constexpr std::uint64_t expert_loads = 100;  // purpose of the draw, none of schedule/step_times.cpp

/// Shares by frequency, the most frequent expert first.
std::vector<double> sorted_shares(int experts, int per_token, double skew) {
  std::vector<double> weights;
  for (int i = 1; i <= experts; ++i) weights.push_back(random::exp(-skew * random::log(i)));
  std::vector<double> shares(weights.size());
  const double most = 1.0 / per_token;
  double left = 1;  // the share of the experts from `i` on
  double weight = std::accumulate(weights.begin(), weights.end(), 0.0);
  for (std::size_t i = 0; i < weights.size(); ++i) {
    shares[i] = std::min(most, left * (weights[i] / weight));
    left = std::max(0.0, left - shares[i]);
    weight -= weights[i];
  }
  return shares;
}

}  // namespace

std::vector<double> expert_shares(int experts, int per_token, double skew, long long seed, int layer) {
  if (skew <= 0) return std::vector<double>(at(experts), 1.0 / experts);
  std::vector<double> shares = sorted_shares(experts, per_token, skew);
  random::Generator generator(static_cast<std::uint64_t>(seed),
                              {expert_loads, static_cast<std::uint64_t>(layer)});
  for (std::size_t i = shares.size() - 1; i > 0; --i) {
    const auto other = static_cast<std::size_t>(generator.uniform() * static_cast<double>(i + 1));
    std::swap(shares[i], shares[std::min(other, i)]);
  }
  return shares;
}

namespace {

/// The share of the ways to choose k of `all` that choose none of `some`.
double none_chosen(double all, double some, int k) {
  double share = 1;
  for (int i = 0; i < k; ++i) share *= std::max(0.0, (all - some - i) / (all - i));
  return share;
}

double ways(int of, int chosen) {
  if (chosen < 0 || chosen > of) return 0;
  double product = 1;
  for (int i = 0; i < chosen; ++i) product *= 1.0 * (of - i) / (chosen - i);
  return product;
}

}  // namespace

double visited_parts(const ExpertGroups& of, int parts) {
  const double group = 1.0 * of.experts / of.groups;
  const double open = of.limit * group;  // experts among which a token chooses
  const double part = 1.0 * of.experts / parts;
  if (parts % of.groups == 0)  // a part lies in one group
    return 1.0 * parts * of.limit / of.groups * (1 - none_chosen(open, part, of.per_token));
  if (of.groups % parts != 0) return visited_parts({of.experts, of.per_token}, parts);
  const int own = of.groups / parts;  // groups of a part
  double visited = 0;
  for (int chosen = 1; chosen <= std::min(own, of.limit); ++chosen) {
    const double share =
        ways(own, chosen) * ways(of.groups - own, of.limit - chosen) / ways(of.groups, of.limit);
    visited += share * (1 - none_chosen(open, chosen * group, of.per_token));
  }
  return parts * visited;
}

double imbalance_of(const std::vector<double>& shares, int ranks) {
  const std::size_t width = shares.size() / at(ranks);
  double fullest = 0;
  for (std::size_t first = 0; first < shares.size(); first += width) {
    const auto begin = shares.begin() + static_cast<std::ptrdiff_t>(first);
    fullest = std::max(fullest, std::accumulate(begin, begin + static_cast<std::ptrdiff_t>(width), 0.0));
  }
  return std::max(1.0, fullest * ranks);
}

}  // namespace trainyard
