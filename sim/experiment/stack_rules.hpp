#pragma once
// Which keys of a stack have no effect for a kind of synchronisation.

#include "experiment/experiment.hpp"
#include "strategy/parallelism.hpp"
#include "strategy/stack.hpp"

#include <optional>
#include <string>
#include <vector>

namespace trainyard {

/// Throws InputError if the stack has settings that the experiment's kind or rule of updates cannot use:
/// passes over reduced gradients if servers update, reductions of every micro-batch if nothing is reduced.
void require_usable(const Stack& stack, const Experiment& experiment);

/// `shard: gradients` that saves no memory: the stack has gradients in buffers (gradient_buffers), which hold
/// all of them until they are reduced. Nothing if the buckets are small enough to save some, or for another
/// sharding. `parameters`: whose gradients a rank computes.
std::optional<Diagnostic> buffered_gradients_warning(const Stack& stack, const Parallelism& parallelism,
                                                     double parameters, Precision precision,
                                                     int micro_batches);

/// Keys of a stack that apply to collectives of gradients and are not used with servers.
std::vector<std::string> unused_with_servers(const Stack& stack);

/// True if it has passes for jobs of several ranks.
bool has_passes_of_many(const Stack& stack);

}  // namespace trainyard
