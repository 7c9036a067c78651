#include "strategy/experts.hpp"

#include "errors_of.hpp"
#include "facts_in.hpp"
#include "strategy/grid.hpp"
#include "strategy/transfer.hpp"
#include "workload/decoder.hpp"
#include "workload/make_trace.hpp"

#include <algorithm>
#include <doctest/doctest.h>
#include <fmt/format.h>
#include <iterator>
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
  return share_experts(
      shard(model,
            {.tensor = setting.tensor, .sequence = setting.sequence, .whole_experts = setting.whole_experts}),
      setting);
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

const Layer& expert_part(const ShardedModel& sharded, const std::string& name) {
  const auto found = std::ranges::find(sharded.layers, name, &Layer::name);
  REQUIRE(found != sharded.layers.end());
  return *found;
}

double parameters_over(const ShardedModel& sharded, Axis axis) {
  const auto all = parameters_by_axis(sharded.layers);
  const auto found = all.find(axis);
  return found == all.end() ? 0 : found->second;
}

Flops layer_flops(const Model& model, const std::string& name) {
  const auto found = std::ranges::find(model.layers, name, &Layer::name);
  REQUIRE(found != model.layers.end());
  return found->forward_flops;
}

/// "KEY FACTS" of what refuses a setting.
std::string refusal(const DecoderHyperparameters& parameters, const ExpertSetting& setting) {
  const auto errors = errors_of([&] { share_of_rank(parameters, setting); });
  REQUIRE(errors.size() == 1);
  CHECK_FALSE(errors[0].hint.empty());
  return errors[0].key_path.substr(errors[0].key_path.find('.') + 1) + " " + facts_in(errors[0].message);
}

constexpr double bf16 = 2;

/// Of tokens, not of their numbers or probabilities.
bool sends_tokens(const Transfer& transfer) {
  return transfer.of == TransferDtype::activation && transfer.elements > 0;
}

std::vector<Transfer> token_transfers(const ShardedModel& sharded) {
  std::vector<Transfer> found;
  std::ranges::copy_if(sharded.transfers, std::back_inserter(found), sends_tokens);
  return found;
}

/// "PHASE OPERATION at LAYER, VALUES" of the transfers of a block, in the order of their launches.
std::vector<std::string> launches(const ShardedModel& sharded) {
  std::vector<std::string> found;
  for (const Transfer& one : sharded.transfers) {
    const std::string name = sharded.layers[static_cast<std::size_t>(one.layer)].name;
    found.push_back(fmt::format("{} {} {} {}{}", config::name_of(one.phase), config::name_of(one.operation),
                                name.substr(name.find("moe.") + 4), one.elements + one.fixed.si(),
                                one.next_layers > 0 ? fmt::format(" beside {}", one.next_layers) : ""));
  }
  return found;
}

}  // namespace

TEST_CASE("a layer of Mixtral exchanges 64 MiB four times, seven eighths of it with other ranks") {
  const ShardedModel sharded = share_of_rank(mixtral(), {.expert = 8});
  for (const Phase phase : {Phase::forward, Phase::backward}) {
    std::vector<Transfer> exchanges = over(sharded, Axis::expert, phase);
    std::erase_if(exchanges, std::not_fn(sends_tokens));
    CHECK(exchanges.size() == 2 * 2);
    for (const Transfer& exchange : exchanges) {
      CHECK(exchange.operation == Operation::all_to_all);
      CHECK(bf16 * exchange.elements == 67'108'864);
      CHECK(bf16 * exchange.elements * sent_share(exchange.operation, 8) == 58'720'256);
    }
  }
  CHECK(token_transfers(sharded).size() == 8);
}

TEST_CASE("numbers of tokens are gathered before an exchange, and probabilities follow it") {
  DecoderHyperparameters one = mixtral();
  one.layers = 1;
  const std::vector<std::string> expected{
      "forward all_gather permute 512",  // 8 experts, 8 ranks, 8 bytes
      "forward all_to_all permute 33554432",   "forward all_to_all permute 8192",
      "backward all_to_all permute 33554432",  "backward all_to_all permute 8192",
      "forward all_to_all unpermute 33554432", "backward all_to_all unpermute 33554432"};
  CHECK(launches(share_of_rank(one, {.expert = 8})) == expected);
  const ShardedModel padded = share_of_rank(one, {.expert = 8, .routing = {.capacity_factor = 1}});
  CHECK(launches(padded) == std::vector(expected.begin() + 1, expected.end()));
}

