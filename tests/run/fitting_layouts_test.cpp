#include "run/fitting_layouts.hpp"

#include "run/memory_verdict.hpp"
#include "shipped_layout.hpp"

#include <algorithm>
#include <doctest/doctest.h>

using namespace trainyard;
using namespace trainyard::testing;

namespace {

/// GPT-3 175B with all activations kept, on as many nodes as hold two stages of it and no more.
const Overrides too_large{{"platform", "dgx_a100"}, {"nodes", "64"}, {"parallelism.pipeline", "2"}};

bool fits_with(const Overrides& set) {
  return fullest(memory_reports(gpt3_layout(joined(too_large, set)))).fits;
}

/// Found once: hundreds of layouts are tried.
const std::vector<FittingLayout>& offered_for_too_large() {
  static const std::vector<FittingLayout> layouts = layouts_that_fit(gpt3_layout(too_large));
  return layouts;
}

}  // namespace

TEST_CASE("layouts offered for a step that does not fit do fit, and keep the global batch") {
  const ResolvedExperiment resolved = gpt3_layout(too_large);
  REQUIRE_FALSE(fullest(memory_reports(resolved)).fits);
  const std::vector<FittingLayout>& layouts = offered_for_too_large();
  REQUIRE_FALSE(layouts.empty());
  for (const FittingLayout& layout : layouts) {
    const ResolvedExperiment other = gpt3_layout(joined(too_large, layout.set));
    const MemoryReport report = fullest(memory_reports(other));
    CHECK(report.fits);
    CHECK(report.peak == layout.peak);
    CHECK(replicas(other) * other.settings.accumulation ==
          replicas(resolved) * resolved.settings.accumulation);
  }
  CHECK(std::ranges::is_sorted(layouts, std::greater{}, &FittingLayout::peak));
}

TEST_CASE("two changes are offered only where no single one suffices") {
  const auto changes = [](const FittingLayout& layout) {
    return std::ranges::count_if(layout.set,
                                 [](const auto& set) { return set.first.starts_with("parallelism"); });
  };
  const bool has_single = fits_with({{"parallelism.recompute", "full"}}) ||
                          fits_with({{"parallelism.pipeline", "16"}, {"accumulation", "768"}});
  for (const FittingLayout& layout : offered_for_too_large()) CHECK(changes(layout) == (has_single ? 1 : 2));
}

TEST_CASE("a job whose ranks hold whole models is offered layouts as well") {
  const ResolvedExperiment resolved = shipped_experiment(
      "bert_large_dgx_a100", {{"model", "gpt3_5b"}, {"batch_per_gpu", "1"}, {"memory", "ignore"}});
  REQUIRE_FALSE(fullest(memory_reports(resolved)).fits);
  CHECK_FALSE(layouts_that_fit(resolved).empty());
  CHECK(fitting_hint(resolved).find("--set parallelism.") != std::string::npos);
}

TEST_CASE("no layout is offered where servers hold the parameters") {
  const ResolvedExperiment resolved = shipped_experiment("inception_v3_dgx1_p100_server");
  CHECK(layouts_that_fit(resolved).empty());
  CHECK(fitting_hint(resolved).empty());
}

namespace {

/// A published run: Mistral 7B whose weights, gradients and optimizer state are in bf16, with checkpoints of
/// activations, on one A100 of 80 GB. It used 77.3 GB, 72.4 of them allocated
/// (foundation-model-stack/fms-acceleration 876e2ed6, scripts/benchmarks/refs/a100_80gb.csv).
ResolvedExperiment mistral(const Overrides& more) {
  return shipped_experiment("bert_large_dgx_a100", joined({{"model", "mistral_7b"},
                                                           {"model.decoder.sequence_length", "4096"},
                                                           {"platform.node.gpus.profile", "a100_sxm4_80gb"},
                                                           {"nodes", "1"},
                                                           {"gpus", "1"},
                                                           {"stack", "pytorch_ddp"},
                                                           {"optimizer", "adam"},
                                                           {"batch_per_gpu", "4"},
                                                           {"parallelism.recompute", "full"}},
                                                          more));
}

}  // namespace

TEST_CASE(
    "Mistral 7B in pure bf16 fits one A100 of 80 GB, as published; in bf16 with fp32 copies it does not") {
  const MemoryReport pure = fullest(memory_reports(mistral({{"precision", "pure_bf16"}})));
  CHECK(pure.fits);
  CHECK(pure.peak.si() > 0.8 * 77.3e9);
  const ResolvedExperiment mixed = mistral({{"precision", "bf16"}});
  const bool fits = fullest(memory_reports(mixed)).fits;
  CHECK_FALSE(fits);
  CHECK(fitting_hint(mixed).find("--set precision=pure_bf16 (") != std::string::npos);
  const ResolvedExperiment wide = mistral({{"precision", "bf16"}, {"stack.gradient_dtype", "fp32"}});
  CHECK(fitting_hint(wide).find("--set precision=pure_bf16 --set stack.gradient_dtype=bf16 (") !=
        std::string::npos);
  const ResolvedExperiment single = mistral({{"precision", "tf32"}});
  CHECK(fitting_hint(single).find("pure_bf16") == std::string::npos);
}

TEST_CASE(
    "gradients of 16 bits are offered where they alone make a step fit, and not where weights have 32 bits") {
  const Overrides one{{"stack", "megatron_lm"}, {"gpus", "1"}, {"nodes", "1"}, {"batch_per_gpu", "1"}};
  ResolvedExperiment resolved =
      shipped_experiment("bert_large_dgx_a100", joined(one, {{"precision", "bf16"}}));
  const ResolvedExperiment halves = shipped_experiment(
      "bert_large_dgx_a100", joined(one, {{"precision", "bf16"}, {"stack.gradient_dtype", "bf16"}}));
  const Bytes with_fp32 = fullest(memory_reports(resolved)).peak;
  const Bytes with_bf16 = fullest(memory_reports(halves)).peak;
  REQUIRE(with_fp32 > with_bf16);
  resolved.gpu.memory.usable.reset();
  resolved.gpu.memory.capacity.value = (with_fp32 + with_bf16) / 2;
  const bool fits = fullest(memory_reports(resolved)).fits;
  REQUIRE_FALSE(fits);
  CHECK(fitting_hint(resolved).find("--set stack.gradient_dtype=bf16") != std::string::npos);
  resolved.gpu.memory.capacity.value = with_bf16 / 2;
  CHECK(fitting_hint(resolved).empty());
  ResolvedExperiment autocast =
      shipped_experiment("bert_large_dgx_a100", joined(one, {{"precision", "amp_bf16"}}));
  autocast.gpu.memory.usable.reset();
  autocast.gpu.memory.capacity.value = 0.99 * fullest(memory_reports(autocast)).peak;
  CHECK(fitting_hint(autocast).find("\n    --set stack.gradient_dtype") == std::string::npos);
}
