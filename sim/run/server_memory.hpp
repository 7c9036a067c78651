#pragma once
// The memory that parameter servers need, in the memory of hosts or in that of the ranks' GPUs.

#include "experiment/resolve.hpp"

#include <array>
#include <string>
#include <string_view>

namespace trainyard {

/// The memory of the shards in one place, that with most of it.
struct ServerMemory {
  std::string place;  ///< "node 0", "the GPU of rank 0"
  int places = 1;     ///< hosts, or GPUs, with shards
  bool is_on_gpu = false;
  Bytes parameters;
  Bytes optimizer_state;
  Bytes gradient_sums;
  Bytes receive_buffers;
};

struct ServerMemoryTerm {
  std::string_view name;
  Bytes ServerMemory::*bytes;
  std::string_view what;
};

/// All terms, in the order of the reports.
inline constexpr std::array server_memory_terms{
    ServerMemoryTerm{"parameters", &ServerMemory::parameters,
                     "4 bytes each, in addition to the ranks' copies"},
    ServerMemoryTerm{"optimizer_state", &ServerMemory::optimizer_state, "momentum or moments"},
    ServerMemoryTerm{"gradient_sums", &ServerMemory::gradient_sums,
                     "a sum of all gradients, if an update waits for several"},
    ServerMemoryTerm{"receive_buffers", &ServerMemory::receive_buffers,
                     "the largest message, once for each worker"}};

Bytes total(const ServerMemory& memory);

/// Whether the optimizer runs at the servers, so that ranks hold no state of it: not with local_sgd, whose
/// ranks update their own parameters.
bool has_server_optimizer(const Sync& sync);

/// The memory of the place with most of it, the first among equal ones; GPUs come before hosts. On platforms
/// whose ranks are processors, hosts have no memory but theirs. For each shard:
/// - parameters: 4 bytes each, in every precision;
/// - optimizer_state: 4 bytes for each of optimizer_states(), none with local_sgd;
/// - gradient_sums: if an update waits for several gradients, one value of the type that is sent per
///   parameter (TensorFlow's ConditionalAccumulator, the merged buffers of MXNet's kvstore); `async`, `ssp`
///   and `downpour` apply each gradient as it arrives;
/// - receive_buffers: a buffer for the largest message of every worker (of every other worker on the GPU of
///   a rank), since each sends one message to a shard at a time; of every rank if ranks share the model.
/// Nothing without servers, for `placement: free`, whose servers are nowhere, and for traces, which do not
/// state the parameters. Not counted: sums inside a node (node_reduce). Throws InputError like workers_of()
/// and update_settings().
std::optional<ServerMemory> server_memory(const ResolvedExperiment& resolved);

}  // namespace trainyard
