#pragma once
// The text of an NVTX range, as PyTorch (torch.autograd.profiler.emit_nvtx) writes those of operators:
// "aten::mm, seq = 5, op_id = 12, sizes = [[4, 8], [8, 16]], input_op_ids = [...]".

#include "imports/profile.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace trainyard {

struct NvtxRange {
  std::string_view name;                       ///< without its arguments; part of the text
  EventKind kind{};                            ///< op, or range for one that a user or a framework named
  std::optional<std::uint64_t> sequence = {};  ///< of an op and of its backward op
  std::string dims = {};  ///< the shapes of operands as a list of JSON; empty if they were not recorded
};

NvtxRange nvtx_range(std::string_view text);

}  // namespace trainyard