TEST_CASE("the dispatcher allgather sends all tokens to all ranks, and adds up their results") {
  DecoderHyperparameters one = mixtral();
  one.layers = 1;
  const ShardedModel gathered = share_of_rank(one, {.expert = 8, .dispatcher = TokenDispatcher::all_gather});
  // 4,096 tokens of 8 ranks; for each and 8 experts a probability, and a byte: a quarter of one
  CHECK(launches(gathered) ==
        std::vector<std::string>{
            "forward all_gather permute 134217728", "forward all_gather permute 327680",
            "backward reduce_scatter permute 134217728", "backward reduce_scatter permute 262144",
            "forward reduce_scatter unpermute 134217728", "backward all_gather unpermute 134217728"});
  const Layer plain = expert_part(share_of_rank(one, {.expert = 8}), "h0.moe.unpermute");
  const Layer sums = expert_part(gathered, "h0.moe.unpermute");
  CHECK(sums.forward_rw_elements - plain.forward_rw_elements == 7 * 4096 * 4096.0);
  CHECK(sums.backward_rw_elements == plain.backward_rw_elements);
}

TEST_CASE("shared experts run while tokens travel") {
  const auto names = [](const ShardedModel& sharded) {
    std::vector<std::string> found;
    for (const Layer& layer : sharded.layers) {
      const std::size_t place = layer.name.find("moe.");
      if (place != std::string::npos) found.push_back(layer.name.substr(place + 4));
    }
    return found;
  };
  const ExpertSetting copies{.expert = 64, .overlap = ExpertOverlap::shared_experts};
  const ShardedModel sharded = share_of_rank(deepseek_layer(), copies);
  CHECK(names(sharded) == std::vector<std::string>{"router", "topk", "permute", "shared.fc1", "shared.silu",
                                                   "fc1", "silu", "fc2", "shared.fc2", "unpermute", "add"});
  CHECK(launches(sharded) ==
        std::vector<std::string>{
            "forward all_gather permute 131072", "forward all_to_all permute 234881024 beside 2",
            "forward all_to_all permute 32768 beside 2", "backward all_to_all fc1 234881024 beside 2",
            "backward all_to_all fc1 32768 beside 2", "forward all_to_all fc2 234881024 beside 1",
            "backward all_to_all unpermute 234881024 beside 1"});
  ExpertSetting tokens = copies;
  tokens.dispatcher = TokenDispatcher::deepep;
  const ShardedModel sent = share_of_rank(deepseek_layer(), tokens);
  CHECK(names(sent) == std::vector<std::string>{"router", "topk", "shared.fc1", "shared.silu", "permute",
                                                "fc1", "silu", "fc2", "unpermute", "shared.fc2", "add"});
  CHECK(launches(sent) == std::vector<std::string>{"forward all_gather topk 131072",
                                                   "forward all_to_all topk 234881024 beside 2",
                                                   "backward all_to_all permute 234881024 beside 2",
                                                   "forward all_to_all unpermute 234881024 beside 1",
                                                   "backward all_to_all add 234881024 beside 1"});
}

