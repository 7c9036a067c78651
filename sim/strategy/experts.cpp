#include "strategy/experts.hpp"

#include "strategy/expert_transfers.hpp"
#include "strategy/layout_refusal.hpp"
#include "strategy/shared_experts.hpp"
#include "units/ids.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <limits>
#include <numeric>
#include <utility>

namespace trainyard {
namespace {

/// The first layer with weights of experts.
const Layer* first_of_experts(const std::vector<Layer>& layers) {
  const auto found = std::ranges::find_if(layers, [](const Layer& layer) { return layer.experts > 0; });
  return found == layers.end() ? nullptr : &*found;
}

bool is_given(const Routing& routing) { return routing != Routing{}; }

void require_routing(const ExpertSetting& setting) {
  const Routing& routing = setting.routing;
  const auto names = {std::pair{routing.capacity_factor.has_value(), "capacity_factor"},
                      std::pair{routing.imbalance.has_value(), "imbalance"},
                      std::pair{routing.skew.has_value(), "skew"}};
  const char* first = nullptr;
  for (const auto& [is_set, name] : names) {
    if (!is_set) continue;
    if (first != nullptr)
      refuse_layout("routing", fmt::format("'{}' and '{}' exclude each other", first, name),
                    "keep one of them");
    first = name;
  }
  if (routing.seed && !routing.skew)
    refuse_layout("routing.seed", "'seed' draws the loads that 'skew' describes", "add skew: 0.5");
  if (routing.group_limit && !routing.groups)
    refuse_layout("routing.group_limit", "'group_limit' limits the groups that 'groups' forms",
                  "add groups: 8");
  if (setting.expert > 1 || routing.capacity_factor || first == nullptr) return;
  refuse_layout("routing", fmt::format("'{}' needs ranks that divide the experts, but expert is 1", first),
                "expert: 2 or more, or leave out 'routing'");
}

/// Experts of a token in groups.
void require_groups(const Layer& permute, int experts, const ExpertSetting& setting) {
  const Routing& routing = setting.routing;
  if (!routing.groups) return;
  const int groups = *routing.groups;
  const int limit = routing.group_limit.value_or(groups);
  const int per_token = static_cast<int>(std::lround(permute.out_elements / permute.in_elements));
  if (experts % groups != 0)
    refuse_layout("routing.groups", fmt::format("{} experts do not form {} equal groups", experts, groups),
                  fmt::format("groups: {}", std::gcd(experts, groups)));
  if (groups % setting.expert != 0 && setting.expert % groups != 0)
    refuse_layout("routing.groups",
                  fmt::format("neither of {} groups and {} ranks divides the other", groups, setting.expert),
                  fmt::format("groups: {}", setting.expert));
  if (limit > groups || per_token > limit * (experts / groups))
    refuse_layout("routing.group_limit",
                  fmt::format("{} of {} groups cannot hold {} experts of a token", limit, groups, per_token),
                  "a group_limit between");
}

/// Rows over those routed, for the rank that computes most.
double scale_of(const Layer& permute, int experts, const ExpertSetting& setting) {
  const Routing& routing = setting.routing;
  const double tokens = permute.in_shape.front();
  const double copies = permute.out_elements / permute.out_shape.back();
  if (routing.capacity_factor)
    return std::ceil(copies / experts * *routing.capacity_factor) * experts / copies;
  if (routing.imbalance) return *routing.imbalance;
  if (!routing.skew) return 1;
  const int per_token = static_cast<int>(std::lround(copies / tokens));
  return imbalance_of(
      expert_shares(experts, per_token, *routing.skew, routing.seed.value_or(1), permute.block.value_or(0)),
      setting.expert);
}

/// `permute`: the layer before those of the experts, `first`.
TokenExchange exchange_of(const Layer& permute, const Layer& first, const ExpertSetting& setting) {
  const TokenExchange exchange{.tokens = static_cast<double>(permute.in_shape.front()),
                               .sent = permute.out_elements / permute.out_shape.back(),
                               .rows = static_cast<double>(first.in_shape.front()),
                               .scale = scale_of(permute, first.experts, setting),
                               .experts = first.experts,
                               .width = permute.out_shape.back()};
  const double rows = exchange.rows * exchange.scale;
  if (rows > std::numeric_limits<int>::max())
    refuse_layout("routing",
                  fmt::format("layer '{}' has {:.3g} rows per sample, more than 2^31", first.name, rows),
                  "a smaller capacity_factor or imbalance");
  return exchange;
}

/// A rank's share of a layer of the experts.
void divide_experts(Layer& layer, const TokenExchange& exchange, const ExpertSetting& setting) {
  const int ranks = setting.expert;
  const double weights = layer.weight_rw_elements;
  const double own = weights / ranks;
  const auto scale = [&](auto& value) { value = value * exchange.scale; };
  for (Parameter& parameter : layer.parameters) parameter.elements /= ranks;
  scale(layer.forward_macs);
  scale(layer.forward_flops);
  scale(layer.backward_flops);
  scale(layer.in_elements);
  scale(layer.out_elements);
  scale(layer.saved_elements);
  scale(layer.saved_fixed);
  const double passes = layer.kind == LayerKind::linear ? 2 : 1;  // over the weights in backward
  layer.forward_rw_elements = (layer.forward_rw_elements - weights) * exchange.scale + own;
  layer.backward_rw_elements =
      (layer.backward_rw_elements - passes * weights) * exchange.scale + passes * own;
  layer.weight_rw_elements = own;
  layer.experts /= ranks;
  layer.load = exchange.scale;
  const double rows = exchange.rows * exchange.scale;
  layer.in_shape.front() = layer.out_shape.front() = static_cast<int>(std::ceil(rows));
  if (layer.gemm.k > 0) {
    layer.gemm.batch = layer.experts;
    layer.gemm.m = static_cast<int>(std::ceil(rows / layer.experts - 1e-9 * rows));
  }
  if (ranks > 1 || setting.whole_experts) layer.summed_over = Axis::expert_data;
}

void require_overlap(const std::vector<Layer>& layers, const ExpertSetting& setting) {
  if (setting.overlap == ExpertOverlap::none) return;
  if (setting.expert == 1)
    refuse_layout("expert_overlap", "no tokens travel to other ranks: expert is 1",
                  "leave out 'expert_overlap', or expert: 2 or more");
  if (setting.overlap != ExpertOverlap::shared_experts) return;
  if (std::ranges::none_of(layers, is_shared))
    refuse_layout("expert_overlap", "the model has no shared experts", "leave out 'expert_overlap'");
  if (setting.dispatcher == TokenDispatcher::all_gather)
    refuse_layout("expert_overlap", "all-gathers of tokens overlap with nothing (Megatron-Core refuses it)",
                  "dispatcher: alltoall or deepep");
}

}  // namespace

ExpertSetting expert_setting(const Parallelism& parallelism, TokenDispatcher usual) {
  return {.expert = parallelism.expert,
          .tensor = parallelism.tensor,
          .sequence = parallelism.sequence,
          .whole_experts = has_whole_experts(parallelism),
          .routing = parallelism.routing,
          .dispatcher = parallelism.dispatcher.value_or(usual),
          .overlap = parallelism.expert_overlap};
}

void require_expert_tensor(const std::vector<Layer>& layers, const Parallelism& parallelism) {
  if (!parallelism.expert_tensor) return;
  const int ranks = *parallelism.expert_tensor;
  if (first_of_experts(layers) == nullptr)
    refuse_layout("expert_tensor", "'expert_tensor' is about experts, but the model has none",
                  "leave out 'expert_tensor'");
  if (ranks == 1 || ranks == parallelism.tensor) return;
  refuse_layout(
      "expert_tensor",
      fmt::format("{} ranks are to divide each expert, but tensor is {}", ranks, parallelism.tensor),
      parallelism.tensor == 1 ? "expert_tensor: 1"
                              : fmt::format("expert_tensor: 1 or {}", parallelism.tensor));
}

void require_experts(const std::vector<Layer>& layers, const ExpertSetting& setting) {
  const Layer* first = first_of_experts(layers);
  if (first == nullptr) {
    if (setting.expert > 1)
      refuse_layout("expert",
                    fmt::format("{} ranks are to divide experts, but the model has none", setting.expert),
                    "expert: 1, or a model with experts");
    if (is_given(setting.routing))
      refuse_layout("routing", "'routing' is about experts, but the model has none", "leave out 'routing'");
    return;
  }
  if (first->experts % setting.expert != 0) {
    refuse_layout("expert",
                  fmt::format("layer '{}' has {} experts, which {} ranks cannot divide equally", first->name,
                              first->experts, setting.expert),
                  fmt::format("expert: {}", std::gcd(first->experts, setting.expert)));
  }
  if (setting.tensor > 1 && !setting.sequence) {
    refuse_layout(
        "sequence",
        fmt::format("{} tensor ranks would all send the same tokens to the experts", setting.tensor),
        "sequence: true, as Megatron-LM requires, or tensor: 1");
  }
  require_routing(setting);
  for (std::size_t i = 0; i + 1 < layers.size(); ++i) {
    if (copies_tokens(layers[i])) require_groups(layers[i], layers[i + 1].experts, setting);
  }
  require_overlap(layers, setting);
}

ShardedModel share_experts(ShardedModel sharded, const ExpertSetting& setting) {
  std::vector<Layer>& layers = sharded.layers;
  TokenExchange exchange;
  for (std::size_t i = 0; i < layers.size(); ++i) {
    const auto number = static_cast<int>(i);
    Layer& layer = layers[i];
    if (layer.experts > 0) {
      divide_experts(layer, exchange, setting);
      continue;
    }
    if (layer.kind != LayerKind::permute) continue;
    if (layers[i + 1].experts > 0) {  // in front of the experts
      exchange = exchange_of(layer, layers[i + 1], setting);
      add_sorting(layer, exchange, setting);
      add_copy_transfers(sharded.transfers, number, exchange, setting);
    } else {
      add_sorting(layer, exchange, setting);
      add_sum_transfers(sharded.transfers, number, exchange, setting);
    }
  }
  if (setting.overlap == ExpertOverlap::shared_experts)
    overlap_shared_experts(sharded, setting.dispatcher == TokenDispatcher::all_to_all);
  return sharded;
}

void await_counts(Trace& trace, const std::vector<Layer>& layers, const ExpertSetting& setting) {
  if (setting.routing.capacity_factor) return;
  for (std::size_t i = 0; i < trace.ops.size(); ++i) {
    Op& op = trace.ops[i];
    const bool is_first = i > 0 && trace.ops[i - 1].of_layer != op.of_layer;
    const bool is_last = i + 1 == trace.ops.size() || trace.ops[i + 1].of_layer != op.of_layer;
    if (op.phase != Phase::forward || op.of_layer < 0 || !copies_tokens(layers[at(op.of_layer)])) continue;
    if (is_last && setting.dispatcher == TokenDispatcher::all_to_all) op.awaits_start = true;
    if (is_first && setting.dispatcher == TokenDispatcher::all_gather) op.synchronises = true;
    if (!is_first || setting.dispatcher != TokenDispatcher::deepep) continue;
    std::size_t before = i;
    do {
      --before;
    } while (before > 0 && trace.ops[before].of_layer >= 0 &&
             is_shared(layers[at(trace.ops[before].of_layer)]));
    trace.ops[before].synchronises = true;
  }
}

std::vector<Diagnostic> expert_warnings(const std::vector<Layer>& layers, int micro_batch) {
  constexpr long long rows_of_tile =
      128;  // of the largest tiles of matrix kernels, such as CUTLASS's 128x256
  std::vector<Diagnostic> found;
  const auto grouped =
      std::ranges::find_if(layers, [](const Layer& layer) { return layer.experts > 0 && layer.gemm.k > 0; });
  if (grouped == layers.end()) return found;
  const long long rows = static_cast<long long>(grouped->gemm.m) * micro_batch;
  if (rows >= rows_of_tile) return found;
  Diagnostic& few = found.emplace_back();
  few.severity = Severity::warning;
  few.key_path = "parallelism.expert";
  few.message = fmt::format(
      "an expert gets {} rows of a micro-batch, fewer than the {} of a kernel tile: its "
      "products are far from the peak rate",
      rows, rows_of_tile);
  few.hint = "more samples in a micro-batch, or more expert ranks";
  return found;
}

std::string routing_note(const std::vector<Layer>& layers, const ExpertSetting& setting) {
  double most = 0;
  double sum = 0;
  int count = 0;
  int experts = 0;
  for (std::size_t i = 0; i + 1 < layers.size(); ++i) {
    if (layers[i].kind != LayerKind::permute || layers[i + 1].experts == 0) continue;
    experts = layers[i + 1].experts;
    const double scale = scale_of(layers[i], experts, setting);
    most = std::max(most, scale);
    sum += scale;
    ++count;
  }
  if (count == 0) return {};
  const Routing& routing = setting.routing;
  if (routing.capacity_factor)
    return fmt::format("experts: each takes {} times the mean number of tokens; others are dropped",
                       *routing.capacity_factor);
  if (routing.imbalance)
    return fmt::format(
        "experts: all ranks wait for the fullest one, which has {} times the mean load and "
        "stands for all",
        *routing.imbalance);
  if (routing.skew)
    return fmt::format(
        "experts: loads drawn with skew {} and seed {}: the fullest rank of a group has {:.3g} "
        "times the mean load (mean of {} layers; {:.3g} at most) and stands for all",
        *routing.skew, routing.seed.value_or(1), sum / count, count, most);
  return fmt::format("experts: even routing assumed: each of the {} experts gets as many tokens", experts);
}

}  // namespace trainyard
