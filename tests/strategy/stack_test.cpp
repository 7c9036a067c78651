#include "strategy/stack.hpp"

#include "errors_of.hpp"
#include "strategy/stack_ops.hpp"
#include "workload/make_trace.hpp"
#include "workload/transformer_layers.hpp"

#include <algorithm>
#include <doctest/doctest.h>
#include <string>
#include <utility>
#include <vector>

using namespace trainyard;

namespace {

void read_stack(const std::string& text) { load_stack(config::parse("s.yaml", text)); }

std::vector<Diagnostic> stack_errors(const std::string& text) {
  return errors_of([&] { read_stack(text); });
}

}  // namespace

TEST_CASE("the shipped pytorch_ddp.yaml is PyTorch's defaults, each with its source") {
  const Stack stack = load_stack(config::load(TRAINYARD_SOURCE_DIR "/workloads/stacks/pytorch_ddp.yaml"));
  CHECK(stack.name == "pytorch_ddp");
  CHECK(first_bucket(stack) == Bytes(1 << 20));
  CHECK(stack.bucket_first->provenance == Provenance::specified);
  CHECK(largest_bucket(stack) == Bytes(25 << 20));
  CHECK(stack.bucket_cap->provenance == Provenance::specified);
  CHECK(stack.gradient_dtype == GradientDtype::as_computed);
  CHECK(stack.overlap);
  CHECK(stack.nccl == NcclVersion::v2_7_8);
  CHECK_FALSE(stack.op_overhead);  // as fitted
  CHECK(stack.framework == "pytorch");
}

TEST_CASE("a stack without overlap gathers no units ahead of their block, unless it says so") {
  const auto ahead = [](const std::string& more) {
    return load_stack(config::parse("s.yaml", "name: s\nframework: pytorch\nsource: [a test]\n" + more))
        .units.ahead;
  };
  CHECK(ahead("") == GatheredAhead::any);
  CHECK(ahead("overlap: false") == GatheredAhead::block);
  CHECK(ahead("overlap: false\nunits: {ahead: any, source: a test}") == GatheredAhead::any);
  // buckets of stages 1 and 2 do not overlap, gathers of stage 3 do
  const Stack zero = load_stack(config::load(TRAINYARD_SOURCE_DIR "/workloads/stacks/deepspeed.yaml"));
  CHECK_FALSE(zero.overlap);
  CHECK(zero.units.ahead == GatheredAhead::any);
}

TEST_CASE("keys of one runtime have no effect or no place in the other") {
  std::vector<Diagnostic> warnings;
  const Stack fused =
      load_stack(config::parse("s.yaml", "name: s\nlowering: own\noptimizer_kernels: fused\n"), &warnings);
  CHECK(fused.runtime == Runtime::fused);
  REQUIRE(warnings.size() == 2);
  CHECK(warnings[0].key_path == "lowering");
  CHECK(warnings[1].key_path == "optimizer_kernels");
  warnings.clear();
  load_stack(
      config::parse("s.yaml", "name: s\nruntime: eager\nmemory: {dropout_mask: value, context: 1 GB}\n"),
      &warnings);
  REQUIRE(warnings.size() == 1);
  CHECK(warnings[0].key_path == "memory.dropout_mask");
  const auto errors = stack_errors("name: s\nruntime: eager\nfused_elementwise: true\n");
  REQUIRE(errors.size() == 1);
  CHECK(errors[0].key_path == "fused_elementwise");
  CHECK(stack_errors("name: s\nruntime: jit\n").front().key_path == "runtime");
}

TEST_CASE("Horovod's fusion by version, and Megatron's one flat fp16 buffer") {
  const auto shipped = [](const std::string& name) {
    return load_stack(config::load(TRAINYARD_SOURCE_DIR "/workloads/stacks/" + name + ".yaml"));
  };
  CHECK(shipped("horovod").fusion->threshold.value == Bytes(128 << 20));
  CHECK(shipped("horovod").fusion->cycle_time.value == Seconds(1e-3));
  CHECK(shipped("horovod_0_20").fusion->threshold.value == Bytes(64 << 20));
  CHECK(shipped("horovod_0_20").fusion->cycle_time.value == Seconds(5e-3));
  const Stack megatron = shipped("megatron");
  CHECK_FALSE(megatron.fusion);
  CHECK_FALSE(megatron.overlap);
  CHECK(size_of(megatron.gradient_dtype, Precision::amp) == Bytes(2));
  const Stack halves = load_stack(config::parse("s.yaml", "name: s\ngradient_dtype: bf16\n"));
  CHECK(size_of(halves.gradient_dtype, Precision::amp_bf16) == Bytes(2));
  CHECK(size_of(shipped("pytorch_ddp").gradient_dtype, Precision::fp16) == Bytes(2));
  CHECK(size_of(shipped("pytorch_ddp").gradient_dtype, Precision::amp) == Bytes(4));
  for (const Precision half : {Precision::fp16, Precision::bf16, Precision::amp, Precision::amp_bf16})
    CHECK(size_of(GradientDtype::fp16_with_amp, half) == Bytes(2));
  for (const Precision single : {Precision::fp32, Precision::tf32})
    CHECK(size_of(GradientDtype::fp16_with_amp, single) == Bytes(4));
}

