#include "strategy/experts.hpp"

#include "errors_of.hpp"
#include "facts_in.hpp"
#include "strategy/grid.hpp"
#include "strategy/transfer.hpp"
#include "workload/decoder.hpp"
#include "workload/make_trace.hpp"

#include <algorithm>
#include <doctest/doctest.h>
#include <string>

using namespace trainyard;

namespace {

DecoderHyperparameters mixtral(int sequence = 4096) {
  DecoderHyperparameters parameters;
  parameters.layers = 2;
  parameters.hidden = 4096;
  parameters.heads = 32;
  parameters.kv_heads = 8;
  parameters.ffn = 14336;
  parameters.gated = true;
  parameters.norm = DecoderNorm::rms_norm;
  parameters.bias = false;
  parameters.position = DecoderPosition::rope;
  parameters.vocabulary = 32000;
  parameters.sequence_length = sequence;
  parameters.tied = false;
  parameters.dropout = false;
  parameters.attention = AttentionKernel::flash;
  parameters.experts = 8;
  parameters.experts_per_token = 2;
  return parameters;
}

DecoderHyperparameters deepseek_layer() {
  DecoderHyperparameters parameters = mixtral();
  parameters.layers = 1;
  parameters.hidden = 7168;
  parameters.heads = 56;
  parameters.experts = 256;
  parameters.experts_per_token = 8;
  parameters.expert_ffn = 2048;
  parameters.shared_expert_ffn = 2048;
  return parameters;
}

Model model_of(const DecoderHyperparameters& parameters) {
  return {"m", "", decoder_layers(parameters), std::nullopt};
}

ShardedModel share_of_rank(const Model& model, const ExpertSetting& setting) {
  require_experts(model.layers, setting);
  return share_experts(shard(model, {.tensor = setting.tensor, .sequence = setting.sequence}), setting);
}

ShardedModel share_of_rank(const DecoderHyperparameters& parameters, const ExpertSetting& setting) {
  return share_of_rank(model_of(parameters), setting);
}

std::vector<Transfer> over(const ShardedModel& sharded, Axis axis, Phase phase) {
  std::vector<Transfer> found;
  for (const Transfer& transfer : sharded.transfers) {
    if (transfer.axis == axis && transfer.phase == phase) found.push_back(transfer);
  }
  return found;
}

const Layer& part_called(const ShardedModel& sharded, const std::string& name) {
  const auto found = std::ranges::find(sharded.layers, name, &Layer::name);
  REQUIRE(found != sharded.layers.end());
  return *found;
}

double parameters_over(const ShardedModel& sharded, Axis axis) {
  const auto all = parameters_by_axis(sharded.layers);
  const auto found = all.find(axis);
  return found == all.end() ? 0 : found->second;
}

/// "KEY FACTS" of what refuses a setting.
std::string refusal(const DecoderHyperparameters& parameters, const ExpertSetting& setting) {
  const auto errors = errors_of([&] { share_of_rank(parameters, setting); });
  REQUIRE(errors.size() == 1);
  CHECK_FALSE(errors[0].hint.empty());
  return errors[0].key_path.substr(errors[0].key_path.find('.') + 1) + " " + facts_in(errors[0].message);
}

constexpr double bf16 = 2;

}  // namespace

TEST_CASE("a layer of Mixtral exchanges 64 MiB four times, seven eighths of it with other ranks") {
  const ShardedModel sharded = share_of_rank(mixtral(), {.expert = 8});
  for (const Phase phase : {Phase::forward, Phase::backward}) {
    const std::vector<Transfer> exchanges = over(sharded, Axis::expert, phase);
    CHECK(exchanges.size() == 2 * 2);
    for (const Transfer& exchange : exchanges) {
      CHECK(exchange.operation == Operation::all_to_all);
      CHECK(bf16 * exchange.elements == 67'108'864);
      CHECK(bf16 * exchange.elements * sent_share(exchange.operation, 8) == 58'720'256);
    }
  }
  CHECK(sharded.transfers.size() == 8);
}

TEST_CASE("a layer of DeepSeek-V3 exchanges 448 MiB at a time") {
  for (const Transfer& exchange : share_of_rank(deepseek_layer(), {.expert = 64}).transfers)
    CHECK(bf16 * exchange.elements == 469'762'048);
}

TEST_CASE("experts are divided, their rows and all other layers are not") {
  const Model model = model_of(mixtral());
  const ShardedModel sharded = share_of_rank(model, {.expert = 4});
  const Layer& up = part_called(sharded, "h0.moe.fc1");
  CHECK(up.experts == 2);
  CHECK(up.gemm == LayerGemm{2, 4096, 28672, 4096, true});
  CHECK(parameter_elements(up) == 2 * 4096.0 * 28672);
  CHECK(up.summed_over == Axis::expert_data);
  for (std::size_t i = 0; i < model.layers.size(); ++i) {
    CHECK(sharded.layers[i].forward_flops == model.layers[i].forward_flops);
    CHECK(sharded.layers[i].saved_elements == model.layers[i].saved_elements);
    if (model.layers[i].experts == 0) CHECK(sharded.layers[i].summed_over == Axis::data);
  }
  const double experts = 2 * 3 * 8 * 4096.0 * 14336;
  CHECK(parameters_over(sharded, Axis::expert_data) == experts / 4);
  CHECK(parameters_over(sharded, Axis::data) == totals(model.layers).parameters - experts);
}

