#pragma once
// How tokens spread over experts: the block `routing` of an experiment's `parallelism`, and how they get
// there.

#include "config/keys.hpp"

#include <array>
#include <optional>
#include <string_view>
#include <vector>

namespace trainyard {

/// How tokens reach the ranks of their experts: `--moe-token-dispatcher-type` of Megatron-LM. Sources:
/// NVIDIA/Megatron-LM megatron/core/transformer/moe/token_dispatcher.py (commit d98e8a64); deepseek-ai/DeepEP
/// docs/legacy.md (commit dd758caf).
enum class TokenDispatcher {
  all_to_all,
  all_gather,  ///< of all tokens, to all ranks of the experts; their results are reduce-scattered
  deepep       ///< each token once to every node with experts of it, and on to its ranks there
};

/// By default every expert gets equally many tokens. At most one of capacity_factor, imbalance and skew is
/// given.
struct Routing {
  /// Places of every expert, as a multiple of the mean of each rank's tokens, rounded up; further tokens are
  /// dropped, free places are padded.
  std::optional<double> capacity_factor = {};
  std::optional<double> imbalance = {};  ///< rows of the fullest rank of a group, over the mean
  std::optional<double> skew = {};       ///< exponent of a Zipf law from which the loads are drawn
  std::optional<long long> seed = {};    ///< of the draw; default: 1
  /// Consecutive experts in equal groups, of which the experts of a token lie in `group_limit` at most.
  std::optional<int> groups = {};
  std::optional<int> group_limit = {};
  friend bool operator==(const Routing&, const Routing&) = default;
};

/// The shares of the experts' loads, which add up to 1, of one layer. The i-th most frequent expert has a
/// weight of i^-skew, but no share above 1 / per_token, since a token passes through each expert once; the
/// excess goes to the other experts in proportion. The order of the experts by frequency is a permutation
/// drawn with the seed, another one for each layer.
std::vector<double> expert_shares(int experts, int per_token, double skew, long long seed, int layer);

/// Experts of a layer in equal, consecutive groups, of which a token visits few. One group: no limit.
struct ExpertGroups {
  int experts = 1;
  int per_token = 1;  ///< experts that each token passes through, each at most once
  int groups = 1;
  int limit = 1;  ///< groups that hold the experts of a token
};

/// Expected number of parts with at least one expert of a token, if `parts` ranks (or nodes) have equally
/// many consecutive experts and routing is even: the groups are chosen first, then experts in these, all
/// choices equally likely. Without groups n (1 - C(E - E/n, k) / C(E, k)). `parts` divides the experts; if
/// it neither divides the number of groups nor is a multiple of it, there is no limit.
double visited_parts(const ExpertGroups& of, int parts);

/// The rows of the fullest of `ranks` ranks over their mean, if each has equally many consecutive experts.
double imbalance_of(const std::vector<double>& shares, int ranks);

}  // namespace trainyard

namespace trainyard::config {

template <>
struct Names<TokenDispatcher> {
  static constexpr std::string_view what = "dispatcher of tokens";
  static constexpr std::array table{
      Name{"alltoall", TokenDispatcher::all_to_all, "copies of each token to the ranks of its experts"},
      Name{"allgather", TokenDispatcher::all_gather,
           "all tokens to all ranks that share the experts; results are reduce-scattered"},
      Name{"deepep", TokenDispatcher::deepep,
           "each token once to each node with experts of it, from there to its ranks (DeepEP, HybridEP)"},
      Name{"flex", TokenDispatcher::deepep, ""},
      Name{"hybridep", TokenDispatcher::deepep, ""},
      Name{"all_to_all", TokenDispatcher::all_to_all, ""},
      Name{"a2a", TokenDispatcher::all_to_all, ""},
      Name{"all_gather", TokenDispatcher::all_gather, ""}};
};

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
        optional("seed", &Routing::seed, "the same seed gives the same loads; default: 1").between(0, 9e15),
        optional("groups", &Routing::groups,
                 "equal groups of consecutive experts, of which a token visits group_limit (n_group of "
                 "DeepSeek, moe_router_num_groups of Megatron-Core)")
            .between(1, most),
        optional("group_limit", &Routing::group_limit,
                 "groups that hold the experts of a token at most (topk_group, moe_router_group_topk); "
                 "dispatcher deepep then sends it to fewer nodes")
            .between(1, most));
  }
};

}  // namespace trainyard::config