TEST_CASE("kept values need a name, a layer and a positive number") {
  const auto error_of = [](const std::string& kept) {
    const auto errors = stack_errors("name: s\nmemory: {kept: [" + kept + "]}\n");
    REQUIRE(errors.size() == 1);
    return errors.front();
  };
  CHECK(error_of("{name: '', layer: gelu, values: 1}").key_path == "memory.kept[0].name");
  CHECK(error_of("{name: tanh, layer: gelu, values: 0}").key_path == "memory.kept[0].values");
  CHECK(error_of("{name: tanh, layer: gleu, values: 1}").key_path == "memory.kept[0].layer");
  CHECK(stack_errors("name: s\nmemory: {pool: 1.1}\n").front().key_path == "memory.pool");
  CHECK(stack_errors("name: s\nmemory: {fragmentation: 0.9}\n").front().key_path == "memory.fragmentation");
}

TEST_CASE("a stack without the key memory keeps the minimum") {
  CHECK_FALSE(load_stack(config::parse("s.yaml", "name: s\n")).memory);
  const Stack stack = load_stack(config::parse("s.yaml", "name: s\nmemory: {dropout_mask: value}\n"));
  REQUIRE(stack.memory);
  CHECK(stack.memory->dropout_mask == DropoutMask::value);
  CHECK(stack.memory->pool.value == 1);
  CHECK(stack.memory->kept.empty());
}

TEST_CASE("what a stack leaves out is as in PyTorch DDP") {
  const Stack stack = load_stack(config::parse("s.yaml", "name: s\n"));
  CHECK(first_bucket(stack) == Bytes(1 << 20));
  CHECK(largest_bucket(stack) == Bytes(25 << 20));
  CHECK(stack.overlap);
}

TEST_CASE("all errors of a stack are reported at once") {
  const auto errors = stack_errors(
      "name: s\nbucket_cap: 0 MiB\ngradient_dtype: fp23\noverlap: yes\nnccl: 2.7.9\nop_overhead: -1 us\n"
      "bucket_frst: 1 MiB\n");
  REQUIRE(errors.size() == 6);
  CHECK(errors[0].key_path == "bucket_cap");
  CHECK(errors[1].key_path == "gradient_dtype");
  CHECK(errors[2].key_path == "overlap");
  CHECK(errors[3].key_path == "nccl");
  CHECK(errors[4].key_path == "op_overhead");
  CHECK(errors[5].hint == "did you mean 'bucket_first'?");
}

TEST_CASE("a stack is called what its file is called") {
  const auto errors = stack_errors("name: t\n");
  REQUIRE(errors.size() == 1);
  CHECK(errors[0].key_path == "name");
  CHECK(errors[0].message.find("s.yaml") != std::string::npos);
}

TEST_CASE("buckets beside tensor fusion are an error, not ignored") {
  const auto errors =
      stack_errors("name: s\nbucket_cap: 50 MiB\nfusion: {threshold: 64 MiB, cycle_time: 1 ms}\n");
  REQUIRE(errors.size() == 1);
  CHECK(errors[0].key_path == "bucket_cap");
}

TEST_CASE("a version of NCCL beside another library has no effect, and is doubted") {
  std::vector<Diagnostic> warnings;
  load_stack(config::parse("s.yaml", "name: s\nlibrary: mpich\nnccl: \"2.7.8\"\n"), &warnings);
  REQUIRE(warnings.size() == 1);
  CHECK(warnings[0].key_path == "nccl");
  CHECK(warnings[0].line == 3);
  warnings.clear();
  load_stack(config::parse("s.yaml", "name: s\nlibrary: mpich\n"), &warnings);
  load_stack(config::parse("s.yaml", "name: s\nlibrary: nccl\nnccl: \"2.4\"\n"), &warnings);
  CHECK(warnings.empty());
}

