#include "lowering/lowered_memory.hpp"

#include "workload/gpt2.hpp"
#include "workload/model_file.hpp"
#include "workload/transformer_layers.hpp"

#include <doctest/doctest.h>
#include <string>

using namespace trainyard;

namespace {

const Lowering& kept_by_pytorch() {
  static const Lowering rules = load_lowering(
      config::load(std::string(TRAINYARD_SOURCE_DIR) + "/workloads/lowering/pytorch_2_11.yaml"));
  return rules;
}

Lowering lowering_of(const std::string& layers) {
  return load_lowering(config::parse("own.yaml",
                                     "name: own\nkernels: [{name: vector}]\ngradient_sum: {kernel: vector}\n"
                                     "host: {forward: 1 us, backward: 1 us, tensor: 1 us, fused_tensor: 1 "
                                     "us, step: 0 s, gap: 0 s}\nlayers:\n" +
                                         layers));
}

MemorySetting setting_of(const LoweredStep& step) {
  return {.batch = static_cast<double>(step.batch), .precision = step.precision, .optimizer = step.optimizer};
}

FullestMoment moment_of(const std::vector<Layer>& layers, const LoweredStep& step) {
  return fullest_moment(layers, kept_by_pytorch(), step, setting_of(step));
}

/// Of the whole step, in GB.
double peak(const std::vector<Layer>& layers, const LoweredStep& step) {
  MemorySetting setting = setting_of(step);
  setting.fullest = fullest_moment(layers, kept_by_pytorch(), step, setting);
  return total(memory_per_rank(layers, setting)).si() / 1e9;
}

std::vector<Layer> gpt2_of(int layers, int hidden, int heads, AttentionKernel attention) {
  return gpt2_layers({.layers = layers,
                      .hidden = hidden,
                      .heads = heads,
                      .vocabulary = 50257,
                      .pad_vocabulary = {},
                      .positions = 1024,
                      .sequence_length = 1024,
                      .attention = attention});
}

std::vector<Layer> layers_of(const std::string& name) {
  return load_model(config::load(std::string(TRAINYARD_SOURCE_DIR) + "/workloads/models/" + name + ".yaml"))
      .layers;
}

double all_parameters(const std::vector<Layer>& layers) {
  double sum = 0;
  for (const Layer& layer : layers) sum += parameter_elements(layer);
  return sum;
}

}  // namespace

// max_memory_allocated of PyTorch 2.11 on an H100: 17.54, 34.45, 13.49 and 14.04 GB.
TEST_CASE("GPT-2 needs the memory that PyTorch allocates") {
  const std::vector<Layer> small = gpt2_of(12, 768, 12, AttentionKernel::flash);
  LoweredStep step{.batch = 16, .precision = Precision::amp_bf16, .optimizer = Optimizer::adam};
  CHECK(peak(small, step) == doctest::Approx(17.53).epsilon(0.001));
  CHECK(peak(gpt2_of(12, 768, 12, AttentionKernel::unfused), step) == doctest::Approx(34.43).epsilon(0.001));
  const std::vector<Layer> medium = gpt2_of(24, 1024, 16, AttentionKernel::flash);
  step = {.batch = 4, .precision = Precision::tf32, .optimizer = Optimizer::adam};
  CHECK(peak(medium, step) == doctest::Approx(13.49).epsilon(0.001));
  step = {.batch = 8,
          .precision = Precision::pure_bf16,
          .optimizer = Optimizer::adam,
          .optimizer_kernels = OptimizerKernels::fused};
  CHECK(peak(medium, step) == doctest::Approx(14.04).epsilon(0.001));
}

TEST_CASE("after backward only the gradients are left, and foreach kernels of Adam hold as much again") {
  for (const char* const name : {"resnet50", "gpt2_small", "bert_base", "t5_base"}) {
    const std::vector<Layer> layers = layers_of(name);
    const Bytes gradients = Bytes(4 * all_parameters(layers));
    LoweredStep step{.batch = 0, .precision = Precision::tf32, .optimizer = Optimizer::adam};
    const FullestMoment separate = moment_of(layers, step);
    CHECK(separate.gradients.si() == doctest::Approx(gradients.si()).epsilon(1e-9));
    CHECK(separate.update.si() == doctest::Approx(gradients.si()).epsilon(1e-9));
    CHECK(separate.activations == Bytes());
    CHECK(separate.weight_copies == Bytes());
    step.optimizer_kernels = OptimizerKernels::fused;
    CHECK(moment_of(layers, step).update == Bytes());
  }
}

