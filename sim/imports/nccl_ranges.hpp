#pragma once
// The NVTX ranges that NCCL itself makes around its calls, with the sizes of messages where the export has
// their payload: https://docs.nvidia.com/deeplearning/nccl, "NVTX". A call inside of ncclGroupStart and
// ncclGroupEnd is launched by the latter.

#include "imports/profile.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace trainyard {

struct NcclRange {
  TextPool::Id lane = TextPool::none;  ///< process and thread
  std::int64_t start = 0, end = 0;     ///< ns
  std::string name;                    ///< "ncclAllReduce"
  std::optional<double> bytes = {};    ///< of the message, as the payload says
};

/// Whether NCCL named the range.
bool is_nccl_range(std::string_view name);

/// "Message size [bytes]" of a payload as JSON; nothing if it has none.
std::optional<double> nccl_message_size(std::string_view json);

/// Adds an event to the profile for each call of known size, around the launch of its kernel, with the sizes
/// as PyTorch's record_param_comms would state them. A group of several calls has none: which kernel carries
/// out which is unknown. NCCL states the part of one rank: the whole input of a reduce-scatter is known where
/// the profile says the number of ranks.
void add_nccl_calls(std::vector<NcclRange> ranges, Profile& profile);

}  // namespace trainyard
