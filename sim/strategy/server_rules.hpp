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

/// How a framework spreads tensors over shards.
struct ServerRules {
  ShardAssignment assign = ShardAssignment::round_robin;
  std::optional<Sourced<Bytes>> partition = {};     ///< larger tensors are cut into pieces of this size
  std::optional<Sourced<Bytes>> spread_above = {};  ///< larger tensors go in equal parts to all shards
  bool priority = false;  ///< tensors that the next forward pass needs first are sent first
  std::optional<Sourced<Bandwidth>> sum_per_core = {};  ///< gradient bytes summed per second and host core
  NodeReduce node_reduce = NodeReduce::none;            ///< unless none, a worker is a whole node
};

}  // namespace trainyard

namespace trainyard::config {

template <>
struct Names<ShardAssignment> {
  static constexpr std::string_view what = "assignment of tensors to shards";
  static constexpr std::array table{
      Name{"round_robin", ShardAssignment::round_robin, "one after the other, as they become ready"},
      Name{"by_size", ShardAssignment::by_size,
           "the largest first, each to the shard with the fewest bytes"}};
};

template <>
struct Names<NodeReduce> {
  static constexpr std::string_view what = "place where a node's gradients are added up";
  static constexpr std::array table{
      Name{"none", NodeReduce::none, "nowhere: every GPU pushes its own and pulls for itself"},
      Name{"gpus", NodeReduce::gpus, "on the node's GPUs in turn, which push and pull for all"},
      Name{"host", NodeReduce::host, "in the memory of the node's CPUs, which push and pull for all"}};
};

template <>
struct Keys<ServerRules> {
  static auto table() {
    return keys(
        optional("assign", &ServerRules::assign, "which shard keeps a tensor"),
        optional("partition", &ServerRules::partition, "tensors larger than this are cut into pieces of it")
            .above(0)
            .at_most(1e12),
        optional("spread_above", &ServerRules::spread_above,
                 "tensors larger than this go in equal parts to all shards")
            .at_least(0)
            .at_most(1e12),
        optional(
            "priority", &ServerRules::priority,
            "true: of tensors that wait to be sent, the one that forward needs first; false: as they come"),
        optional("sum_per_core", &ServerRules::sum_per_core,
                 "bytes of gradients that a core of a host adds up per second; no limit when absent")
            .above(0)
            .at_most(1e12),
        optional("node_reduce", &ServerRules::node_reduce,
                 "where the gradients of a node's GPUs are added up before they are pushed"));
  }
};

}  // namespace trainyard::config