TEST_CASE("ops of shared experts are those that may run during an exchange") {
  const ShardedModel sharded =
      share_of_rank(deepseek_layer(), {.expert = 64, .overlap = ExpertOverlap::shared_experts});
  const Model part{"m", "", sharded.layers, std::nullopt};
  Trace trace = make_trace(part, 1, Precision::bf16, Optimizer::adam);
  add_transfers(trace, part.layers, sharded.transfers);
  std::vector<std::string> meanwhile;
  for (std::size_t i = 0; i < trace.ops.size(); ++i) {
    for (const OpCommunication& one : trace.ops[i].communications) {
      if (one.operation != Operation::all_to_all || one.size < Bytes(1e6)) continue;
      for (int k = 1; k <= one.waits.value_or(0); ++k)
        meanwhile.push_back(trace.ops[i + static_cast<std::size_t>(k)].layer);
      meanwhile.push_back("then " + trace.ops[i + static_cast<std::size_t>(one.waits.value_or(0)) + 1].layer);
    }
  }
  CHECK(meanwhile == std::vector<std::string>{"h0.moe.shared.fc1", "h0.moe.shared.silu", "then h0.moe.fc1",
                                              "h0.moe.shared.fc2", "then h0.moe.unpermute",
                                              "h0.moe.shared.fc2", "h0.moe.shared.fc2", "then h0.moe.fc2",
                                              "h0.moe.shared.silu", "h0.moe.shared.fc1", "h0.moe.shared.fc1",
                                              "then h0.moe.permute"});
}

TEST_CASE("the host waits for the numbers of tokens where the dispatcher needs them") {
  const auto waits = [](TokenDispatcher dispatcher, Routing routing) {
    const ExpertSetting setting{.expert = 8, .routing = routing, .dispatcher = dispatcher};
    DecoderHyperparameters one = mixtral();
    one.layers = 1;
    const ShardedModel sharded = share_of_rank(one, setting);
    Trace trace = make_trace({"m", "", sharded.layers, std::nullopt}, 1, Precision::bf16, Optimizer::adam);
    await_counts(trace, sharded.layers, setting);
    std::vector<std::string> found;
    for (const Op& op : trace.ops) {
      if (op.synchronises) found.push_back("end of " + op.layer);
      if (op.awaits_start) found.push_back("start of " + op.layer);
    }
    return found;
  };
  using Names = std::vector<std::string>;
  CHECK(waits(TokenDispatcher::all_to_all, {}) == Names{"start of h0.moe.permute"});
  CHECK(waits(TokenDispatcher::all_gather, {}) == Names{"end of h0.moe.permute"});
  CHECK(waits(TokenDispatcher::deepep, {}) == Names{"end of h0.moe.topk"});
  CHECK(waits(TokenDispatcher::all_to_all, {.capacity_factor = 1}).empty());
}

TEST_CASE("a layer of DeepSeek-V3 exchanges 448 MiB at a time") {
  for (const Transfer& exchange : token_transfers(share_of_rank(deepseek_layer(), {.expert = 64})))
    CHECK(bf16 * exchange.elements == 469'762'048);
}