TEST_CASE("one rank per group leaves the layers as they are") {
  const Model model = model_of(mixtral());
  const ShardedModel sharded = share_of_rank(model, {});
  CHECK(sharded.transfers.empty());
  for (std::size_t i = 0; i < model.layers.size(); ++i) {
    CHECK(sharded.layers[i].gemm == model.layers[i].gemm);
    CHECK(sharded.layers[i].forward_rw_elements == model.layers[i].forward_rw_elements);
    CHECK(sharded.layers[i].backward_rw_elements == model.layers[i].backward_rw_elements);
    CHECK(sharded.layers[i].summed_over == Axis::data);
  }
}

TEST_CASE("tensor ranks exchange their own tokens, gather them, and divide every expert") {
  const ShardedModel sharded = share_of_rank(mixtral(), {.expert = 2, .tensor = 4, .sequence = true});
  const Layer& up = part_called(sharded, "h0.moe.fc1");
  CHECK(up.gemm == LayerGemm{4, 2048, 28672 / 4, 4096, true});
  CHECK(parameter_elements(up) == 8 * 4096.0 * 28672 / 2 / 4);
  CHECK(up.saved_elements == 2 * 4096.0 * 4096);  // gathered
  const Layer& down = part_called(sharded, "h0.moe.fc2");
  CHECK(down.gemm == LayerGemm{4, 2048, 4096, 14336 / 4, true});
  CHECK(parameter_elements(down) == 8 * 4096.0 * 14336 / 2 / 4);
  const Layer& router = part_called(sharded, "h0.moe.router");
  CHECK(router.gemm == LayerGemm{1, 1024, 8, 4096, true});
  CHECK(parameter_elements(router) == 4096 * 8);
  std::vector<Operation> around_experts;
  for (const Transfer& transfer : sharded.transfers) {
    const Layer& layer = sharded.layers[static_cast<std::size_t>(transfer.layer)];
    if (layer.kind != LayerKind::permute || layer.block != 0) continue;
    around_experts.push_back(transfer.operation);
    CHECK(bf16 * transfer.elements == (transfer.axis == Axis::expert ? 67'108'864 / 4 : 67'108'864));
  }
  const std::vector<Operation> expected{
      Operation::all_to_all,     Operation::all_gather,   // permute, forward
      Operation::reduce_scatter, Operation::all_to_all,   // backward
      Operation::reduce_scatter, Operation::all_to_all,   // unpermute, forward
      Operation::all_to_all,     Operation::all_gather};  // backward
  CHECK(around_experts == expected);
}

TEST_CASE("all FLOPs of the experts are computed once, whatever the ranks") {
  const Model model = model_of(mixtral());
  const auto flops_of_experts = [](const std::vector<Layer>& layers) {
    Flops sum;
    for (const Layer& layer : layers) sum += layer.experts > 0 ? layer.forward_flops : Flops();
    return sum;
  };
  for (const int expert : {1, 2, 8}) {
    const ShardedModel alone = share_of_rank(model, {.expert = expert});
    CHECK(flops_of_experts(alone.layers) == flops_of_experts(model.layers));
    const ShardedModel divided = share_of_rank(model, {.expert = expert, .tensor = 4, .sequence = true});
    CHECK(4 * flops_of_experts(divided.layers) == flops_of_experts(model.layers));
  }
}

TEST_CASE("with a capacity all places of the experts are sent and computed") {
  // 2 x 100 copies of tokens over 8 experts: 25 each, 32 with a factor of 1.25 (31.25 rounded up).
  const Routing routing{.capacity_factor = 1.25};
  const ShardedModel sharded = share_of_rank(mixtral(100), {.expert = 4, .routing = routing});
  const Layer& up = part_called(sharded, "h0.moe.fc1");
  CHECK(up.gemm == LayerGemm{2, 4 * 32, 28672, 4096, true});
  CHECK(up.in_elements == doctest::Approx(32 * 8 * 4096.0).epsilon(1e-12));
  for (const Transfer& exchange : sharded.transfers)
    CHECK(exchange.elements == doctest::Approx(32 * 8 * 4096.0).epsilon(1e-12));
  const ShardedModel dropping = share_of_rank(mixtral(), {.expert = 8, .routing = {.capacity_factor = 0.5}});
  CHECK(bf16 * dropping.transfers.front().elements == 67'108'864 / 2);
}