TEST_CASE("a first bucket larger than the others is only doubted") {
  std::vector<Diagnostic> warnings;
  load_stack(config::parse("s.yaml", "name: s\nbucket_first: 30 MiB\n"), &warnings);
  REQUIRE(warnings.size() == 1);
  CHECK(warnings[0].key_path == "bucket_first");
}

TEST_CASE("hosts take longer behind a step with more GPUs on a node, more nodes and more micro-batches") {
  const Stack stack = load_stack(config::parse(
      "s.yaml",
      "name: s\nstep_overhead: 100 ms\nstep_overhead_per_gpu: 2 ms\nmicro_batch_overhead: 3 ms\n"
      "scalar_rings: {count: 10, hop: 100 us, node_hop: 300 us}\n"));
  const auto time = [&](int micro_batches, int nodes, int gpus_per_node) {
    return host_time_of_ranks(stack, micro_batches, nodes * gpus_per_node, nodes, gpus_per_node).si();
  };
  CHECK(time(8, 1, 1) == 0);
  CHECK(time(1, 1, 8) == doctest::Approx(14e-3).epsilon(1e-12));
  CHECK(time(4, 1, 8) == doctest::Approx(23e-3).epsilon(1e-12));
  CHECK(time(1, 2, 8) == doctest::Approx(14e-3 + 10 * (26 * 1e-4 + 4 * 3e-4)).epsilon(1e-12));
  CHECK(time(1, 4, 8) == doctest::Approx(14e-3 + 10 * (54 * 1e-4 + 8 * 3e-4)).epsilon(1e-12));
  CHECK(time(1, 4, 2) == doctest::Approx(2e-3 + 10 * (7 * 1e-4 + 7 * 3e-4)).epsilon(1e-12));
  CHECK(time(1, 4, 1) == doctest::Approx(10 * 6 * 3e-4).epsilon(1e-12));
}

TEST_CASE("host time of ranks is known as well as what is known least of it") {
  const Stack stack = load_stack(config::parse(
      "s.yaml",
      "name: s\nstep_overhead_per_gpu: {value: 2 ms, measured: here}\n"
      "micro_batch_overhead: {value: 3 ms, assumed: so}\n"
      "scalar_rings: {hop: {value: 1 us, fitted: there}, node_hop: {value: 2 us, fitted: there}}\n"));
  const auto source = [&](int micro_batches, int nodes) {
    Trace trace;
    trace.accumulation = micro_batches;
    add_ranks_overhead(trace, stack, 8 * nodes, nodes, 8);
    return trace.ops.at(0).source;
  };
  CHECK(source(1, 1) == ComputeSource::measured);
  CHECK(source(1, 2) == ComputeSource::fitted);
  CHECK(source(2, 2) == ComputeSource::roofline);
}

TEST_CASE("a stack's passes and host time become ops of the step, those of other precisions do not") {
  const Stack stack = load_stack(config::parse("s.yaml",
                                               "name: s\n"
                                               "gradient_dtype: fp16_with_amp\n"
                                               "step_overhead: {value: 2 ms, measured: a run}\n"
                                               "gradient_work:\n"
                                               "  - {name: clip, only: [amp, fp16], source: its code}\n"
                                               "  - {name: norm, writes: 0, when: before, of: fp32}\n"
                                               "  - {name: flatten, ranks: many, when: before}\n"));
  const auto ops_with = [&](Precision precision) {
    Trace trace{.model = "m", .precision = precision, .ops = {}};
    for (const Phase phase : {Phase::forward, Phase::backward, Phase::optimizer})
      trace.ops.emplace_back().phase = phase;
    trace.ops[1].gradients = {{"a", 700}, {"b", 300}};
    add_stack_ops(trace, stack);
    return trace.ops;
  };
  const std::vector<Op> amp = ops_with(Precision::amp);
  REQUIRE(amp.size() == 6);
  CHECK(amp[2].layer == "gradient_work.norm");
  CHECK(amp[2].phase == Phase::backward);
  CHECK(amp[2].bytes == Bytes(4 * 1000));
  CHECK(amp[3].layer == "gradient_work.clip");
  CHECK(amp[3].phase == Phase::optimizer);
  CHECK(amp[3].bytes == Bytes(2 * 2 * 1000));
  CHECK(amp[5].kind == OpKind::host);
  CHECK(amp[5].duration == Seconds(2e-3));
  CHECK(amp[5].source == ComputeSource::measured);
  const std::vector<Op> single = ops_with(Precision::fp32);
  REQUIRE(single.size() == 5);
  CHECK(single[3].layer.empty());
}

