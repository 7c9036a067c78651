#pragma once
// How a framework spreads tensors over the shards of parameter servers: the keys of a stack.

#include "config/keys.hpp"
#include "units/quantity.hpp"
#include "units/sourced.hpp"

#include <array>
#include <optional>
#include <string_view>

namespace trainyard {

enum class ShardAssignment { round_robin, by_size };

/// Where a node sums the gradients of its GPUs before pushing them.
enum class NodeReduce { none, gpus, host };

/// When workers pull the parameters of a tensor.
enum class PullTime { per_tensor, after_update };

/// How a framework spreads tensors over shards, and sends them.
struct ServerRules {
  ShardAssignment assign = ShardAssignment::round_robin;
  std::optional<Sourced<Bytes>> partition = {};     ///< larger tensors are cut into pieces of this size
  std::optional<Sourced<Bytes>> spread_above = {};  ///< larger tensors go in equal parts to all shards
  bool priority = false;  ///< tensors that the next forward pass needs first are sent first
  std::optional<Sourced<Bandwidth>> sum_per_core = {};  ///< gradient bytes summed per second and host core
  NodeReduce node_reduce = NodeReduce::none;            ///< unless none, a worker is a whole node
  PullTime pull = PullTime::per_tensor;
};

}  // namespace trainyard

namespace trainyard::config {

template <>
struct Names<ShardAssignment> {
  static constexpr std::string_view what = "assignment of tensors to shards";
  static constexpr std::array table{
      Name{"round_robin", ShardAssignment::round_robin,
           "one shard after the other, in the order in which tensors become ready"},
      Name{"by_size", ShardAssignment::by_size,
           "the largest tensor first, each to the shard with the fewest bytes"}};
};

template <>
struct Names<NodeReduce> {
  static constexpr std::string_view what = "place of a node's sum";
  static constexpr std::array table{
      Name{"none", NodeReduce::none, "no sum: every GPU pushes its own gradients and pulls the parameters"},
      Name{"gpus", NodeReduce::gpus,
           "on the node's GPUs in turn; they push and pull for all GPUs of the node"},
      Name{"host", NodeReduce::host,
           "in the memory of the node's CPUs; they push and pull for all GPUs of the node"}};
};

template <>
struct Names<PullTime> {
  static constexpr std::string_view what = "time of pulling";
  static constexpr std::array table{
      Name{"per_tensor", PullTime::per_tensor,
           "each tensor once the servers have as many gradients of it as the update rule needs"},
      Name{"after_update", PullTime::after_update,
           "all tensors once the update is made and its rank may go on"}};
};

template <>
struct Keys<ServerRules> {
  static auto table() {
    return keys(optional("assign", &ServerRules::assign, "rule that assigns tensors to shards"),
                optional("partition", &ServerRules::partition,
                         "tensors larger than this are cut into pieces of this size")
                    .above(0)
                    .at_most(1e12),
                optional("spread_above", &ServerRules::spread_above,
                         "tensors larger than this are spread over all shards in equal parts")
                    .at_least(0)
                    .at_most(1e12),
                optional("priority", &ServerRules::priority,
                         "true: waiting tensors are sent in the order in which forward needs them; false: in "
                         "the order of arrival"),
                optional("sum_per_core", &ServerRules::sum_per_core,
                         "gradient bytes that one host core sums per second; default: no limit")
                    .above(0)
                    .at_most(1e12),
                optional("node_reduce", &ServerRules::node_reduce,
                         "where the gradients of a node's GPUs are summed before they are pushed"),
                optional("pull", &ServerRules::pull, "when ranks pull the parameters of a tensor"));
  }
};

}  // namespace trainyard::config
