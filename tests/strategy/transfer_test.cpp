#include "strategy/transfer.hpp"

#include "config/document.hpp"
#include "errors_of.hpp"
#include "strategy/gpt3_175b.hpp"
#include "strategy/layer_work.hpp"
#include "strategy/shard.hpp"
#include "strategy/stack.hpp"
#include "workload/bert.hpp"
#include "workload/encoder_decoder.hpp"
#include "workload/fuse_elementwise.hpp"
#include "workload/make_trace.hpp"

#include <algorithm>
#include <doctest/doctest.h>
#include <string>
#include <utility>

using namespace trainyard;

namespace {

struct RankTrace {
  ShardedModel rank;
  Trace trace;
};

RankTrace rank_trace(const Model& model, ShardSetting setting, Precision precision) {
  RankTrace made{shard(model, setting), {}};
  Model own = model;
  own.layers = made.rank.layers;
  made.trace = make_trace(own, 2, precision, Optimizer::adam);
  return made;
}

/// Position of the n-th op of a phase and name.
int position(const Trace& trace, Phase phase, const std::string& name, int n = 0) {
  for (int i = 0; i < static_cast<int>(trace.ops.size()); ++i) {
    const Op& op = trace.ops[static_cast<std::size_t>(i)];
    if (op.phase == phase && op.layer == name && n-- == 0) return i;
  }
  FAIL("no op " << name);
  return -1;
}

const std::vector<OpCommunication>& launched(const Trace& trace, Phase phase, const std::string& name,
                                             int n = 0) {
  return trace.ops[static_cast<std::size_t>(position(trace, phase, name, n))].communications;
}

int count_launched(const Trace& trace) {
  int sum = 0;
  for (const Op& op : trace.ops) sum += static_cast<int>(op.communications.size());
  return sum;
}

/// The op that waits for a collective launched at op `at`.
const Op& waiting(const Trace& trace, int at, const OpCommunication& one) {
  const int launch = one.at == LaunchTime::start ? at : at + 1;
  return trace.ops[static_cast<std::size_t>(launch + one.waits.value())];
}

}  // namespace

TEST_CASE(
    "the sum after a layer split by rows holds up the next op, that of gradients only the layer before") {
  RankTrace made = rank_trace(gpt3_175b(1), {.tensor = 8}, Precision::bf16);
  add_transfers(made.trace, made.rank.layers, made.rank.transfers);
  const Bytes size(2 * 50'331'648.0);  // two samples
  const OpCommunication sum{
      .operation = Operation::all_reduce, .size = size, .axis = Axis::tensor, .waits = 0};
  CHECK(launched(made.trace, Phase::forward, "h0.mlp.fc2") == std::vector{sum});
  CHECK(launched(made.trace, Phase::forward, "wte") == std::vector{sum});
  const auto& hidden = launched(made.trace, Phase::backward, "h0.mlp.fc1");
  REQUIRE(hidden.size() == 1);
  CHECK(hidden[0].waits == 1);
  CHECK(hidden[0].at == LaunchTime::end);
  const int at = position(made.trace, Phase::backward, "h0.mlp.fc1");
  CHECK(waiting(made.trace, at, hidden[0]).layer == "h0.ln2");
  const auto& loss = launched(made.trace, Phase::forward, "loss");
  REQUIRE(loss.size() == 3);
  for (const OpCommunication& one : loss) CHECK(one.size == Bytes(2 * 2048 * 4));
  CHECK(count_launched(made.trace) == 4 + 1 + 1 + 3);
}

TEST_CASE("with sequence parallelism inputs are gathered before a layer and beside its input's gradient") {
  RankTrace made = rank_trace(gpt3_175b(1), {.tensor = 8, .sequence = true}, Precision::bf16);
  add_transfers(made.trace, made.rank.layers, made.rank.transfers);
  const auto& before = launched(made.trace, Phase::forward, "h0.attn.qkv");
  REQUIRE(before.size() == 1);
  CHECK(before[0].operation == Operation::all_gather);
  CHECK(before[0].at == LaunchTime::start);
  CHECK(before[0].waits == 0);
  const auto& beside = launched(made.trace, Phase::backward, "h0.attn.qkv");
  REQUIRE(beside.size() == 2);
  const int input_gradient = position(made.trace, Phase::backward, "h0.attn.qkv");
  CHECK(beside[0].operation == Operation::all_gather);
  CHECK(beside[0].at == LaunchTime::start);
  CHECK(&waiting(made.trace, input_gradient, beside[0]) ==
        &made.trace.ops[static_cast<std::size_t>(input_gradient + 1)]);
  CHECK(beside[1].operation == Operation::reduce_scatter);
  CHECK(waiting(made.trace, input_gradient, beside[1]).layer == "h0.ln1");
  const auto& output = launched(made.trace, Phase::backward, "h0.mlp.fc2");
  REQUIRE(output.size() == 1);
  CHECK(output[0].operation == Operation::all_gather);
  CHECK(output[0].waits == 0);
  CHECK(output[0].at == LaunchTime::start);
}

