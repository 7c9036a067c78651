#pragma once
// Where the shards of a parameter server are.

#include "config/keys.hpp"

#include <array>
#include <string_view>

namespace trainyard {

enum class ServerPlacement { hosts, own_nodes, gpu, gpus, free };

}  // namespace trainyard

namespace trainyard::config {

template <>
struct Names<ServerPlacement> {
  static constexpr std::string_view what = "placement of servers";
  static constexpr std::array table{
      Name{"hosts", ServerPlacement::hosts, "in the host memory of the nodes with ranks"},
      Name{"own_nodes", ServerPlacement::own_nodes, "on additional nodes of the machine, one shard per node"},
      Name{"gpu", ServerPlacement::gpu, "in the memory of rank 0's GPU"},
      Name{"gpus", ServerPlacement::gpus, "in the memory of the ranks' GPUs, one shard per GPU"},
      Name{"free", ServerPlacement::free, "not simulated: gradients and parameters take no time to send"}};
};

}  // namespace trainyard::config
