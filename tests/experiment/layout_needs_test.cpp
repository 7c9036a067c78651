// Settings of layouts that need others of the job: which combinations are refused, at which key.

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

TEST_CASE("hints of schedules without pairs of micro-batches name one that has them") {
  const Overrides stages = joined(in_pairs, {{"parallelism.expert", "2"}, {"parallelism.pipeline", "4"}});
  for (const char* schedule : {"zb_v", "dualpipe_v", "1f1b", "gpipe"})
    CHECK(refused(joined(stages, {{"parallelism.schedule", schedule}})) == at_overlap);
  CHECK(refused(stages) == at_overlap);
  CHECK(refused(joined(stages, {{"parallelism.virtual_stages", "2"}})).empty());
  CHECK(
      refused(joined(stages, {{"parallelism.schedule", "interleaved"}, {"parallelism.virtual_stages", "2"}}))
          .empty());
  CHECK(refused(joined(in_pairs, {{"accumulation", "1"}})) == at_overlap);
}

TEST_CASE("shared experts run during DeepEP's exchanges where kernels are launched one by one") {
  const Overrides shared{{"stack", "megatron_core"}, {"model.decoder.shared_expert_ffn", "2048"}};
  for (const char* dispatcher : {"alltoall", "deepep"}) {
    CHECK(refused(joined(joined(over_eight, shared), {{"parallelism.dispatcher", dispatcher},
                                                      {"parallelism.expert_overlap", "shared_experts"}}))
              .empty());
  }
}

TEST_CASE("keys of experts are refused where nothing reads them") {
  const auto dense = [](const Overrides& layout) {
    std::vector<std::string> keys;
    for (const Diagnostic& error : errors_of([&] { small_decoder("dgx_a100", 1, layout); }))
      keys.push_back(error.key_path);
    return keys;
  };
  CHECK(dense({{"parallelism.dispatcher", "deepep"}}) == Keys{"parallelism.dispatcher"});
  CHECK(dense({{"parallelism.expert_overlap", "shared_experts"}}) == at_overlap);
  CHECK(dense({{"parallelism.expert_tensor", "1"}}) == Keys{"parallelism.expert_tensor"});
  CHECK(refused({{"parallelism.dispatcher", "deepep"}}) == Keys{"parallelism.dispatcher"});
  const Overrides groups = joined(over_eight, {{"parallelism.routing.groups", "4"}});
  const Overrides limited = joined(groups, {{"parallelism.routing.group_limit", "2"}});
  const Overrides deepep{{"parallelism.dispatcher", "deepep"}};
  CHECK(refused(joined(groups, deepep)) == Keys{"parallelism.routing.groups"});
  CHECK(refused(limited) == Keys{"parallelism.routing.groups"});
  CHECK(refused(joined(limited, deepep)).empty());
}

TEST_CASE("keys of recomputation and sharding are refused where nothing reads them") {
  CHECK(refused({{"parallelism.recompute_layers", "2"}}) == Keys{"parallelism.recompute"});
  CHECK(refused({{"parallelism.recompute_every", "2"}}) == Keys{"parallelism.recompute"});
  const Overrides full{{"parallelism.recompute", "full"}};
  CHECK(refused(joined(full, {{"parallelism.recompute_layers", "9"}})) ==
        Keys{"parallelism.recompute_layers"});
  CHECK(refused(joined(full, {{"parallelism.recompute_every", "9"}})) == Keys{"parallelism.recompute_every"});
  CHECK(refused(joined(full, {{"parallelism.recompute_layers", "8"}})).empty());
  const Overrides inside{{"parallelism.shard_over", "node"}};
  CHECK(refused(inside) == Keys{"parallelism.shard_over"});
  CHECK(refused(joined(inside, {{"parallelism.shard", "optimizer"}})).empty());
}

TEST_CASE("nodes divide what the stack divides by default") {
  const auto resolved =
      small_decoder("dgx_a100", 2, {{"stack", "pytorch_fsdp"}, {"parallelism.shard_over", "node"}});
  REQUIRE(resolved.layout);
  CHECK(resolved.layout->parallelism.shard == Sharded::parameters);
  CHECK(resolved.layout->state_shards.at(Axis::data) == 8);
}
