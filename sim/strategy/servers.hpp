#pragma once
// Parameter servers: the distribution of gradients over shards, and when each part may be sent.

#include "strategy/buckets.hpp"
#include "strategy/server_rules.hpp"

#include <span>
#include <vector>

namespace trainyard {

/// A message of a worker, for one tensor: the same number of bytes to each of some shards, which send as many
/// bytes of parameters back.
struct ServerMessage {
  int ready_op = -1;        ///< op of the trace after which the gradient is complete
  int needed_op = 0;        ///< op of the trace that reads the parameters first
  Bytes bytes;              ///< to each of the shards
  int turn = 0;             ///< number of the tensor; the place of a node's sum rotates with it
  std::vector<int> shards;  ///< ascending, without repeats
  int rank = 0;             ///< of the worker's ranks, if these share a model, the one that exchanges it
  /// Index of the message for the same parameters of another rank of the worker; -1: none, or the first one.
  int copy_of = -1;
  bool is_pushed = true;  ///< false: another rank pushes the same gradient, and this one only pulls
};

/// The messages of one worker's step, in the order in which gradients are complete. Gradients must be in the
/// order of their ops; each value has `value` bytes. round_robin: tensor (or piece) i goes to shard i modulo
/// `shards` (TensorFlow 1 replica_device_setter's default); by_size: the largest first, each to the shard
/// with the fewest bytes (greedy_load_balancing_strategy; MXNet's kvstore spreads large arrays evenly, which
/// is a partition). The pieces of a cut tensor differ by at most one value (BytePS: 4 MB).
std::vector<ServerMessage> server_messages(std::span<const ReadyGradient> gradients, Bytes value, int shards,
                                           const ServerRules& rules);

}  // namespace trainyard