TEST_CASE("experts are divided, their rows and all other layers are not") {
  const Model model = model_of(mixtral());
  const ShardedModel sharded = share_of_rank(model, {.expert = 4});
  const Layer& up = expert_part(sharded, "h0.moe.fc1");
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
  const Layer& up = expert_part(sharded, "h0.moe.fc1");
  CHECK(up.gemm == LayerGemm{4, 2048, 28672 / 4, 4096, true});
  CHECK(parameter_elements(up) == 8 * 4096.0 * 28672 / 2 / 4);
  CHECK(up.saved_elements == 2 * 4096.0 * 4096);  // gathered
  const Layer& down = expert_part(sharded, "h0.moe.fc2");
  CHECK(down.gemm == LayerGemm{4, 2048, 4096, 14336 / 4, true});
  CHECK(parameter_elements(down) == 8 * 4096.0 * 14336 / 2 / 4);
  const Layer& router = expert_part(sharded, "h0.moe.router");
  CHECK(router.gemm == LayerGemm{1, 1024, 8, 4096, true});
  CHECK(parameter_elements(router) == 4096 * 8);
  std::vector<Operation> around_experts;
  for (const Transfer& transfer : token_transfers(sharded)) {
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

TEST_CASE("whole experts compute the tokens of one rank, without gathering") {
  const Model model = model_of(mixtral());
  const ShardedModel sharded =
      share_of_rank(model, {.expert = 8, .tensor = 4, .sequence = true, .whole_experts = true});
  const Layer& up = expert_part(sharded, "h0.moe.fc1");
  CHECK(up.gemm == LayerGemm{1, 2048, 28672, 4096, true});  // 2 copies of 1,024 tokens
  CHECK(parameter_elements(up) == 4096.0 * 28672);
  CHECK(up.saved_elements == 2048.0 * 4096);
  CHECK(up.forward_rw_elements == 2048.0 * (4096 + 28672) + 4096.0 * 28672);
  CHECK(up.summed_over == Axis::expert_data);
  CHECK(4 * up.forward_flops == layer_flops(model, "h0.moe.fc1"));
  for (const Transfer& transfer : token_transfers(sharded)) {
    const Layer& layer = sharded.layers[static_cast<std::size_t>(transfer.layer)];
    if (layer.kind != LayerKind::permute) continue;
    CHECK(transfer.operation == Operation::all_to_all);
    CHECK(bf16 * transfer.elements == 67'108'864 / 4);
  }
  const Grid grid = make_grid({.tensor = 4, .expert = 8, .expert_tensor = 1, .sequence = true}, 32);
  CHECK(groups(grid, Axis::expert).front() ==
        std::vector{Rank{0}, Rank{1}, Rank{2}, Rank{3}, Rank{4}, Rank{5}, Rank{6}, Rank{7}});
  CHECK(groups(grid, Axis::expert_data).front() == std::vector{Rank{0}, Rank{8}, Rank{16}, Rank{24}});
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
  const Layer& up = expert_part(sharded, "h0.moe.fc1");
  CHECK(up.gemm == LayerGemm{2, 4 * 32, 28672, 4096, true});
  CHECK(up.in_elements == doctest::Approx(32 * 8 * 4096.0).epsilon(1e-12));
  for (const Transfer& exchange : token_transfers(sharded))
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
  CHECK(expert_part(uneven, "h0.moe.fc1").gemm.m == 12'288);
}

TEST_CASE("drawn loads differ by layer and agree with the draw") {
  const Routing routing{.skew = 0.5, .seed = 3};
  const ShardedModel sharded = share_of_rank(mixtral(), {.expert = 8, .routing = routing});
  for (int block = 0; block < 2; ++block) {
    const double imbalance = imbalance_of(expert_shares(8, 2, 0.5, 3, block), 8);
    CHECK(imbalance > 1);
    CHECK(expert_part(sharded, "h" + std::to_string(block) + ".moe.fc1").load == imbalance);
  }
}

TEST_CASE("sorting rows by expert is two passes over them, where a rank has several experts") {
  const Model model = model_of(mixtral());
  const double rows = 2 * 4096;
  const auto extra = [&](int expert) {
    const ShardedModel sharded = share_of_rank(model, {.expert = expert});
    return expert_part(sharded, "h0.moe.permute").forward_rw_elements - 3 * 4096.0 * 4096;
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
      CHECK(one.axis == Axis::expert);
      CHECK(one.waits == 0);
      if (one.size < Bytes(1e6)) continue;  // numbers and probabilities
      CHECK(one.operation == Operation::all_to_all);
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
  CHECK(refusal(mixtral(), {.expert = 2, .routing = {.imbalance = 1e6}}) ==
        "routing 'h0.moe.fc1' 8.19e+09 2^31");
  CHECK(refusal(mixtral(), {.expert = 2, .routing = {.imbalance = 1, .seed = 1}}) ==
        "routing.seed 'seed' 'skew'");
  CHECK(refusal(mixtral(), {.expert = 2, .routing = {.groups = 3}}) == "routing.groups 8 3");
  CHECK(refusal(deepseek_layer(), {.expert = 64, .routing = {.groups = 8, .group_limit = 9}}) ==
        "routing.group_limit 9 8 8");
  CHECK(refusal(mixtral(), {.expert = 2, .routing = {.group_limit = 2}}) ==
        "routing.group_limit 'group_limit' 'groups'");
  CHECK(refusal(mixtral(), {.expert = 2, .overlap = ExpertOverlap::shared_experts}) == "expert_overlap ");
  CHECK(refusal(deepseek_layer(), {.expert = 2,
                                   .dispatcher = TokenDispatcher::all_gather,
                                   .overlap = ExpertOverlap::shared_experts}) == "expert_overlap ");
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
