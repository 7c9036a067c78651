// Ranks that share a model on a stack with a lowering: kernels, host and memory of a layout.

#include "run/memory_verdict.hpp"
#include "run/simulate.hpp"
#include "schedule/layout_plan.hpp"
#include "schedule/steady_launches.hpp"
#include "shipped_layout.hpp"

#include <algorithm>
#include <doctest/doctest.h>
#include <numeric>

using namespace trainyard;
using namespace trainyard::testing;

namespace {

/// GPT-2 small in the eager kernels of PyTorch on GPUs of a DGX H100.
ResolvedExperiment eager(int gpus, const Overrides& more = {}) {
  return shipped_experiment("resnet50_dgx2", joined({{"platform", "dgx_h100"},
                                                     {"nodes", "1"},
                                                     {"gpus", std::to_string(gpus)},
                                                     {"model", "gpt2_small"},
                                                     {"precision", "pure_bf16"},
                                                     {"optimizer", "adam"},
                                                     {"batch_per_gpu", "1"},
                                                     {"stack", "pytorch"}},
                                                    more));
}

int launches(const ResolvedExperiment& resolved, Phase phase) {
  int sum = 0;
  for (const Op& op : resolved.classes.front().trace.ops) sum += op.phase == phase ? op.launches : 0;
  return sum;
}

Run simulated(const ResolvedExperiment& resolved) {
  return simulate_step(resolved, {.fidelity = Fidelity::closed});
}

double time_of(const ResolvedExperiment& resolved) { return simulated(resolved).pace.time.si(); }

double memory_of(const ResolvedExperiment& resolved) { return fullest(memory_reports(resolved)).peak.si(); }

}  // namespace

TEST_CASE("replicas that only divide the optimizer's state run the kernels of whole replicas") {
  const ResolvedExperiment whole = eager(8);
  const ResolvedExperiment divided = eager(8, {{"parallelism.shard", "optimizer"}});
  REQUIRE(divided.layout);
  for (const Phase phase : {Phase::forward, Phase::backward})
    CHECK(launches(divided, phase) == launches(whole, phase));
  const auto update = [](const ResolvedExperiment& resolved) {
    Bytes bytes;
    for (const Op& op : resolved.classes.front().trace.ops) {
      if (op.phase == Phase::optimizer) bytes += op.bytes;
    }
    return bytes.si();
  };
  CHECK(update(divided) == doctest::Approx(update(whole) / 8).epsilon(1e-3));
}

TEST_CASE("on one GPU a layout's step is that of its launches one after the other") {
  for (const char* micro_batches : {"1", "3"}) {
    CAPTURE(micro_batches);
    for (const char* launch : {"0.1", "1"}) {
      const Overrides job{{"accumulation", micro_batches}, {"platform.node.host.launch", launch}};
      const ResolvedExperiment divided = eager(1, joined(job, {{"parallelism.shard", "optimizer"}}));
      REQUIRE(divided.layout);
      const StepPlan plan = plan_layout_step(divided);
      const SteadyLaunches steady = steady_launches_alone(divided.classes.front(), plan.op_times.front(),
                                                          divided.layout->micro_batches, {});
      CHECK(time_of(divided) == doctest::Approx(steady.step.si()).epsilon(1e-9));
      // A whole replica adds gradients before the next micro-batch, a layout after it.
      const double rounding = divided.layout->micro_batches == 1 ? 1e-9 : 0.01;
      CHECK(time_of(divided) == doctest::Approx(time_of(eager(1, job))).epsilon(rounding));
    }
  }
}

TEST_CASE("a step that waits for its host becomes longer by the launches of its collectives") {
  const Overrides slow{{"platform.node.host.launch", "3"}, {"parallelism.shard", "parameters"}};
  ResolvedExperiment resolved = eager(2, slow);
  const double with = time_of(resolved);
  const Seconds each = resolved.classes.front().trace.host.collective;
  CHECK(each.si() == doctest::Approx(3 * 36e-6));
  resolved.classes.front().trace.host.collective = {};
  const auto collectives = static_cast<double>(plan_layout_step(resolved).graph.collectives.size());
  CHECK(collectives > 12);
  const double without = time_of(resolved);
  CHECK(with > without + 0.5 * collectives * each.si());
  CHECK(with < without + 3 * collectives * each.si());
}

