#include "lowering/lower.hpp"

#include "compute/op_time.hpp"
#include "workload/decoder.hpp"
#include "workload/gpt2.hpp"
#include "workload/model_file.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <string>

using namespace trainyard;

namespace {

const Lowering& eager() {
  static const Lowering rules = load_lowering(
      config::load(std::string(TRAINYARD_SOURCE_DIR) + "/workloads/lowering/pytorch_2_11.yaml"));
  return rules;
}

const GpuProfile& h100() {
  static const GpuProfile gpu = load_gpu_profile(
      config::load(std::string(TRAINYARD_SOURCE_DIR) + "/platforms/gpus/h100_measured.yaml"));
  return gpu;
}

struct Launches {
  int kernels = 0, clears = 0;
  double bytes = 0;  ///< of kernels limited by memory
  double milliseconds = 0;
};

Launches launches(const Trace& trace, Phase phase, Layout layout) {
  Launches sum;
  for (const Op& op : trace.ops) {
    if (op.phase != phase) continue;
    const bool is_clear = op.layer.ends_with("clear");
    (is_clear ? sum.clears : sum.kernels) += op.launches;
    if (!is_matrix(op.kind)) sum.bytes += op.bytes.si();
    sum.milliseconds += 1e3 * op_time(h100(), *trace.precision, op, layout).duration.si();
  }
  return sum;
}

void show(const std::string& name, const Model& model, LoweredStep step) {
  const Trace trace = lowered_trace(model, eager(), step);
  for (const Phase phase : {Phase::forward, Phase::backward, Phase::optimizer}) {
    const Launches sum = launches(trace, phase, step.layout);
    fmt::print("{} {}: {} ({} clears), {:.2f} GB, {:.2f} ms\n", name, config::name_of(phase), sum.kernels,
               sum.clears, sum.bytes / 1e9, sum.milliseconds);
  }
}

Model gpt2(int layers, int hidden, int heads) {
  Model model;
  model.layers = gpt2_layers({.layers = layers,
                              .hidden = hidden,
                              .heads = heads,
                              .vocabulary = 50257,
                              .pad_vocabulary = {},
                              .positions = 1024,
                              .sequence_length = 1024,
                              .attention = AttentionKernel::flash});
  return model;
}

Model shipped(const std::string& name, const std::string& changes = "") {
  (void)changes;
  return load_model(config::load(std::string(TRAINYARD_SOURCE_DIR) + "/workloads/models/" + name + ".yaml"));
}

}  // namespace

TEST_CASE("show") {
  show("gpt2_small amp", gpt2(12, 768, 12),
       {.batch = 16, .precision = Precision::amp_bf16, .optimizer = Optimizer::adam});
  show("gpt2_medium tf32", gpt2(24, 1024, 16),
       {.batch = 4, .precision = Precision::tf32, .optimizer = Optimizer::adam});
  DecoderHyperparameters llama{.layers = 4,
                               .hidden = 4096,
                               .heads = 32,
                               .kv_heads = 8,
                               .head_dim = {},
                               .ffn = 14336,
                               .gated = true,
                               .norm = DecoderNorm::rms_norm,
                               .bias = false,
                               .position = DecoderPosition::rope,
                               .vocabulary = 128256,
                               .pad_vocabulary = {},
                               .positions = {},
                               .sequence_length = 4096,
                               .tied = false,
                               .dropout = false,
                               .attention = AttentionKernel::flash};
  Model model;
  model.layers = decoder_layers(llama);
  show("llama3_8b_l4", model,
       {.batch = 2,
        .precision = Precision::pure_bf16,
        .optimizer = Optimizer::adam,
        .optimizer_kernels = OptimizerKernels::fused});
  show("resnet50", shipped("resnet50"),
       {.batch = 128,
        .precision = Precision::amp_bf16,
        .optimizer = Optimizer::momentum,
        .layout = Layout::nhwc});
}