TEST_CASE("casts and a stack's kernels run beside a collective of gradients, fused ops change nothing") {
  const std::vector<LayerWork> work = {
      {.name = "bias", .layer = LayerKind::linear, .forward = 2, .backward = 1}};
  RankTrace made = rank_trace(gpt3_175b(1), {.tensor = 8, .sequence = true}, Precision::amp);
  fuse_elementwise(made.trace, made.rank.layers);
  add_layer_work(made.trace, made.rank.layers, work);
  add_transfers(made.trace, made.rank.layers, made.rank.transfers);
  // forward: not before the cast, which stands in front of the work of the layer before
  CHECK(launched(made.trace, Phase::forward, "h0.attn.qkv.cast").empty());
  CHECK(launched(made.trace, Phase::forward, "h0.attn.qkv").size() == 1);
  CHECK(launched(made.trace, Phase::forward, "h0.mlp.fc2.bias").size() == 1);
  // backward: the output's gradient is gathered before the bias's gradient
  CHECK(launched(made.trace, Phase::backward, "h0.mlp.fc2.bias").size() == 1);
  const int at = position(made.trace, Phase::backward, "h0.mlp.fc1");
  const auto& beside = launched(made.trace, Phase::backward, "h0.mlp.fc1");
  REQUIRE(beside.size() == 2);
  CHECK(beside[0].waits == 1);
  CHECK(beside[1].waits == 2);  // the gradient of the weights, and its cast
  CHECK(waiting(made.trace, at, beside[1]).layer == "h0.ln2");
  CHECK(count_launched(made.trace) == static_cast<int>(made.rank.transfers.size()));
}

TEST_CASE("every collective of BERT finds its op") {
  BertHyperparameters parameters;
  parameters.layers = 2;
  parameters.hidden = 256;
  parameters.heads = 4;
  parameters.pad_vocabulary = 512;
  const Model model{"bert", "", bert_layers(parameters), std::nullopt};
  for (const bool sequence : {false, true}) {
    RankTrace made = rank_trace(model, {.tensor = 4, .sequence = sequence}, Precision::amp);
    fuse_elementwise(made.trace, made.rank.layers);
    add_transfers(made.trace, made.rank.layers, made.rank.transfers);
    CHECK(count_launched(made.trace) == static_cast<int>(made.rank.transfers.size()));
  }
}

TEST_CASE("a stack's sum of the gradients of a residual input is no work of T5's position bias") {
  EncoderDecoderHyperparameters parameters;
  parameters.layers = 2;
  parameters.hidden = 64;
  parameters.heads = 4;
  parameters.head_dim = 16;
  parameters.ffn = 128;
  parameters.vocabulary = 128;
  parameters.sequence_length = 16;
  const Model model{"t5", "", encoder_decoder_layers(parameters), std::nullopt};
  const Stack stack = load_stack(config::load(TRAINYARD_SOURCE_DIR "/workloads/stacks/megatron_lm.yaml"));
  Trace trace = make_trace(model, 1, Precision::bf16, Optimizer::adam);
  const auto count = [&](const std::string& end) {
    return std::ranges::count_if(trace.ops, [&](const Op& op) { return op.layer.ends_with(end); });
  };
  REQUIRE(count(".attn.bias") == 8);  // forward and backward of four blocks
  add_layer_work(trace, model.layers, stack.layer_work);
  CHECK(count(".attn.bias") == 8);
  CHECK(count(".attn.bias.sum") == 0);
  CHECK(count(".sum") == 10);  // two residual sums in a block of the encoder, three in one of the decoder
}

TEST_CASE("in 8 bits a layer's input arrives before its cast, with autocast after that of its weights") {
  const auto launching = [](Precision precision) {
    RankTrace made = rank_trace(gpt3_175b(1), {}, precision);
    const auto fc2 = std::ranges::find(made.rank.layers, "h0.mlp.fc2", &Layer::name);
    REQUIRE(fc2 != made.rank.layers.end());
    const auto number = static_cast<int>(fc2 - made.rank.layers.begin());
    add_transfers(made.trace, made.rank.layers,
                  {{number, Phase::forward, TransferPlace::before, Operation::all_gather, Axis::tensor, 10}});
    return std::pair(launched(made.trace, Phase::forward, "h0.mlp.fc2.cast").size(),
                     launched(made.trace, Phase::forward, "h0.mlp.fc2").size());
  };
  CHECK(launching(Precision::fp8) == std::pair<std::size_t, std::size_t>(1, 0));
  CHECK(launching(Precision::amp) == std::pair<std::size_t, std::size_t>(0, 1));
}

TEST_CASE("in 8 bits the work of a layer ends before its output is cast") {
  RankTrace made = rank_trace(gpt3_175b(1), {}, Precision::fp8);
  add_layer_work(made.trace, made.rank.layers,
                 {{.name = "copy", .layer = LayerKind::gelu, .forward = 2, .backward = 0}});
  CHECK(position(made.trace, Phase::forward, "h0.mlp.fc2.cast") ==
        position(made.trace, Phase::forward, "h0.mlp.gelu.copy") + 1);
}

TEST_CASE("an exchange of a layer that is fused into another is an error that names the layer") {
  RankTrace made = rank_trace(gpt3_175b(1), {}, Precision::bf16);
  fuse_elementwise(made.trace, made.rank.layers);
  const auto add = std::ranges::find(made.rank.layers, "h0.add1", &Layer::name);
  REQUIRE(add != made.rank.layers.end());
  const auto number = static_cast<int>(add - made.rank.layers.begin());
  const auto errors = errors_of([&] {
    add_transfers(made.trace, made.rank.layers,
                  {{number, Phase::forward, TransferPlace::after, Operation::all_gather, Axis::tensor, 10}});
  });
  REQUIRE(errors.size() == 1);
  CHECK(errors[0].message.find("'h0.add1' in forward") != std::string::npos);
}
