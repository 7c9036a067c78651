// The sum of the gradients' norm at the end of a step.

#include "schedule/layout_plan.hpp"
#include "shipped_layout.hpp"

#include <algorithm>
#include <doctest/doctest.h>
#include <vector>

using namespace trainyard;
using namespace trainyard::testing;

namespace {

std::vector<Collective> norms_of(const ResolvedExperiment& resolved) {
  std::vector<Collective> found = plan_layout_step(resolved).graph.collectives;
  std::erase_if(found, [](const Collective& one) { return one.label.purpose != "gradient norm"; });
  return found;
}

Collective norm_of(const ResolvedExperiment& resolved) {
  const std::vector<Collective> found = norms_of(resolved);
  REQUIRE(found.size() == 1);
  return found.front();
}

}  // namespace

TEST_CASE("the ranks of each replica of GPT-3 175B sum one fp32 value") {
  const Collective norm = norm_of(gpt3_layout());
  CHECK(norm.operation == Operation::all_reduce);
  CHECK(norm.size == Bytes(4));
  CHECK(norm.group_size == 8 * 8);
  CHECK(norm.groups == 16);
  CHECK(norm.participants == 1024);
  CHECK(norm.rounds == 1);
  CHECK(norm.overhead >= norm.label.bound);
  CHECK(norm.overhead < Seconds(1e-3));
}

TEST_CASE("with sharded state all ranks sum it, or those that hold a copy of the state together") {
  CHECK(norm_of(gpt3_layout({{"parallelism.shard", "optimizer"}})).group_size == 1024);
  const Overrides four_ways{{"parallelism.tensor", "4"}, {"parallelism.shard", "optimizer"}};
  CHECK(norm_of(small_decoder("dgx_a100", 2, four_ways)).group_size == 16);
  const Collective inside =
      norm_of(small_decoder("dgx_a100", 2, joined(four_ways, {{"parallelism.shard_over", "node"}})));
  CHECK(inside.group_size == 8);
  CHECK(inside.groups == 2);
}

TEST_CASE("a rank that holds all of the model and its state sums no norm, nor does a stack without the key") {
  CHECK(norms_of(small_decoder("dgx_a100", 1, {{"parallelism.recompute", "full"}})).empty());
  CHECK(norms_of(gpt3_layout({{"stack.clip_gradients", "false"}})).empty());
  CHECK(
      norms_of(small_decoder("dgx_a100", 1, {{"stack", "pytorch_fsdp"}, {"parallelism.shard", "parameters"}}))
          .empty());
}
