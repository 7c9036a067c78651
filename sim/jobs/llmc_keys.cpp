#include "jobs/key_rules.hpp"

namespace trainyard::jobs {
namespace {

// Source: karpathy/llm.c, train_gpt2.cu, error_usage().
constexpr KeyRule llmc_rules[] = {
    taken("llmc.e", "@model"),
    taken("llmc.b", "batch_per_gpu"),
    taken("llmc.t", "sequence_length"),
    taken("llmc.d", "@global_tokens"),
    taken("llmc.z", "parallelism.shard"),
    taken("llmc.x", "@steps"),
    differs("llmc.r", "which activations are computed again"),
    no_effect("llmc.*"),
};

}  // namespace

std::span<const KeyRule> llmc_keys() { return llmc_rules; }

}  // namespace trainyard::jobs
