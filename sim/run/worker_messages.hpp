#pragma once
// The gradients and parameters that a worker of parameter servers pushes and pulls in a step, and when. A
// worker is one rank, a node whose gradients are summed, or a replica whose ranks share the model.

#include "experiment/resolve.hpp"
#include "run/replica_step.hpp"
#include "run/step.hpp"
#include "run/updates.hpp"
#include "strategy/servers.hpp"

#include <optional>
#include <vector>

namespace trainyard {

/// The messages of a worker's step. Every rank of a replica exchanges the parameters that it holds. With S
/// shards and R ranks in a replica, rank r has shards r, r + R, r + 2 R and so on, or shard r modulo S if S
/// is below R; over these server_messages() distributes its tensors (Dean et al. 2012, Large scale
/// distributed deep networks, section 4.1: a machine of a replica communicates with the shards that hold its
/// part). A parameter that several ranks hold is at the shards of one of them, of each in turn. All of them
/// pull it, and push the gradients of their own samples, which servers add up; tensor ranks have equal
/// gradients, of which one is pushed.
std::vector<ServerMessage> worker_messages(const ResolvedExperiment& resolved);

/// Indexed by message, as fractions of a worker's step.
struct MessageParts {
  std::vector<double> ready;   ///< fraction after which the message's gradients are complete
  std::vector<double> needed;  ///< fraction that can be computed without the message's parameters
};

/// Without overlap everything is pushed after backward and pulled before forward. `steady`: of one rank.
MessageParts message_parts(const ResolvedExperiment& resolved, const Step& steady,
                           const std::vector<ServerMessage>& messages);

/// The messages of a replica whose ranks share the model.
MessageParts message_parts(const ResolvedExperiment& resolved, const ReplicaStep& step,
                           const std::vector<ServerMessage>& messages);

/// The shard with most bytes, if these are more than 1.5 times the mean: it then limits the others.
std::optional<LoadedShard> loaded_shard(const ResolvedExperiment& resolved,
                                        const std::vector<ServerMessage>& messages);

}  // namespace trainyard
