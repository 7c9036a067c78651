#pragma once
// Parameter servers: which part of which gradient goes to which shard, and when it may go.

#include "strategy/buckets.hpp"
#include "strategy/server_rules.hpp"

#include <span>
#include <vector>

namespace trainyard {

/// What a worker sends at once, of one tensor: as many bytes to each of some shards. The shard sends as many
/// parameters back.
struct ServerMessage {
  int ready_op = -1;        ///< op of the trace after which the gradient is complete
  int needed_op = 0;        ///< op of the trace that reads the parameters first
  Bytes bytes;              ///< to each of the shards
  int turn = 0;             ///< number of the tensor, by which the place of a node's sum goes round
  bool is_joined = false;   ///< of several tensors, whose sums are in all places
  std::vector<int> shards;  ///< ascending, different
};

/// Of one worker's step, in the order in which gradients are complete. Gradients must be in the order of
/// their ops; each value has `value` bytes. round_robin: tensor (or piece) i goes to shard i modulo `shards`
/// (TensorFlow 1 replica_device_setter's default); by_size: the largest first, each to the shard with the
/// fewest bytes (greedy_load_balancing_strategy; MXNet's kvstore spreads large arrays evenly, which is a
/// partition). A tensor that is cut has pieces that differ by at most one value (BytePS: 4 MB).
std::vector<ServerMessage> server_messages(std::span<const ReadyGradient> gradients, Bytes value, int shards,
                                           const ServerRules& rules);

/// The same bytes in about `most` messages: those of the same shards go together until they make up that part
/// of all bytes, once the last of them is complete.
std::vector<ServerMessage> joined_messages(std::span<const ServerMessage> messages, int most);

}  // namespace trainyard