TEST_CASE("an imbalance lengthens the exchanges and the work of the experts, nothing else") {
  const Model model = model_of(mixtral());
  const ShardedModel even = share_of_rank(model, {.expert = 8});
  const ShardedModel uneven = share_of_rank(model, {.expert = 8, .routing = {.imbalance = 1.5}});
  for (std::size_t i = 0; i < even.transfers.size(); ++i)
    CHECK(uneven.transfers[i].elements == 1.5 * even.transfers[i].elements);
  for (std::size_t i = 0; i < even.layers.size(); ++i) {
    const Layer& one = even.layers[i];
    const Layer& other = uneven.layers[i];
    CHECK(other.forward_flops == (one.experts > 0 ? 1.5 : 1.0) * one.forward_flops);
    CHECK(parameter_elements(other) == parameter_elements(one));
    CHECK(other.load == (one.experts > 0 ? 1.5 : 1.0));
  }
  CHECK(part_called(uneven, "h0.moe.fc1").gemm.m == 12'288);
}

TEST_CASE("drawn loads differ by layer and agree with the draw") {
  const Routing routing{.skew = 0.5, .seed = 3};
  const ShardedModel sharded = share_of_rank(mixtral(), {.expert = 8, .routing = routing});
  for (int block = 0; block < 2; ++block) {
    const double imbalance = imbalance_of(expert_shares(8, 2, 0.5, 3, block), 8);
    CHECK(imbalance > 1);
    CHECK(part_called(sharded, "h" + std::to_string(block) + ".moe.fc1").load == imbalance);
  }
}

TEST_CASE("sorting rows by expert is two passes over them, where a rank has several experts") {
  const Model model = model_of(mixtral());
  const double rows = 2 * 4096;
  const auto extra = [&](int expert) {
    const ShardedModel sharded = share_of_rank(model, {.expert = expert});
    return part_called(sharded, "h0.moe.permute").forward_rw_elements - 3 * 4096.0 * 4096;
  };
  CHECK(extra(1) == 0);
  CHECK(extra(4) == 2 * rows * 4096);
  CHECK(extra(8) == 0);
}

TEST_CASE("exchanges hold up the next op, and zero-bubble schedules leave them with the inputs' gradients") {
  const ShardedModel sharded = share_of_rank(mixtral(), {.expert = 8});
  const Model part{"m", "", sharded.layers, std::nullopt};
  Trace trace = make_trace(part, 1, Precision::bf16, Optimizer::adam);
  add_transfers(trace, part.layers, sharded.transfers);
  int exchanges = 0;
  for (const Op& op : trace.ops) {
    for (const OpCommunication& one : op.communications) {
      CHECK(one.operation == Operation::all_to_all);
      CHECK(one.axis == Axis::expert);
      CHECK(one.waits == 0);
      CHECK(one.size == Bytes(67'108'864));
      CHECK((op.layer.ends_with(".permute") || op.layer.ends_with(".unpermute")));
      ++exchanges;
    }
  }
  CHECK(exchanges == 8);
}

TEST_CASE("experts that cannot be divided are refused at their keys with the numbers") {
  DecoderHyperparameters dense = mixtral();
  dense.experts = dense.experts_per_token = std::nullopt;
  CHECK(refusal(dense, {.expert = 4}) == "expert 4");
  CHECK(refusal(dense, {.routing = {.imbalance = 2}}) == "routing 'routing'");
  CHECK(refusal(mixtral(), {.expert = 3}) == "expert 'h0.moe.fc1' 8 3");
  CHECK(refusal(mixtral(), {.expert = 2, .tensor = 2}) == "sequence 2");
  CHECK(refusal(mixtral(), {.routing = {.imbalance = 2}}) == "routing 'imbalance' 1");
  CHECK(refusal(mixtral(), {.expert = 2, .routing = {.capacity_factor = 1, .skew = 1}}) ==
        "routing 'capacity_factor' 'skew'");
  CHECK(refusal(mixtral(), {.expert = 2, .routing = {.imbalance = 1, .seed = 1}}) ==
        "routing.seed 'seed' 'skew'");
}

TEST_CASE("products of few rows are a warning") {
  const ShardedModel many = share_of_rank(mixtral(), {.expert = 8});
  CHECK(expert_warnings(many.layers, 1).empty());
  const ShardedModel few =
      share_of_rank(mixtral(64), {.expert = 2});  // 128 copies for 8 experts, from 2 ranks
  const std::vector<Diagnostic> found = expert_warnings(few.layers, 3);
  REQUIRE(found.size() == 1);
  CHECK(found[0].severity == Severity::warning);
  CHECK(facts_in(found[0].message) == "96 128");
  CHECK(expert_warnings(few.layers, 4).empty());
}

TEST_CASE("replicas of experts are the ranks with the same place in their groups") {
  const Grid grid = make_grid({.tensor = 2, .pipeline = 2, .expert = 4}, 64);
  CHECK(groups(grid, Axis::expert).front() == std::vector{Rank{0}, Rank{2}, Rank{4}, Rank{6}});
  CHECK(groups(grid, Axis::expert_data).front() == std::vector{Rank{0}, Rank{8}, Rank{16}, Rank{24}});
  CHECK(groups(grid, Axis::data).front().size() == 16);
}
