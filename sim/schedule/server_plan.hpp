#pragma once
// Workers and parameter servers on a machine: what each worker sends to which shard and gets back, over which
// links, and what the servers' memory lets through.

#include "platform/cluster.hpp"
#include "strategy/servers.hpp"

#include <string>
#include <vector>

namespace trainyard {

enum class ServerPlacement { hosts, own_nodes, gpu, free };

/// Between a worker and some shards, in one direction.
struct ServerWay {
  Seconds latency;         ///< of the longest
  std::vector<int> links;  ///< to all of them; a link named k times carries a message's bytes k times
};

struct WorkerWays {
  std::vector<ServerWay> push;  ///< by group of shards
  std::vector<ServerWay> pull;
};

struct ServerPlan {
  std::vector<ServerMessage> messages;  ///< of every worker
  std::vector<int> group_of_message;    ///< those that go to the same shards are of one group
  std::vector<WorkerWays> workers;      ///< by rank of the job
  /// The cluster's links by LinkId, then what the memory of each server's CPU lets through, if it is known,
  /// and connections with a limit of their own.
  std::vector<Bandwidth> links;
  /// What a server's memory lets through, as a link.
  struct Memory {
    std::string name;  ///< "node0.cpu1"
    int link = 0;
  };
  std::vector<Memory> memories;
  std::vector<std::string> notes;
};

/// `workers`: the ranks that work, the first ones, on the first `worker_nodes` nodes; own_nodes: the others
/// hold the shards. On n nodes shard s is in the memory of node s modulo n, CPU s / n modulo the CPUs; gpu:
/// all are in the memory of rank 0, and its own gradients need no way. A byte of gradients takes four of a
/// host's memory bandwidth (written by the network, read, added to a sum that is read and written), one of
/// parameters takes one. `placement`: not free. Throws Unreachable, InputError where there is no CPU.
ServerPlan plan_servers(const Cluster& cluster, int workers, int worker_nodes, ServerPlacement placement,
                        std::vector<ServerMessage> messages);

}  // namespace trainyard

namespace trainyard::config {

template <>
struct Names<ServerPlacement> {
  static constexpr std::string_view what = "placement of servers";
  static constexpr std::array table{
      Name{"hosts", ServerPlacement::hosts, "in the memory of the nodes that work"},
      Name{"own_nodes", ServerPlacement::own_nodes, "on further nodes of the machine, a shard on each"},
      Name{"gpu", ServerPlacement::gpu, "in the memory of rank 0's GPU"},
      Name{"free", ServerPlacement::free, "nowhere: gradients and parameters take no time to send"}};
};

}  // namespace trainyard::config
