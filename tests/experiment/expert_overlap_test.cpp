// Mixtures of experts whose exchanges of tokens overlap with computation: combinations that are refused.

#include "errors_of.hpp"
#include "shipped_layout.hpp"

#include <doctest/doctest.h>
#include <string>
#include <vector>

using namespace trainyard;
using namespace trainyard::testing;

namespace {

const Overrides over_eight{{"parallelism.expert", "8"}};
const Overrides in_pairs = joined(over_eight, {{"parallelism.expert_overlap", "micro_batches"}});

/// The keys of the errors of a small mixture of experts on eight GPUs.
std::vector<std::string> refused(const Overrides& layout) {
  std::vector<std::string> keys;
  for (const Diagnostic& error : errors_of([&] { small_mixture("dgx_a100", 1, layout); })) {
    CHECK_FALSE(error.hint.empty());
    keys.push_back(error.key_path);
  }
  return keys;
}

using Keys = std::vector<std::string>;
const Keys at_overlap{"parallelism.expert_overlap"};

}  // namespace

TEST_CASE("passes of two micro-batches do not gather parameters unit by unit") {
  for (const char* stack : {"pytorch_fsdp", "torchtitan", "megatron_lm"})
    CHECK(refused(joined(in_pairs, {{"stack", stack}, {"parallelism.shard", "parameters"}})) == at_overlap);
  // SHARD_GRAD_OP gathers them as well, ZeRO-2 does not
  const Overrides in_forward = joined(in_pairs, {{"parallelism.shard", "gradients"}});
  CHECK(refused(joined(in_forward, {{"stack", "pytorch_fsdp"}})) == at_overlap);
  CHECK(refused(joined(in_forward, {{"stack", "torchtitan"}})) == at_overlap);
  CHECK(refused(joined(in_forward, {{"stack", "deepspeed"}})).empty());
  // as the hint says
  CHECK(refused(joined(in_pairs, {{"stack", "pytorch_fsdp"}, {"parallelism.shard", "optimizer"}})).empty());
}
