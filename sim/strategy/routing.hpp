#pragma once
// How tokens spread over experts: the block `routing` of an experiment's `parallelism`.

#include "config/keys.hpp"

#include <optional>
#include <vector>

namespace trainyard {

/// By default every expert gets equally many tokens. At most one of capacity_factor, imbalance and skew is
/// given.
struct Routing {
  /// Places of every expert, as a multiple of the mean of each rank's tokens, rounded up; further tokens are
  /// dropped, free places are padded.
  std::optional<double> capacity_factor = {};
  std::optional<double> imbalance = {};  ///< rows of the fullest rank of a group, over the mean
  std::optional<double> skew = {};       ///< exponent of a Zipf law from which the loads are drawn
  std::optional<long long> seed = {};    ///< of the draw; default: 1
  friend bool operator==(const Routing&, const Routing&) = default;
};

/// The shares of the experts' loads, which add up to 1, of one layer. The i-th most frequent expert has a
/// weight of i^-skew, but no share above 1 / per_token, since a token passes through each expert once; the
/// excess goes to the other experts in proportion. The order of the experts by frequency is a permutation
/// drawn with the seed, another one for each layer.
std::vector<double> expert_shares(int experts, int per_token, double skew, long long seed, int layer);

/// The rows of the fullest of `ranks` ranks over their mean, if each has equally many consecutive experts.
double imbalance_of(const std::vector<double>& shares, int ranks);

}  // namespace trainyard

namespace trainyard::config {

template <>
struct Keys<Routing> {
  static auto table() {
    constexpr double most = 1e5;
    return keys(
        optional("capacity_factor", &Routing::capacity_factor,
                 "rows that each expert takes of a rank, over the mean, rounded up for each sample; further "
                 "ones are dropped, free places padded, so that all messages are equally long")
            .positive(most),
        optional(
            "imbalance", &Routing::imbalance,
            "rows of the fullest rank over the mean of its group; nothing is dropped, so all wait for it")
            .between(1, most),
        optional("skew", &Routing::skew,
                 "loads are drawn instead, for each layer: the i-th most frequent expert has a weight of 1 / "
                 "i^skew (Zipf's law), at most one row per token")
            .between(0, 10),
        optional("seed", &Routing::seed, "the same seed gives the same loads; default: 1").between(0, 9e15));
  }
};

}  // namespace trainyard::config
