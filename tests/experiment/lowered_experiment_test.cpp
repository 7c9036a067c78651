#include "config/diagnostic.hpp"
#include "shipped_experiment.hpp"
#include "workload/layer.hpp"

#include <algorithm>
#include <doctest/doctest.h>
#include <numeric>
#include <string>

using namespace trainyard;

namespace {

ResolvedExperiment on_h100(Overrides more = {}) {
  Overrides overrides{{"platform", "dgx_h100"},
                      {"model", "bert_base"},
                      {"precision", "amp_bf16"},
                      {"batch_per_gpu", "8"},
                      {"stack", "pytorch"}};
  overrides.insert(overrides.end(), more.begin(), more.end());
  return testing::shipped_experiment("resnet50_dgx2", overrides);
}

bool has_fused_attention(const ResolvedExperiment& resolved) {
  return std::ranges::find(resolved.model->layers, LayerKind::flash_attention, &Layer::kind) !=
         resolved.model->layers.end();
}

int launches(const ResolvedExperiment& resolved) {
  const auto& ops = resolved.classes.front().trace.ops;
  return std::accumulate(ops.begin(), ops.end(), 0, [](int sum, const Op& op) { return sum + op.launches; });
}

}  // namespace

TEST_CASE("a stack with runtime eager has the kernels of its lowering, and no factors of older software") {
  const ResolvedExperiment eager = on_h100();
  REQUIRE(eager.lowering);
  CHECK(launches(eager) > 1000);
  CHECK(eager.stack.slowdown.launch == Seconds());
  CHECK(std::ranges::any_of(eager.notes, [](const std::string& note) {
    return note.find("launched in a step") != std::string::npos;
  }));
  const ResolvedExperiment fused = on_h100({{"stack", "pytorch_ddp"}});
  CHECK(!fused.lowering);
  CHECK(launches(fused) < 600);
}

TEST_CASE("the stack chooses attention unless somebody sets the model's") {
  CHECK(has_fused_attention(on_h100()));
  CHECK(!has_fused_attention(on_h100({{"stack.attention", "eager"}})));
  CHECK(!has_fused_attention(on_h100({{"model.bert.attention", "unfused"}})));
  CHECK(!has_fused_attention(on_h100({{"stack", "pytorch_ddp"}})));
}

TEST_CASE("replicas that only recompute their blocks need no layout") {
  const ResolvedExperiment again = on_h100({{"parallelism.recompute", "full"}});
  CHECK(again.recomputes);
  CHECK(!again.layout);
  CHECK(launches(again) > 1.2 * launches(on_h100()));
  // Fused attention keeps no scores to compute again.
  CHECK(launches(on_h100({{"parallelism.recompute", "selective"}})) == launches(on_h100()));
}

TEST_CASE("unfused attention is computed again alone on a stack with a lowering") {
  const ResolvedExperiment again =
      on_h100({{"stack.attention", "eager"}, {"parallelism.recompute", "selective"}});
  std::ptrdiff_t all = 0;
  for (const Op& op : again.classes.front().trace.ops) {
    if (op.role != OpRole::recompute) continue;
    ++all;
    CHECK(op.layer.find(".attn.") != std::string::npos);
    CHECK(op.host > Seconds());
  }
  CHECK(all >= 12 * 4);  // in each block scores, softmax, dropout and context
  CHECK(all % 12 == 0);
}

TEST_CASE("the stack chooses the attention of a U-Net, and Swin says why it does without a fused kernel") {
  const auto has_note = [](const ResolvedExperiment& resolved) {
    return std::ranges::any_of(resolved.notes, [](const std::string& note) {
      return note.find("model.swin.attention") != std::string::npos;
    });
  };
  CHECK(has_fused_attention(on_h100({{"model", "stable_diffusion_1_5"}})));
  CHECK(!has_fused_attention(on_h100({{"model", "stable_diffusion_1_5"}, {"stack.attention", "eager"}})));
  const ResolvedExperiment swin = on_h100({{"model", "swin_tiny"}});
  CHECK(!has_fused_attention(swin));
  CHECK(has_note(swin));
  CHECK(!has_note(on_h100({{"model", "swin_tiny"}, {"stack.attention", "eager"}})));
  const ResolvedExperiment fused = on_h100({{"model", "swin_tiny"}, {"model.swin.attention", "flash"}});
  CHECK(has_fused_attention(fused));
  CHECK(!has_note(fused));
}

TEST_CASE("a compiler launches fewer kernels, and leaves BERT's attention separate") {
  const ResolvedExperiment compiled = on_h100({{"stack", "pytorch_compile"}});
  CHECK(launches(compiled) < launches(on_h100()));
  CHECK(!has_fused_attention(compiled));
  CHECK(has_fused_attention(on_h100({{"stack", "pytorch_compile"}, {"model", "gpt2_small"}})));
}

TEST_CASE("without a stack, models run on the software of the GPU's years, as far as it has rules") {
  const auto stack = [](Overrides more) {
    Overrides overrides{{"model", "gpt2_small"}, {"precision", "amp"}, {"batch_per_gpu", "1"}};
    overrides.insert(overrides.end(), more.begin(), more.end());
    return testing::shipped_experiment(no_file, overrides).stack.name;
  };
  CHECK(stack({{"platform", "dgx_h100"}}) == "pytorch");
  CHECK(stack({{"platform", "dgx1v"}}) == "pytorch_ddp");
  CHECK(stack({{"platform", "dgx_h100"}, {"stack", "apex_ddp"}}) == "apex_ddp");
  CHECK(stack({{"platform", "dgx_h100"}, {"optimizer", "lamb"}}) == "pytorch_ddp");
  CHECK(stack({{"platform", "dgx_h100"}, {"parallelism.tensor", "2"}}) == "pytorch");
  CHECK(stack({{"platform", "dgx_h100"}, {"parallelism.shard", "parameters"}}) == "pytorch");
  CHECK(stack({{"platform", "dgx1v"}, {"parallelism.tensor", "2"}}) == "pytorch_ddp");
  CHECK(stack({{"platform", "dgx_h100"}, {"nodes", "1"}, {"gpus", "1"}, {"model", "dlrm"}}) ==
        "pytorch_ddp");  // sparse gradients
}

TEST_CASE("the platform's host launches as fast as node.host.launch says") {
  const auto host = [](const ResolvedExperiment& resolved) {
    const Trace& trace = resolved.classes.front().trace;
    return std::accumulate(trace.ops.begin(), trace.ops.end(), trace.host.between_steps,
                           [](Seconds sum, const Op& op) { return sum + op.host; })
        .si();
  };
  const double stated = host(on_h100({{"platform.node.host.launch", "1"}}));
  CHECK(stated > 0.01);
  CHECK(host(on_h100()) == stated);  // of the year of the reference host
  CHECK(host(on_h100({{"platform.node.host.launch", "0.5"}})) == doctest::Approx(0.5 * stated));
  CHECK(host(on_h100({{"platform", "dgx1v"}, {"precision", "amp"}})) > 1.1 * stated);
}
