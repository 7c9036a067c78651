// The collectives that mixtures of experts plan: their sizes, groups and counts.

#include "schedule/layout_plan.hpp"
#include "shipped_layout.hpp"

#include <algorithm>
#include <doctest/doctest.h>
#include <map>
#include <string>

using namespace trainyard;
using namespace trainyard::testing;

namespace {

/// Mixtral 8x7B on eight nodes of eight GPUs, four micro-batches of one sample of 4,096 tokens.
ResolvedExperiment mixtral(const Overrides& layout) {
  return shipped_experiment("bert_large_dgx_a100", joined({{"model", "mixtral_8x7b"},
                                                           {"nodes", "8"},
                                                           {"stack", "megatron"},
                                                           {"software", "ideal"},
                                                           {"stack.gradient_dtype", "fp32"},
                                                           {"precision", "bf16"},
                                                           {"batch_per_gpu", "1"},
                                                           {"accumulation", "4"},
                                                           {"optimizer", "adam"},
                                                           {"memory", "ignore"}},
                                                          layout));
}

std::vector<const Collective*> over(const StepPlan& plan, Axis axis, const std::string& purpose) {
  std::vector<const Collective*> found;
  for (const Collective& collective : plan.graph.collectives) {
    if (collective.label.axis == axis && collective.label.purpose == purpose) found.push_back(&collective);
  }
  return found;
}

/// Of tokens, not of their numbers or probabilities.
std::vector<const Collective*> exchanges_for(const StepPlan& plan, const std::string& purpose) {
  std::vector<const Collective*> found = over(plan, Axis::expert, purpose);
  std::erase_if(found, [](const Collective* one) { return one->size < Bytes(1e6); });
  return found;
}

double bytes_over(const StepPlan& plan, Axis axis, Operation operation) {
  double sum = 0;
  for (const Collective& collective : plan.graph.collectives) {
    const bool is_of_layer = collective.label.purpose.starts_with("activation");
    if (collective.label.axis == axis && collective.operation == operation && !is_of_layer)
      sum += collective.size.si();
  }
  return sum;
}

constexpr double experts = 32 * 8 * 3 * 4096.0 * 14336;
constexpr double others = 46'702'792'704 - experts;

}  // namespace

TEST_CASE("every layer of Mixtral exchanges 64 MiB four times per micro-batch") {
  const StepPlan plan = plan_layout_step(mixtral({{"parallelism.expert", "8"}}));
  for (const char* purpose : {"activations", "activation gradients"}) {
    const std::vector<const Collective*> exchanges = exchanges_for(plan, purpose);
    CHECK(exchanges.size() == 2 * 32);
    for (const Collective* exchange : exchanges) {
      CHECK(exchange->operation == Operation::all_to_all);
      CHECK(exchange->size == Bytes(67'108'864));
      CHECK(exchange->group_size == 8);
      CHECK(exchange->groups == 8);
      CHECK(exchange->rounds == 4);
    }
  }
}

TEST_CASE("full recomputation repeats both exchanges of a layer") {
  const StepPlan plan =
      plan_layout_step(mixtral({{"parallelism.expert", "8"}, {"parallelism.recompute", "full"}}));
  CHECK(exchanges_for(plan, "activations").size() == 2 * 32);
  CHECK(exchanges_for(plan, "activation gradients").size() == 4 * 32);
}

TEST_CASE("deepep sends each token once to a node of its experts, and on to their ranks") {
  // Groups of eight ranks on two nodes of four: two of eight experts lie on 2 (1 - 4/8 3/7) = 11/7 nodes.
  const StepPlan plan = plan_layout_step(
      mixtral({{"parallelism.expert", "8"}, {"parallelism.dispatcher", "deepep"}, {"gpus_per_node", "4"}}));
  const std::vector<const Collective*> exchanges = exchanges_for(plan, "activations");
  CHECK(exchanges.size() == 2 * 2 * 32);
  for (std::size_t i = 0; i < exchanges.size(); i += 2) {
    CHECK(exchanges[i]->group_size == 2);
    CHECK(exchanges[i]->size.si() == doctest::Approx(67'108'864 / 2 * 11.0 / 7).epsilon(1e-12));
    CHECK(exchanges[i + 1]->group_size == 4);
    CHECK(exchanges[i + 1]->size.si() == doctest::Approx(67'108'864).epsilon(1e-12));  // 8 ranks, 8 experts
  }
  const StepPlan inside =
      plan_layout_step(mixtral({{"parallelism.expert", "4"}, {"parallelism.dispatcher", "deepep"}}));
  // two experts lie on 4 (1 - 6/8 5/7) = 13/7 of four ranks with two experts each
  for (const Collective* exchange : exchanges_for(inside, "activations"))
    CHECK(exchange->size.si() == doctest::Approx(67'108'864 / 2 * 13.0 / 7).epsilon(1e-12));
}

