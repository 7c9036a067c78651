#include "lowering/lower.hpp"

#include "compute/op_time.hpp"
#include "errors_of.hpp"
#include "lowering/optimizer_kernels.hpp"
#include "lowering/typed_layers.hpp"
#include "workload/accumulate.hpp"
#include "workload/decoder.hpp"
#include "workload/gpt2.hpp"
#include "workload/model_file.hpp"

#include <algorithm>
#include <doctest/doctest.h>
#include <numeric>
#include <string>

using namespace trainyard;

namespace {

const Lowering& pytorch() {
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
  double gigabytes = 0;  ///< of kernels that no matrix units limit
  double milliseconds = 0;
};

Launches launches(const Trace& trace, Phase phase, Layout layout = Layout::nchw) {
  Launches sum;
  for (const Op& op : trace.ops) {
    if (op.phase != phase) continue;
    (op.layer.find("clear") != std::string::npos ? sum.clears : sum.kernels) += op.launches;
    if (!is_matrix(op.kind)) sum.gigabytes += op.bytes.si() / 1e9;
    sum.milliseconds += 1e3 * op_time(h100(), *trace.precision, op, layout).duration.si();
  }
  return sum;
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

Model llama3_8b_of_4_layers() {
  DecoderHyperparameters parameters;
  parameters.layers = 4;
  parameters.hidden = 4096;
  parameters.heads = 32;
  parameters.kv_heads = 8;
  parameters.ffn = 14336;
  parameters.gated = true;
  parameters.norm = DecoderNorm::rms_norm;
  parameters.bias = false;
  parameters.position = DecoderPosition::rope;
  parameters.vocabulary = 128256;
  parameters.sequence_length = 4096;
  parameters.tied = false;
  parameters.dropout = false;
  parameters.attention = AttentionKernel::flash;
  Model model;
  model.layers = decoder_layers(parameters);
  return model;
}

Model shipped(const std::string& name) {
  return load_model(config::load(std::string(TRAINYARD_SOURCE_DIR) + "/workloads/models/" + name + ".yaml"));
}

int tensors(const Trace& trace) {
  int sum = 0;
  for (const Op& op : trace.ops) sum += static_cast<int>(op.gradients.size());
  return sum;
}

Lowering rules_of_text(const std::string& layers, const std::string& more = "") {
  return load_lowering(config::parse("own.yaml",
                                     "name: own\nkernels: [{name: vector}]\ngradient_sum: {kernel: vector}\n"
                                     "host: {forward: 1 us, backward: 1 us, tensor: 1 us, fused_tensor: 1 "
                                     "us, step: 0 s, gap: 0 s}\nlayers:\n" +
                                         layers + more));
}

}  // namespace

// Launches and bytes: profiles of PyTorch 2.11 on an H100, counted by rules whose sums these profiles
// confirm.
TEST_CASE("GPT-2 small under autocast launches the kernels of a profile") {
  const Trace trace =
      lowered_trace(gpt2(12, 768, 12), pytorch(),
                    {.batch = 16, .precision = Precision::amp_bf16, .optimizer = Optimizer::adam});
  const Launches forward = launches(trace, Phase::forward);
  CHECK(forward.kernels == 290);  // and 12 of random numbers, which count as clears
  CHECK(forward.gigabytes == doctest::Approx(30.53).epsilon(0.001));
  CHECK(forward.milliseconds == doctest::Approx(31.13).epsilon(0.01));
  const Launches backward = launches(trace, Phase::backward);
  CHECK(backward.kernels == 484);
  CHECK(backward.gigabytes == doctest::Approx(49.61).epsilon(0.001));
  CHECK(backward.milliseconds == doctest::Approx(48.54).epsilon(0.01));
  CHECK(forward.clears + backward.clears == 181 + 12);
  const Launches optimizer = launches(trace, Phase::optimizer);
  CHECK(optimizer.kernels == 56);
  CHECK(optimizer.gigabytes == doctest::Approx(9.96).epsilon(0.001));
  CHECK(tensors(trace) == 148);
}

TEST_CASE("GPT-2 medium in TF32 has attention of another library and no casts") {
  const Trace trace = lowered_trace(gpt2(24, 1024, 16), pytorch(),
                                    {.batch = 4, .precision = Precision::tf32, .optimizer = Optimizer::adam});
  CHECK(launches(trace, Phase::forward).kernels == 310);
  CHECK(launches(trace, Phase::forward).gigabytes == doctest::Approx(12.50).epsilon(0.001));
  CHECK(launches(trace, Phase::backward).kernels == 683);
  CHECK(launches(trace, Phase::backward).gigabytes == doctest::Approx(27.10).epsilon(0.001));
  CHECK(launches(trace, Phase::backward).milliseconds == doctest::Approx(59.69).epsilon(0.01));
  CHECK(launches(trace, Phase::optimizer).kernels == 144);
}

TEST_CASE("a decoder computes its projections one by one, and its norms and rotations in many kernels") {
  const Trace trace = lowered_trace(llama3_8b_of_4_layers(), pytorch(),
                                    {.batch = 2,
                                     .precision = Precision::pure_bf16,
                                     .optimizer = Optimizer::adam,
                                     .optimizer_kernels = OptimizerKernels::fused});
  CHECK(launches(trace, Phase::forward).kernels == 187);
  CHECK(launches(trace, Phase::forward).gigabytes == doctest::Approx(43.82).epsilon(0.002));
  CHECK(launches(trace, Phase::backward).kernels == 355);
  CHECK(launches(trace, Phase::backward).gigabytes == doctest::Approx(78.01).epsilon(0.001));
  CHECK(launches(trace, Phase::backward).milliseconds == doctest::Approx(94.90).epsilon(0.01));
  CHECK(launches(trace, Phase::optimizer).kernels == 93);
  CHECK(tensors(trace) == 4 * 9 + 3);
}

TEST_CASE("ResNet-50 in NHWC launches a batch norm in five kernels and adds gradients of both paths") {
  const LoweredStep step{.batch = 128,
                         .precision = Precision::amp_bf16,
                         .optimizer = Optimizer::momentum,
                         .layout = Layout::nhwc};
  const Trace trace = lowered_trace(shipped("resnet50"), pytorch(), step);
  CHECK(launches(trace, Phase::forward, Layout::nhwc).kernels == 446);  // a profile has 448
  CHECK(launches(trace, Phase::forward, Layout::nhwc).gigabytes == doctest::Approx(18.45).epsilon(0.001));
  CHECK(launches(trace, Phase::backward, Layout::nhwc).kernels == 448);
  CHECK(launches(trace, Phase::backward, Layout::nhwc).gigabytes == doctest::Approx(26.57).epsilon(0.001));
  CHECK(launches(trace, Phase::optimizer, Layout::nhwc).kernels == 9);
}

TEST_CASE("all gradients of a model are complete once, whatever its projections and its runtime") {
  for (const char* const name :
       {"bert_base", "vit_b_16", "llama2_7b", "mobilenet_v2", "t5_base", "qwen3_0_6b"}) {
    const Model model = shipped(name);
    double parameters = 0;
    std::size_t all = 0;
    for (const Layer& layer : model.layers) parameters += parameter_elements(layer);
    for (const Runtime runtime : {Runtime::eager, Runtime::compiled, Runtime::cuda_graph}) {
      const Trace trace = lowered_trace(
          model, pytorch(), {.precision = Precision::tf32, .optimizer = Optimizer::adam, .runtime = runtime});
      double sum = 0;
      for (const Op& op : trace.ops) {
        for (const Gradient& gradient : op.gradients) sum += gradient.elements;
      }
      CHECK_MESSAGE(sum == doctest::Approx(parameters).epsilon(1e-9), name);
      if (all == 0) all = static_cast<std::size_t>(tensors(trace));
      CHECK_MESSAGE(static_cast<std::size_t>(tensors(trace)) == all, name);
    }
  }
}

TEST_CASE("projections without bias are one tensor each") {
  const Trace trace = lowered_trace(shipped("t5_base"), pytorch(),
                                    {.precision = Precision::tf32, .optimizer = Optimizer::adam});
  const auto is_bias_sum = [](const Op& op) { return op.layer.ends_with("proj.column_sums"); };
  CHECK(std::ranges::none_of(trace.ops, is_bias_sum));
  const auto of = [&](const char* name) {
    return std::ranges::count_if(trace.ops, [&](const Op& op) { return op.layer == name; });
  };
  CHECK(of("decoder.h0.cross.kv.0.column_sums") == 0);
}

TEST_CASE("a kernel of tensors beyond 2^31 bytes is launched for each half") {
  const auto casts = [](int batch) {
    const Trace trace =
        lowered_trace(gpt2(1, 768, 12), pytorch(),
                      {.batch = batch, .precision = Precision::amp_bf16, .optimizer = Optimizer::adam});
    const auto cast = std::ranges::find(trace.ops, "loss.mixed", &Op::layer);
    REQUIRE(cast != trace.ops.end());
    return cast->launches;
  };
  CHECK(casts(10) == 1);  // 2.06e9 bytes of fp32 logits
  CHECK(casts(11) == 2);
}

TEST_CASE("lists of tensors fill kernels of 320 chunks or as many tensors as fit") {
  const auto numbers = [](const std::vector<double>& tensors, int most) {
    std::vector<double> values;
    for (const TensorLaunch& launch : tensor_launches(tensors, most)) values.push_back(launch.values);
    return values;
  };
  CHECK(numbers({10, 20, 30}, 2) == std::vector<double>{30, 30});
  CHECK(numbers({65536.0 * 320 + 1}, 110) == std::vector<double>{65536.0 * 320, 1});
  CHECK(numbers({65536.0 * 320, 5}, 110) == std::vector<double>{65536.0 * 320, 5});
  CHECK(numbers({}, 110).empty());
  const std::vector<double> many(1000, 70000);
  const auto launches = tensor_launches(many, 110);
  CHECK(std::accumulate(launches.begin(), launches.end(), 0.0,
                        [](double sum, const TensorLaunch& one) { return sum + one.values; }) == 7e7);
}

TEST_CASE("rules like others have their own layers first, and else the others'") {
  const auto read = [](const std::string& text) {
    return load_lowering(config::parse("own.yaml", text), &pytorch());
  };
  const Lowering rules = read(
      "name: own\nlike: pytorch_2_11\njoined_projections: true\nlayers:\n"
      "  - {layer: rmsnorm, forward: [{kernel: norm, passes: 2}]}\n");
  CHECK(rules.layers.size() == pytorch().layers.size() + 1);
  CHECK(rules.host.forward == pytorch().host.forward);
  const LoweredStep step{.batch = 1, .precision = Precision::pure_bf16, .optimizer = Optimizer::adam};
  const Trace own = lowered_trace(llama3_8b_of_4_layers(), rules, step);
  const Trace base = lowered_trace(llama3_8b_of_4_layers(), pytorch(), step);
  const auto products = [](const Trace& trace) {
    return std::ranges::count(trace.ops, OpKind::gemm, &Op::kind);
  };
  // of a layer: queries, keys and values in one of three, gate and up in one of two; three passes
  CHECK(products(own) == products(base) - 3 * 4 * (2 + 1));
  const auto of_norm = [](const Trace& trace) {
    return std::ranges::count_if(trace.ops, [](const Op& op) { return op.layer.starts_with("h0.ln1."); });
  };
  CHECK(of_norm(base) > 20);
  CHECK(of_norm(own) == 2);  // and the sum of the gradients of its input
  CHECK(
      errors_of([&] { read("name: own\nlike: pytorch_2_11\nclear: nothing_like_it\n"); }).front().key_path ==
      "clear");
  CHECK_NOTHROW(load_lowering(config::parse("own.yaml", "name: own\nlike: unread\nclear: its_own\n")));
  CHECK(errors_of([&] {
          read(
              "name: own\nlike: pytorch_2_11\nlayers: [{layer: relu, forward: []}, {layer: relu, forward: "
              "[]}]\n");
        })
            .front()
            .key_path == "layers[1].layer");
  const auto errors = errors_of([] { load_lowering(config::parse("own.yaml", "name: own\n")); });
  CHECK(errors.size() == 4);
  CHECK(errors.front().message == "key 'kernels' is missing");
}

TEST_CASE("an update tensor by tensor launches each operation on each tensor") {
  const Model model = gpt2(2, 768, 12);
  LoweredStep step{.batch = 1, .precision = Precision::amp_bf16, .optimizer = Optimizer::adam};
  const Trace lists = lowered_trace(model, pytorch(), step);
  step.optimizer_kernels = OptimizerKernels::loop;
  const Trace loop = lowered_trace(model, pytorch(), step);
  CHECK(launches(loop, Phase::optimizer).kernels == 8 * tensors(loop));
  CHECK(launches(loop, Phase::optimizer).gigabytes ==
        doctest::Approx(launches(lists, Phase::optimizer).gigabytes));
  Seconds host;
  for (const Op& op : loop.ops) host += op.phase == Phase::optimizer ? op.host : Seconds();
  CHECK(host.si() == doctest::Approx(8 * tensors(loop) * 11e-6));
  // The projections of a decoder are tensors of their own.
  step.precision = Precision::pure_bf16;
  const Trace llama = lowered_trace(llama3_8b_of_4_layers(), pytorch(), step);
  CHECK(launches(llama, Phase::optimizer).kernels == 8 * tensors(llama));
}

TEST_CASE("the layers behind a model's first blocks have the types that they have in the whole model") {
  const Model whole = gpt2(4, 768, 12);
  LoweredStep step{.batch = 1, .precision = Precision::amp_bf16, .optimizer = Optimizer::adam};
  const Trace all = lowered_passes(whole, pytorch(), step);
  Model part = whole;
  const auto second = std::ranges::find(part.layers, std::optional(2), &Layer::block);
  const auto cut = second - part.layers.begin();
  part.layers.erase(part.layers.begin(), second);
  const std::vector<TypedLayer> typed =
      typed_layers(whole.layers, traits_of(whole.layers), pytorch(), element_sizes(step.precision));
  const auto before = std::ranges::find(typed, static_cast<int>(cut) - 1, &TypedLayer::of_layer);
  CHECK(before->result == Bytes(4));
  step.part.emplace(
      PartOfModel{.traits = traits_of(whole.layers), .before = StreamSizes{before->result, before->other}});
  const Trace some = lowered_passes(part, pytorch(), step);
  std::vector<Op> wanted;
  for (Op op : all.ops) {
    if (op.of_layer < cut) continue;
    op.of_layer -= static_cast<int>(cut);
    wanted.push_back(op);
  }
  CHECK(some.ops == wanted);
}

TEST_CASE("rules of unknown classes, of two kinds of work and optimizers without rules are refused") {
  CHECK(errors_of([] { rules_of_text("  - {layer: relu, forward: [{kernel: vectr, passes: 2}]}\n"); })
            .front()
            .key_path == "layers[0].forward[0].kernel");
  CHECK(errors_of([] { rules_of_text("  - {layer: relu, forward: [{kernel: vector, matrix: product}]}\n"); })
            .front()
            .key_path == "layers[0].forward[0]");
  CHECK(errors_of([] { rules_of_text("  - {layer: relu}\n", "clear: memset\n"); }).front().key_path ==
        "clear");
  CHECK(
      errors_of([] { rules_of_text("  - {layer: relu, forward: [{kernel: vector, passes: 2, pads: 8}]}\n"); })
          .front()
          .key_path == "layers[0].forward[0].pads");
  CHECK(errors_of([] { rules_of_text("  - {layer: linear, forward: [{matrix: product, count: 2}]}\n"); })
            .front()
            .key_path == "layers[0].forward[0]");
  CHECK(errors_of([] {
          load_lowering(config::parse("own.yaml",
                                      "name: own\nkernels: [{name: vector}]\ngradient_sum: {kernel: vector, "
                                      "count: 2}\nhost: {forward: 1 us, backward: 1 us, tensor: 1 us, "
                                      "fused_tensor: 1 us, step: 0 s, gap: 0 s}\nlayers: [{layer: relu}]\n"));
        })
            .front()
            .key_path == "gradient_sum");
  const Lowering rules = rules_of_text("  - {layer: relu, forward: [{kernel: vector, passes: 2}]}\n");
  CHECK_THROWS_AS(lowered_trace(shipped("resnet18"), rules, {.optimizer = Optimizer::momentum}), InputError);
}

TEST_CASE("host times follow the factor of the host, kernels do not") {
  const Model model = gpt2(1, 768, 12);
  LoweredStep step{.batch = 1, .precision = Precision::amp_bf16, .optimizer = Optimizer::adam};
  const Trace reference = lowered_trace(model, pytorch(), step);
  step.host_times = 0.5;
  const Trace fast = lowered_trace(model, pytorch(), step);
  CHECK(fast.host.between_steps == 0.5 * reference.host.between_steps);
  REQUIRE(fast.ops.size() == reference.ops.size());
  for (std::size_t i = 0; i < fast.ops.size(); ++i) {
    CHECK(fast.ops[i].host.si() == doctest::Approx(0.5 * reference.ops[i].host.si()));
    CHECK(fast.ops[i].bytes == reference.ops[i].bytes);
    CHECK(fast.ops[i].gaps == reference.ops[i].gaps);
  }
  CHECK(fast.host.places == 1024);
  CHECK(fast.host.collective == 0.5 * pytorch().host.collective);
  CHECK(fast.host.synchronise.si() == doctest::Approx(0.5 * 10e-6 + 5e-6 - 1e-6));
}

TEST_CASE("compiled GPT-2 small launches one kernel between two products") {
  const LoweredStep step{.batch = 16,
                         .precision = Precision::amp_bf16,
                         .optimizer = Optimizer::adam,
                         .optimizer_kernels = OptimizerKernels::fused,
                         .runtime = Runtime::compiled};
  const Trace trace = lowered_trace(gpt2(12, 768, 12), pytorch(), step);
  CHECK(launches(trace, Phase::forward).kernels == doctest::Approx(215 - 12).epsilon(0.02));
  CHECK(launches(trace, Phase::forward).gigabytes == doctest::Approx(13.74).epsilon(0.02));
  CHECK(launches(trace, Phase::forward).milliseconds == doctest::Approx(17.13).epsilon(0.02));
  CHECK(launches(trace, Phase::backward).kernels == doctest::Approx(383).epsilon(0.02));
  CHECK(launches(trace, Phase::backward).gigabytes == doctest::Approx(18.55).epsilon(0.02));
  CHECK(launches(trace, Phase::backward).milliseconds == doctest::Approx(34.37).epsilon(0.02));
  CHECK(launches(trace, Phase::optimizer).kernels == 9);
  CHECK(tensors(trace) == 148);
}

TEST_CASE("CUDA graphs are the compiled kernels with one launch for each pass") {
  const Model model = gpt2(2, 768, 12);
  LoweredStep step{.batch = 1,
                   .precision = Precision::amp_bf16,
                   .optimizer = Optimizer::adam,
                   .runtime = Runtime::compiled};
  const Trace compiled = lowered_trace(model, pytorch(), step);
  step.runtime = Runtime::cuda_graph;
  const Trace graphs = lowered_trace(model, pytorch(), step);
  REQUIRE(graphs.ops.size() == compiled.ops.size());
  Seconds passes;
  for (std::size_t i = 0; i < graphs.ops.size(); ++i) {
    CHECK(graphs.ops[i].bytes == compiled.ops[i].bytes);
    if (graphs.ops[i].phase == Phase::optimizer)
      CHECK(graphs.ops[i].host == compiled.ops[i].host);
    else
      passes += graphs.ops[i].host;
  }
  CHECK(passes == 2 * pytorch().host.graph);
  const Lowering rules = rules_of_text("  - {layer: relu, forward: [{kernel: vector, passes: 2}]}\n");
  CHECK_THROWS_AS(lowered_trace(model, rules, step), InputError);  // it has no rules of a compiler
}

TEST_CASE("a checkpointed block launches its forward kernels again before its backward") {
  LoweredStep step{.batch = 16,
                   .precision = Precision::amp_bf16,
                   .optimizer = Optimizer::adam,
                   .optimizer_kernels = OptimizerKernels::fused,
                   .recomputes = true};
  const Trace trace = lowered_trace(gpt2(24, 1024, 16), pytorch(), step);
  CHECK(launches(trace, Phase::forward).kernels == 578 - 24);
  CHECK(launches(trace, Phase::forward).gigabytes == doctest::Approx(50.70).epsilon(0.001));
  CHECK(launches(trace, Phase::backward).kernels == doctest::Approx(1480).epsilon(0.02));
  CHECK(launches(trace, Phase::backward).gigabytes == doctest::Approx(121.26).epsilon(0.005));
  CHECK(launches(trace, Phase::backward).milliseconds == doctest::Approx(129.76).epsilon(0.01));
  CHECK(tensors(trace) == 292);
  const auto again = std::ranges::find(trace.ops, OpRole::recompute, &Op::role);
  REQUIRE(again != trace.ops.end());
  CHECK(again->layer.starts_with("h23."));
  CHECK(again->layer.ends_with(".recompute"));
}

TEST_CASE("fp16 autocast scales gradients back, and the host waits for that") {
  const auto synchronised = [](Precision precision) {
    const Trace trace = lowered_trace(shipped("bert_large"), pytorch(),
                                      {.batch = 32, .precision = precision, .optimizer = Optimizer::adam});
    const auto waits = [](const Op& op) { return op.synchronises; };
    return std::pair(std::ranges::count_if(trace.ops, waits), launches(trace, Phase::optimizer).kernels);
  };
  CHECK(synchronised(Precision::amp_bf16).first == 0);
  CHECK(synchronised(Precision::amp).first == 1);
  CHECK(synchronised(Precision::amp).second == 157);  // as profiled
}

TEST_CASE("norms of heads have kernels of their own, for queries and for keys") {
  DecoderHyperparameters parameters;
  parameters.layers = 1;
  parameters.hidden = 1024;
  parameters.heads = 16;
  parameters.kv_heads = 8;
  parameters.head_dim = 128;
  parameters.norm = DecoderNorm::rms_norm;
  parameters.position = DecoderPosition::rope;
  parameters.vocabulary = 1000;
  parameters.sequence_length = 256;
  parameters.attention = AttentionKernel::flash;
  const auto kernels = [&](bool has_norm, Phase phase) {
    parameters.qk_norm = has_norm ? QkNorm::heads : QkNorm::none;
    Model model;
    model.layers = decoder_layers(parameters);
    return launches(
               lowered_trace(model, pytorch(),
                             {.batch = 1, .precision = Precision::pure_bf16, .optimizer = Optimizer::adam}),
               phase)
        .kernels;
  };
  CHECK(kernels(true, Phase::forward) - kernels(false, Phase::forward) == 2 * 8);
  CHECK(kernels(true, Phase::backward) - kernels(false, Phase::backward) == 2 * 17);
}

TEST_CASE("a batch norm in NCHW has a block for each channel, and waits for turns beyond 300 or 400") {
  const Trace trace =
      lowered_trace(shipped("resnet50"), pytorch(),
                    {.batch = 128, .precision = Precision::amp_bf16, .optimizer = Optimizer::momentum});
  const auto duration = [&](const char* name) {
    const auto op = std::ranges::find(trace.ops, name, &Op::layer);
    REQUIRE(op != trace.ops.end());
    return op_time(h100(), Precision::amp_bf16, *op).duration.si();
  };
  const double pixels = 128.0 * 112 * 112;
  CHECK(duration("bn1.bn_plane_gradient") == doctest::Approx(2e-6 + 2.05e-9 * pixels).epsilon(0.01));
  const double last = 128.0 * 7 * 7;  // 2,048 channels
  CHECK(duration("layer4.2.bn3.bn_plane_gradient") ==
        doctest::Approx(2e-6 + 2.05e-9 * last * 2048 / 300).epsilon(0.05));
}

TEST_CASE("gradients of further micro-batches are added by a kernel for each tensor") {
  Trace trace = lowered_trace(gpt2(2, 768, 12), pytorch(),
                              {.batch = 1, .precision = Precision::amp_bf16, .optimizer = Optimizer::adam});
  const int all = tensors(trace);
  accumulate(trace, 4, Bytes(4), {});
  lower_additions(trace, pytorch(), {.host_times = 2});
  int additions = 0;
  for (const Op& op : trace.ops) {
    if (!is_gradient_addition(op)) continue;
    ++additions;
    CHECK(op.launches == all);
    CHECK(op.host == all * 2 * pytorch().host.backward);
  }
  CHECK(additions == 3);
}
