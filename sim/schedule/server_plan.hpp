#pragma once
// Workers and parameter servers on a machine: what each worker sends to which shard and gets back, over which
// links, and what the servers' memory lets through.

#include "experiment/server_placement.hpp"
#include "platform/cluster.hpp"
#include "strategy/servers.hpp"

#include <string>
#include <vector>

namespace trainyard {

/// Between a worker and some shards, in one direction.
struct ServerWay {
  Seconds latency;         ///< of the longest
  std::vector<int> links;  ///< to all of them; a link named k times carries k `parts` of a message's bytes
};

struct WorkerWays {
  std::vector<ServerWay> push;  ///< by number of the way
  std::vector<ServerWay> pull;
};

struct ServerPlan {
  std::vector<ServerMessage> messages;     ///< of every worker
  std::vector<int> way_of_message;         ///< messages that take the same way have its number
  std::vector<int> connection_of_message;  ///< messages to the same shards follow each other
  std::vector<WorkerWays> workers;         ///< by rank of the job, or by node where nodes are workers
  int parts = 1;                           ///< of a message, as ways count them
  /// The cluster's links by LinkId, then what the memory and the cores of each server's CPU let through, as
  /// far as they are known, and connections with a limit of their own.
  std::vector<Bandwidth> links;
  /// Of a server, or of a host that adds up its node's gradients: what it lets through, as a link.
  struct Resource {
    std::string name;  ///< "memory of node0.cpu1", "cores of node0.cpu1"
    int link = 0;
    NodeId node = {};
    bool is_memory = false;  ///< not its cores
  };
  std::vector<Resource> resources;
  std::vector<std::string> notes;
};

/// `workers`: the ranks that work, the first ones, on the first `worker_nodes` nodes; own_nodes: the others
/// hold the shards. On n nodes shard s is in the memory of node s modulo n, CPU s / n modulo the CPUs; gpu:
/// all are in the memory of rank 0, gpus: shard s in that of rank s modulo all, and a rank's own gradients
/// need no way. A byte of gradients takes four of a host's memory bandwidth (written by the network, read,
/// added to a sum that is read and written), one of parameters takes one; where the software's rate of adding
/// up and the CPU's cores are known (`sum_per_core`), a byte of gradients takes one of what the cores add up.
/// `placement`: not free. Throws Unreachable, InputError where there is no CPU.
///
/// With `rules.node_reduce` a worker is a whole node, `workers` of them. A message is then the sum of its
/// GPUs' gradients: they copy them to one of them, another for each message, or to the host (the shard's CPU,
/// if that is one of the node's; a gradient takes two of its memory bandwidth, written and read, their sum
/// two), which pushes it; parameters come back the same way. Copies and pushes go on at once, as tensors
/// follow each other: the slowest link on the way counts. Adding up on a GPU takes no time.
ServerPlan plan_servers(const Cluster& cluster, int workers, int worker_nodes, ServerPlacement placement,
                        std::vector<ServerMessage> messages, const ServerRules& rules = {});

}  // namespace trainyard