TEST_CASE("deepep reaches 0.6 of the rate that links allow, all-to-alls of NCCL more") {
  const auto slowest_share = [](const std::string& dispatcher) {
    const StepPlan plan =
        plan_layout_step(mixtral({{"parallelism.expert", "8"}, {"parallelism.dispatcher", dispatcher}}));
    double share = 1;
    for (const Collective* exchange : exchanges_for(plan, "activations")) {
      for (const CollectivePhase& phase : exchange->phases) {
        const Pattern& pattern = plan.graph.patterns[static_cast<std::size_t>(phase.pattern)];
        share = std::min(share, phase.limit / lockstep_rate(uses_of(pattern), plan.graph.links));
      }
    }
    return share;
  };
  CHECK(slowest_share("deepep") == doctest::Approx(0.6).epsilon(1e-12));
  CHECK(slowest_share("alltoall") > 0.7);
}

TEST_CASE("gradients of experts are summed by their replicas, the others by all") {
  const StepPlan plan = plan_layout_step(mixtral({{"parallelism.expert", "8"}}));
  CHECK(bytes_over(plan, Axis::data, Operation::all_reduce) == 4 * others);
  CHECK(bytes_over(plan, Axis::expert_data, Operation::all_reduce) == 4 * experts / 8);
  for (const Collective* reduction : over(plan, Axis::data, "gradients")) CHECK(reduction->group_size == 64);
  for (const Collective* reduction : over(plan, Axis::expert_data, "gradients")) {
    CHECK(reduction->group_size == 8);
    CHECK(reduction->groups == 8);
  }
}

TEST_CASE("experts without replicas are not reduced") {
  const StepPlan plan = plan_layout_step(
      mixtral({{"parallelism.expert", "8"}, {"parallelism.pipeline", "8"}, {"accumulation", "8"}}));
  CHECK(over(plan, Axis::expert_data, "gradients").empty());
  CHECK(bytes_over(plan, Axis::data, Operation::all_reduce) == 4 * others);  // of all stages together
}

TEST_CASE("sharded optimizer state of experts is divided and gathered among their replicas") {
  const ResolvedExperiment resolved =
      mixtral({{"parallelism.expert", "4"}, {"parallelism.shard", "optimizer"}});
  CHECK(resolved.layout->state_shards == std::map<Axis, int>{{Axis::data, 64}, {Axis::expert_data, 16}});
  const StepPlan plan = plan_layout_step(resolved);
  CHECK(bytes_over(plan, Axis::expert_data, Operation::reduce_scatter) == 4 * experts / 4);
  CHECK(bytes_over(plan, Axis::expert_data, Operation::all_gather) == 2 * experts / 4);
  CHECK(bytes_over(plan, Axis::data, Operation::all_gather) == 2 * others);
  const Op& update = resolved.classes.front().trace.ops.back();
  CHECK(std::get<VectorShape>(update.shape).elements == others / 64 + experts / 4 / 16);
}

TEST_CASE("sharded parameters are gathered by both kinds of replicas") {
  const StepPlan plan =
      plan_layout_step(mixtral({{"parallelism.expert", "8"}, {"parallelism.shard", "parameters"}}));
  CHECK(bytes_over(plan, Axis::expert_data, Operation::all_gather) == 2 * experts / 8);
  CHECK(bytes_over(plan, Axis::data, Operation::all_gather) == 2 * others);
  CHECK(bytes_over(plan, Axis::expert_data, Operation::reduce_scatter) == 4 * experts / 8);
  CHECK(bytes_over(plan, Axis::data, Operation::reduce_scatter) == 4 * others);
}

TEST_CASE("gradients of layers that no other rank holds are not reduced") {
  ResolvedExperiment resolved = mixtral({{"parallelism.pipeline", "2"}});
  const double all = bytes_over(plan_layout_step(resolved), Axis::data, Operation::all_reduce);
  double own = 0;
  for (RankClass& one : resolved.classes) {
    for (Op& op : one.trace.ops) {
      for (Gradient& gradient : op.gradients) {
        if (!gradient.tensor.ends_with("moe.fc2.weight")) continue;
        gradient.summed_over = std::nullopt;
        own += gradient.elements;
      }
    }
  }
  CHECK(own == experts / 3);
  CHECK(bytes_over(plan_layout_step(resolved), Axis::data, Operation::all_reduce) == all - 4 * own);
}
