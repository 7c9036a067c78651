#pragma once
// The NVTX ranges of a report of Nsight Systems: those of operators, as PyTorch (emit_nvtx) writes them, and
// those that NCCL makes around its calls.

#include "imports/profile.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace trainyard {

/// "aten::mm, seq = 5, op_id = 12, sizes = [[4, 8], [8, 16]], input_op_ids = [...]", as
/// torch.autograd.profiler.emit_nvtx writes it.
struct NvtxRange {
  std::string_view name;                       ///< without its arguments; part of the text
  EventKind kind{};                            ///< op, or range for one that a user or a framework named
  std::optional<std::uint64_t> sequence = {};  ///< of an op and of its backward op
  std::string dims = {};  ///< the shapes of operands as a list of JSON; empty if they were not recorded
};

NvtxRange nvtx_range(std::string_view text);

/// A call of NCCL, with the size of the message where the export has the payload:
/// https://docs.nvidia.com/deeplearning/nccl, "NVTX". A call inside of ncclGroupStart and ncclGroupEnd is
/// launched by the latter.
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