TEST_CASE("a layer keeps its tensors until its backward, and holds others while a phase is in it") {
  const std::vector<Layer> layers{linear_layer("a", {3, 10, 20}), linear_layer("b", {3, 20, 5})};
  const LoweredStep step{.batch = 200, .precision = Precision::fp32, .optimizer = Optimizer::sgd};
  const auto activations = [&](const std::string& rules) {
    const Lowering lowering = lowering_of("  - {layer: linear, " + rules + "}\n");
    MemorySetting setting = setting_of(step);
    setting.has_earlier_gradients = true;  // so that the moment does not depend on them
    return fullest_moment(layers, lowering, step, setting).activations.si();
  };
  CHECK(activations("kept: [{of: input, passes: 1}]") == 4 * 200 * (30 + 60));
  CHECK(activations("kept: [{of: input, bytes: 1}, {of: weights, bytes: 2, when: [autocast]}]") == 200 * 90);
  CHECK(activations("held: [{passes: 2}]") == 2 * 4 * 200 * 60);  // of the first
  CHECK(activations("held: [{passes: 1}], held_backward: [{passes: 2}]") == 2 * 4 * 200 * 60);
  CHECK(activations("kept: [{of: input, passes: 1}], held_backward: [{passes: 3}]") ==
        4 * 200 * 30 + 3 * 4 * 200 * 60);  // the second has freed its own
}

TEST_CASE("of projections that read one tensor, those that cast it keep a copy each") {
  const Lowering rules = lowering_of(
      "  - {layer: embedding, result: parameter}\n"
      "  - {layer: linear, result: compute, kept: [{of: input, passes: 1, type: compute, when: "
      "[new_input]}]}\n");
  std::vector<Layer> layers{embedding_layer("words", {8, 1, 16}), linear_layer("qkv", {8, 16, 48})};
  layers.back().projections = {16, 16, 16};
  const auto kept = [&](Precision precision) {
    const LoweredStep step{.batch = 100, .precision = precision, .optimizer = Optimizer::sgd};
    MemorySetting setting = setting_of(step);
    setting.has_earlier_gradients = true;
    return fullest_moment(layers, rules, step, setting).activations.si();
  };
  CHECK(kept(Precision::tf32) == 100 * 4 * 128);
  CHECK(kept(Precision::pure_bf16) == 100 * 2 * 128);
  CHECK(kept(Precision::amp_bf16) == 100 * 3 * 2 * 128);
}

TEST_CASE("a ReLU with an upper limit keeps a copy of its input") {
  const auto kept = [](const char* relu) {
    const Model model = load_model(config::parse(
        "own.yaml", std::string("name: own\nlayers:\n  - input: [8, 4, 4]\n  - ") + relu +
                        ": {}\n  - flatten: {}\n  - linear: {out: 2}\n  - softmax_cross_entropy: {}\n"));
    return moment_of(model.layers, {.batch = 100, .precision = Precision::fp32}).activations.si();
  };
  CHECK(kept("relu6") - kept("relu") == 4 * 100 * 128);
}

TEST_CASE("gradients of earlier micro-batches are there from the start, besides those of the layer") {
  const std::vector<Layer> layers = layers_of("gpt2_small");
  const LoweredStep step{.batch = 16, .precision = Precision::amp_bf16, .optimizer = Optimizer::adam};
  MemorySetting setting = setting_of(step);
  setting.fullest = fullest_moment(layers, kept_by_pytorch(), step, setting);
  const MemoryTerms first = memory_per_rank(layers, setting);
  setting.has_earlier_gradients = true;
  setting.fullest = fullest_moment(layers, kept_by_pytorch(), step, setting);
  const MemoryTerms later = memory_per_rank(layers, setting);
  CHECK(first.gradients == Bytes());  // the fullest moment is at the loss
  CHECK(later.gradients.si() == doctest::Approx(4 * all_parameters(layers)).epsilon(1e-9));
  CHECK(total(later) - total(first) == later.gradients);
}

TEST_CASE("kinds of layers without rules keep what their costs say") {
  const std::vector<Layer> layers{prelu_layer("p", {4, 5})};
  const LoweredStep step{.batch = 3, .precision = Precision::fp32, .optimizer = Optimizer::sgd};
  CHECK(moment_of(layers, step).activations.si() == 4 * 3 * (20 + 20 + 20));
}

TEST_CASE(
    "values that backward computes again are not kept until then, but exist while their block is live") {
  const std::vector<Layer> layers = gpt2_of(4, 768, 12, AttentionKernel::unfused);
  const LoweredStep step{.batch = 4, .precision = Precision::bf16, .optimizer = Optimizer::adam};
  MemorySetting setting = setting_of(step);
  const FullestMoment all = fullest_moment(layers, kept_by_pytorch(), step, setting);
  for (const Layer& layer : layers)
    setting.not_kept.push_back(is_attention_core(layer) && layer.kind != LayerKind::batched_matmul
                                   ? NotKept::all
                                   : NotKept::nothing);
  const FullestMoment some = fullest_moment(layers, kept_by_pytorch(), step, setting);
  // 12 heads have 1,024 scores of a token each, of which its 16-bit probabilities are kept at least.
  constexpr double scores = 4.0 * 4 * 12 * 1024 * 1024;
  CHECK((all.kept - some.kept).si() >= 2 * scores);
  // One of four blocks has them at a time.
  CHECK((some.activations - some.kept).si() >= 2 * scores / 4);
  CHECK(some.activations < all.activations);
}