TEST_CASE("a pass that moves nothing, and one before the reduction of every micro-batch, are errors") {
  const auto errors = stack_errors(
      "name: s\nreduce_each_micro_batch: true\ngradient_work:\n  - {name: copy, reads: 0, writes: 0}\n"
      "  - {name: clip, when: before}\n  - {name: \"\"}\n");
  REQUIRE(errors.size() == 3);
  CHECK(errors[0].key_path == "gradient_work[0].reads");
  CHECK(errors[1].key_path == "gradient_work[1].when");
  CHECK(errors[2].key_path == "gradient_work[2].name");
}

namespace {

/// Forward and backward of a fully connected layer, of an addition, which has no backward op, and of a GELU.
struct SmallModel {
  std::vector<Layer> layers;
  Trace trace;
};

SmallModel small_model(Precision precision) {
  Model model;
  model.layers = {linear_layer("fc", 10, 100), add_layer("add", {100}), gelu_layer("gelu", {100})};
  Trace trace = make_trace(model, 2, precision, Optimizer::sgd);
  return {model.layers, std::move(trace)};
}

std::vector<std::string> names_of(const Trace& trace) {
  std::vector<std::string> names;
  for (const Op& op : trace.ops) names.push_back(op.layer);
  return names;
}

const Op& op_called(const Trace& trace, Phase phase, const std::string& name) {
  const auto found =
      std::ranges::find_if(trace.ops, [&](const Op& op) { return op.phase == phase && op.layer == name; });
  REQUIRE(found != trace.ops.end());
  return *found;
}

}  // namespace

TEST_CASE("work of layers lies behind them in forward and before them in backward") {
  const std::vector<LayerWork> work = {
      {.name = "bias", .layer = LayerKind::linear, .forward = 2, .backward = 1},
      {.name = "sum", .layer = LayerKind::add, .backward = 3},
      {.name = "cast",
       .layer = LayerKind::gelu,
       .forward = 1.5,
       .of = WorkDtype::fp32,
       .only = {Precision::fp16}}};
  SmallModel half = small_model(Precision::fp16);
  add_layer_work(half.trace, half.layers, work);
  CHECK(names_of(half.trace) == std::vector<std::string>{"fc", "fc.bias", "add", "gelu", "gelu.cast", "gelu",
                                                         "add.sum", "fc.bias", "fc", "fc", "optimizer"});
  CHECK(op_called(half.trace, Phase::forward, "fc.bias").bytes == Bytes(2 * 2 * 100 * 2));
  CHECK(op_called(half.trace, Phase::forward, "fc.bias").of_layer == 0);
  CHECK(op_called(half.trace, Phase::backward, "add.sum").of_layer == 1);
  CHECK(op_called(half.trace, Phase::backward, "fc.bias").bytes == Bytes(2 * 100 * 2));
  CHECK(op_called(half.trace, Phase::forward, "gelu.cast").bytes == Bytes(1.5 * 2 * 100 * 4));
  SmallModel single = small_model(Precision::fp32);
  add_layer_work(single.trace, single.layers, work);
  CHECK(single.trace.ops.size() == half.trace.ops.size() - 1);
  CHECK(op_called(single.trace, Phase::backward, "add.sum").bytes == Bytes(3 * 2 * 100 * 4));
}

TEST_CASE("a cast of weights stands in front of the work of the layer before") {
  Model model;
  model.layers = {linear_layer("a", 10, 100), linear_layer("b", 100, 10)};
  Trace trace = make_trace(model, 2, Precision::amp, Optimizer::sgd);
  add_layer_work(trace, model.layers,
                 {{.name = "bias", .layer = LayerKind::linear, .forward = 2, .backward = 1}});
  CHECK(names_of(trace) == std::vector<std::string>{"a.cast", "a", "b.cast", "a.bias", "b", "b.bias",
                                                    "b.bias", "b", "b", "b.cast", "a.bias", "a", "a",
                                                    "a.cast", "optimizer"});
}

TEST_CASE("a stack that fuses element-wise ops does without the work that can be fused") {
  const auto stack_with = [](const std::string& fused) {
    return load_stack(
        config::parse("s.yaml", "name: s\nfused_elementwise: " + fused +
                                    "\nlayer_work:\n  - {name: bias, layer: linear, forward: 2}\n"
                                    "  - {name: heads, layer: bmm, forward: 4, fusible: false}\n"
                                    "gradient_work:\n  - {name: update, fusible: true}\n  - {name: norm}\n"));
  };
  CHECK(stack_with("false").layer_work.size() == 2);
  CHECK(stack_with("false").gradient_work.size() == 2);
  const Stack fused = stack_with("true");
  REQUIRE(fused.layer_work.size() == 1);
  CHECK(fused.layer_work[0].name == "heads");
  REQUIRE(fused.gradient_work.size() == 1);
  CHECK(fused.gradient_work[0].name == "norm");
}

