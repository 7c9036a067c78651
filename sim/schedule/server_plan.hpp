#pragma once
// Workers and parameter servers on a machine: the messages between each worker and each shard, their links,
// and the bandwidths of the servers' memories.

#include "experiment/server_placement.hpp"
#include "platform/cluster.hpp"
#include "strategy/servers.hpp"

#include <string>
#include <variant>
#include <vector>

namespace trainyard {

/// The route between a worker and some shards, in one direction.
struct ServerWay {
  Seconds latency;         ///< of the longest route
  std::vector<int> links;  ///< to all shards; a link named k times carries a message's bytes k times
};

struct WorkerWays {
  std::vector<ServerWay> push;  ///< indexed by number of the way
  std::vector<ServerWay> pull;
};

struct ServerPlan {
  std::vector<ServerMessage> messages;     ///< the same for every worker
  std::vector<int> way_of_message;         ///< messages that take the same way have its number
  std::vector<int> connection_of_message;  ///< messages of a rank to the same shards follow each other
  /// By rank of the job, by replica if ranks share a model, or by node if nodes are workers.
  std::vector<WorkerWays> workers;
  /// The cluster's links by LinkId, then the bandwidth of the memory and the cores of each server's CPU, if
  /// known, and connections with their own limit.
  std::vector<Bandwidth> links;
  /// A resource of a server, or of a host that sums its node's gradients, represented as a link.
  struct Resource {
    std::string name;  ///< "memory of node0.cpu1", "cores of node0.cpu1"
    int link = 0;
    NodeId node = {};
    bool is_memory = false;  ///< false: its cores
  };
  std::vector<Resource> resources;
  std::vector<std::string> notes;
};

/// The GPU or the memory that holds a shard.
using ServerPlace = std::variant<Rank, HostMemory>;

/// The place of a shard: with own_nodes on one of the `server_nodes`, which follow the `worker_nodes`,
/// otherwise on nodes of workers, shard by shard in turn. The cluster's GPUs are those of workers.
ServerPlace server_place(const Cluster& cluster, ServerPlacement placement, int worker_nodes,
                         int server_nodes, int shard);

/// `workers`: number of working ranks, the first ones, on the first `worker_nodes` nodes; own_nodes: the
/// other nodes hold the shards. With `ranks_per_replica` above 1 a worker is that many consecutive ranks,
/// which share a model; each has its own messages (ServerMessage::rank), ways and connections. On n nodes
/// shard s is in the memory of node s modulo n, CPU s / n modulo the CPUs; gpu: all are in the memory of rank
/// 0, gpus: shard s in that of rank s modulo all, and a rank's own gradients need no route. A byte of
/// gradients uses four bytes of a host's memory bandwidth (written by the network, read, added to a sum that
/// is read and written), one of parameters uses one; if the software's speed of summing and the CPU's cores
/// are known (`sum_per_core`), a byte of gradients uses one byte of the cores' speed. `placement`: not free.
/// Throws Unreachable, or InputError if there is no CPU.
///
/// With `rules.node_reduce` a worker is a whole node, and there are `workers` nodes. A message is then the
/// sum of its GPUs' gradients: they copy them to one GPU, a different one for each message, or to the host
/// (the shard's CPU, if it is in the node; a gradient uses two of its memory bandwidth, written and read,
/// their sum two), which pushes it; parameters return the same way. Copies and pushes overlap because tensors
/// follow each other: the slowest link on the way counts. Summing on a GPU takes no time.
ServerPlan plan_servers(const Cluster& cluster, int workers, int worker_nodes, ServerPlacement placement,
                        std::vector<ServerMessage> messages, const ServerRules& rules = {},
                        int ranks_per_replica = 1);

}  // namespace trainyard
