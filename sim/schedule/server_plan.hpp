#pragma once
// Workers and parameter servers on a machine: what each worker sends to which shard and gets back, over which
// links, and what the servers' memory lets through.

#include "platform/cluster.hpp"
#include "strategy/servers.hpp"

#include <string>
#include <vector>

namespace trainyard {

enum class ServerPlacement { hosts, own_nodes, gpu };

/// A message between a worker and its shards, in one direction.
struct Transfer {
  Bytes bytes;             ///< to each shard
  Seconds latency;         ///< of the longest way
  std::vector<int> links;  ///< of all its ways; a link named k times carries the bytes k times
};

struct WorkerTransfers {
  std::vector<Transfer> pushes;  ///< by message
  std::vector<Transfer> pulls;
};

struct ServerPlan {
  int shards = 1;
  std::vector<ServerMessage> messages;   ///< of every worker
  std::vector<WorkerTransfers> workers;  ///< by rank of the job
  /// The cluster's links by LinkId, then what the memory of each server's CPU lets through, if it is known,
  /// and connections with a limit of their own.
  std::vector<Bandwidth> links;
  /// What a server's memory lets through, as a link.
  struct Memory {
    std::string name;  ///< "node0.cpu1"
    int link = 0;
  };
  std::vector<Memory> memories;
  std::vector<Bytes> bytes_at_shard;  ///< gradients that one worker sends to it in a step
  std::vector<std::string> notes;
};

/// Where the shards are, `first_server_node`: of own_nodes, nodes that hold no worker.
/// hosts: shard s in the memory of CPU (s / nodes) modulo the CPUs of node s modulo the worker's nodes; gpu:
/// all in the memory of rank 0. A byte of gradients is written once by the network, and read, added to a sum
/// that is read and written: 4 bytes of a host's memory bandwidth; one of parameters is read: 1. A worker's
/// way to a shard in its own GPU has no links. `workers`: how many ranks work, the first ones. Throws
/// Unreachable.
ServerPlan plan_servers(const Cluster& cluster, int workers, int worker_nodes, int shards,
                        ServerPlacement placement, std::vector<ServerMessage> messages);

}  // namespace trainyard

namespace trainyard::config {

template <>
struct Names<ServerPlacement> {
  static constexpr std::string_view what = "placement of servers";
  static constexpr std::array table{
      Name{"hosts", ServerPlacement::hosts, "in the memory of the nodes that work"},
      Name{"own_nodes", ServerPlacement::own_nodes, "on further nodes of the machine, a shard on each"},
      Name{"gpu", ServerPlacement::gpu, "in the memory of rank 0's GPU"}};
};

}  // namespace trainyard::config