TEST_CASE("with XLA a stack fuses and changes what it states; a value from the command line stays") {
  const std::string file =
      "name: s\noverlap: true\nfusion: {threshold: 1 MB, cycle_time: 5 ms}\n"
      "layer_work: [{name: bias, layer: linear, forward: 2}]\n"
      "with_xla: {overlap: false, cycle_time: 0 ms, source: here}\n";
  const auto stack_with = [&](const std::vector<std::pair<std::string, std::string>>& overrides) {
    config::Document document = config::parse("s.yaml", file);
    for (const auto& [key, value] : overrides) config::set(document, key, value);
    return load_stack(document);
  };
  const Stack off = stack_with({});
  CHECK(off.overlap);
  CHECK_FALSE(off.fused_elementwise);
  CHECK(off.fusion->cycle_time.value == Seconds(5e-3));
  const Stack on = stack_with({{"xla", "true"}});
  CHECK_FALSE(on.overlap);
  CHECK(on.fused_elementwise);
  CHECK(on.layer_work.empty());
  CHECK(on.fusion->cycle_time.value == Seconds());
  const Stack mixed = stack_with({{"xla", "true"}, {"overlap", "true"}, {"fusion.cycle_time", "2 ms"}});
  CHECK(mixed.overlap);
  CHECK(mixed.fusion->cycle_time.value == Seconds(2e-3));
}

TEST_CASE("XLA is refused where the framework has none or the keys contradict it") {
  check_errors({{"name: s\nxla: true\n", "xla", "tf2_mirrored"},
                {"name: s\nframework: pytorch\nxla: true\n", "xla", "pytorch_compile"},
                {"name: s\nxla: true\nfused_elementwise: false\nwith_xla: {source: x}\n", "fused_elementwise",
                 "xla: false"},
                {"name: s\nwith_xla: {cycle_time: 1 ms, source: x}\n", "with_xla.cycle_time", "fusion"},
                {"name: s\nruntime: eager\nwith_xla: {source: x}\n", "with_xla", "runtime: fused"},
                {"name: s\nwith_xla: {}\n", "with_xla.source", "source"},
                {"name: s\ncompiler: xla\n", "compiler", "xla: true"}},
               read_stack);
}

TEST_CASE("of the shipped stacks those of TensorFlow from 2018 on with NCCL, and OneFlow, have XLA") {
  const auto has_xla = [](const std::string& name) {
    return load_stack(config::load(TRAINYARD_SOURCE_DIR "/workloads/stacks/" + name + ".yaml"))
        .with_xla.has_value();
  };
  for (const char* const name :
       {"horovod_0_20", "horovod_fp16", "horovod", "tf2_mirrored", "tf2_bert", "oneflow"})
    CHECK(has_xla(name));
  for (const char* const name : {"apex_ddp", "pytorch_ddp", "mxnet_horovod", "mxnet_kvstore", "paddle"})
    CHECK_FALSE(has_xla(name));
}

TEST_CASE("persistent kernels are those of a group of ops in the precisions named") {
  const Stack stack = load_stack(config::parse(
      "s.yaml", "name: s\npersistent_kernels: [{ops: batch_norm, only: [amp]}, {ops: other}]\n"));
  const auto is = [&](OpKind kind, Precision precision) {
    return is_persistent(stack.persistent_kernels, kind, precision);
  };
  CHECK(is(OpKind::batch_norm_backward, Precision::amp));
  CHECK_FALSE(is(OpKind::batch_norm_backward, Precision::fp32));
  CHECK(is(OpKind::elementwise, Precision::fp32));
  CHECK_FALSE(is(OpKind::conv_dgrad, Precision::amp));
  const auto errors = stack_errors("name: s\npersistent_kernels: [{ops: batch_nrom}]\n");
  REQUIRE(errors.size() == 1);
  CHECK(errors[0].key_path == "persistent_kernels[0].ops");
}

TEST_CASE("work of a layer that moves nothing, or has no name, is an error") {
  const auto errors = stack_errors("name: s\nlayer_work: [{name: \"\", layer: add}]\n");
  REQUIRE(errors.size() == 2);
  CHECK(errors[0].key_path == "layer_work[0].forward");
  CHECK(errors[1].key_path == "layer_work[0].name");
}