TEST_CASE("ranks of a tensor group launch as many kernels, of half the products") {
  const ResolvedExperiment whole = eager(1);
  const ResolvedExperiment halves =
      eager(2, {{"parallelism.tensor", "2"}, {"model.gpt2.pad_vocabulary", "none"}});
  REQUIRE(halves.layout);
  CHECK(launches(halves, Phase::forward) == doctest::Approx(launches(whole, Phase::forward)).epsilon(0.02));
  const auto products = [](const ResolvedExperiment& resolved) {
    Flops sum;
    for (const Op& op : resolved.classes.front().trace.ops) {
      if (is_matrix(op.kind)) sum += op.flops;
    }
    return sum.si();
  };
  CHECK(products(halves) == doctest::Approx(products(whole) / 2).epsilon(0.01));
}

TEST_CASE("stages wait for their hosts, not for each other's") {
  const Overrides job{{"parallelism.pipeline", "2"}, {"accumulation", "4"}};
  const auto waits = [&](const char* launch) {
    const Run run = simulated(eager(2, joined(job, {{"platform.node.host.launch", launch}})));
    return trainyard::step_of(run).classes.front().launch_waits / run.pace.time;
  };
  CHECK(waits("0.01") < 0.01);
  CHECK(waits("2") > 0.3);
}

TEST_CASE("blocks that a layout computes again launch their forward kernels and collectives twice") {
  const ResolvedExperiment once = eager(2, {{"parallelism.tensor", "2"}});
  const ResolvedExperiment again = eager(2, {{"parallelism.tensor", "2"}, {"parallelism.recompute", "full"}});
  CHECK(launches(again, Phase::backward) >
        launches(once, Phase::backward) + 0.8 * launches(once, Phase::forward));
  const auto collectives = [](const ResolvedExperiment& resolved) {
    std::size_t sum = 0;
    for (const Op& op : resolved.classes.front().trace.ops) sum += op.communications.size();
    return sum;
  };
  CHECK(collectives(again) == collectives(once) + 2 * 12);
  CHECK(memory_of(again) < memory_of(once));
}

TEST_CASE("the first stage keeps what its micro-batches under way keep") {
  const auto activations = [](const char* micro_batches) {
    const auto reports = memory_reports(
        eager(2, {{"parallelism.pipeline", "2"}, {"accumulation", micro_batches}, {"batch_per_gpu", "16"}}));
    return reports.front().terms.activations.si();
  };
  const double growth = activations("2") - activations("1");
  const double values = 16.0 * 1024 * 768;
  CHECK(growth >
        6 * 28 *
            values);  // of each of its blocks, in bytes: Korthikanti et al. 2022, equation 2, without scores
  CHECK(growth < 6 * 36 * values);
  CHECK(activations("8") == doctest::Approx(activations("2")));  // 1F1B has two under way there
}

TEST_CASE("state that replicas divide takes a part of the memory, and so do the update's tensors") {
  const double whole = memory_of(eager(8));
  const double parameters = 124e6;
  const double divided = memory_of(eager(8, {{"parallelism.shard", "optimizer"}}));
  // Two moments of 2 bytes; the tensors of the update are no longer the fullest moment.
  CHECK(whole - divided > 0.8 * 7. / 8 * parameters * 4);
  CHECK(memory_of(eager(8, {{"parallelism.shard", "parameters"}})) < divided);
}

TEST_CASE("layouts that a lowering has no rules for are refused with their key") {
  const auto refuse = [](const Overrides& layout) {
    try {
      eager(2, layout);
    } catch (const InputError& error) {
      return error.diagnostics().front().key_path;
    }
    return std::string();
  };
  CHECK(refuse({{"parallelism.tensor", "2"}, {"parallelism.recompute_modules", "[moe_act]"}}) ==
        "parallelism.recompute_modules");
  CHECK(refuse({{"parallelism.tensor", "2"}, {"stack.runtime", "cuda_graph"}}) == "parallelism");
  CHECK(refuse({{"parallelism.pipeline", "2"}, {"parallelism.schedule", "zb_h1"}}) == "parallelism.schedule");
  CHECK(refuse({{"precision", "fp8"}}) == "precision");
  CHECK(refuse({{"optimizer", "lamb"}}) == "optimizer");
  CHECK(refuse({{"parallelism.tensor", "2"}, {"optimizer", "lamb"}}) == "optimizer");
  CHECK(refuse({{"parallelism.layers", "[{match: head, split: columns}]"}}) == "parallelism.layers");
}

