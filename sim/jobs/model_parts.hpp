#pragma once
// The parts of a model whose words in a job mean several keys, or depend on others.

#include "jobs/meaning.hpp"

#include <optional>
#include <string_view>
#include <vector>

namespace trainyard::jobs {

/// Heads, activation, norm, positions, dropout, attention, and the blocks with experts.
void complete_model_parts(JobDraft& draft, Tool tool);

/// Whether each of `layers` blocks has experts by Megatron-LM's --moe-layer-freq: "2" (blocks 0, 2, 4 ...) or
/// a sum of lists, "([0]*3+[1]*58)". Nothing if it is neither, or of another length.
std::optional<std::vector<bool>> expert_blocks(std::string_view text, long long layers);

}  // namespace trainyard::jobs