TEST_CASE("shared experts run beside exchanges of either dispatcher on a stack with a lowering") {
  const auto time = [](const char* dispatcher, const char* overlap) {
    return time_of(eager(8, {{"model", "deepseek_v3"},
                             {"model.decoder.layers", "5"},
                             {"stack", "megatron_core"},
                             {"parallelism.expert", "8"},
                             {"parallelism.dispatcher", dispatcher},
                             {"parallelism.expert_overlap", overlap}}));
  };
  for (const char* dispatcher : {"alltoall", "deepep"})
    CHECK(time(dispatcher, "shared_experts") < time(dispatcher, "none"));
}

TEST_CASE("layouts of all kinds run on all lowerings, and no step is shorter than its kernels") {
  const std::vector<Overrides> layouts{
      {{"parallelism.tensor", "2"}, {"parallelism.sequence", "true"}},
      {{"parallelism.context", "2"}},
      {{"parallelism.context", "2"}, {"parallelism.context_exchange", "all_gather"}},
      {{"parallelism.pipeline", "2"}, {"accumulation", "4"}, {"parallelism.virtual_stages", "2"}},
      {{"parallelism.pipeline", "2"}, {"accumulation", "4"}, {"parallelism.schedule", "gpipe"}},
      {{"parallelism.shard", "gradients"}, {"accumulation", "2"}},
      {{"parallelism.shard", "parameters"}, {"parallelism.recompute", "full"}},
      {{"parallelism.expert", "2"}, {"model", "mixtral_8x7b"}, {"model.decoder.layers", "2"}}};
  for (const char* stack : {"pytorch", "pytorch_compile", "megatron_core", "jax_xla", "transformer_engine"}) {
    for (const Overrides& layout : layouts) {
      CAPTURE(stack);
      CAPTURE(layout.front().first);
      const Run run = simulated(eager(
          2,
          joined(
              {{"stack", stack}, {"model", "llama3_8b"}, {"model.decoder.layers", "4"}, {"memory", "ignore"}},
              layout)));
      for (const ClassStep& one : trainyard::step_of(run).classes) {
        CHECK(one.compute > Seconds());
        CHECK(one.compute + one.launch_waits <= (1 + 1e-9) * run.pace.time);
      }
    }
  }
}

TEST_CASE("residual sums of gradients are divided among ranks that share tokens") {
  const auto sums = [](const Overrides& layout) {
    const ResolvedExperiment resolved = eager(
        2, joined({{"model", "llama3_8b"}, {"model.decoder.layers", "2"}, {"memory", "ignore"}}, layout));
    Bytes bytes;
    for (const Op& op : resolved.classes.front().trace.ops) {
      if (op.phase == Phase::backward && op.layer == "h0.ln1.vector" && op.flops == Flops())
        bytes += op.bytes;
    }
    return bytes.si();
  };
  const double whole = sums({});
  CHECK(whole > 0);
  CHECK(sums({{"parallelism.tensor", "2"}, {"parallelism.sequence", "true"}}) == doctest::Approx(whole / 2));
  CHECK(sums({{"parallelism.context", "2"}}) == doctest::Approx(whole / 2));
}

TEST_CASE("a host that is never late leaves a pipeline its segments") {
  const Overrides job{{"parallelism.pipeline", "2"}, {"accumulation", "4"}, {"stack", "megatron_core"}};
  const auto segments = [&](const char* launch) {
    return plan_layout_step(eager(2, joined(job, {{"platform.node.host.launch", launch}})))
        .graph.segments.size();
  };
  CHECK(segments("0.01") > 0);
  CHECK(segments("5") == 0);
}
