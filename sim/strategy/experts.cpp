#include "strategy/experts.hpp"

#include "strategy/layout_refusal.hpp"
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

/// The sizes of one mixture of experts on a rank.
struct Exchange {
  double tokens = 0;  ///< of a rank, T, per sample
  double sent = 0;    ///< copies of them, T k
  double rows = 0;    ///< that its experts compute
  double scale = 1;   ///< of the rows computed and sent over those that the router sends
  int experts = 0;    ///< of the model's layer
  int width = 0;      ///< features of a token
};

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
Exchange exchange_of(const Layer& permute, const Layer& first, const ExpertSetting& setting) {
  const Exchange exchange{.tokens = static_cast<double>(permute.in_shape.front()),
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
void divide_experts(Layer& layer, const Exchange& exchange, const ExpertSetting& setting) {
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

/// The exchanges of one mixture of experts. `copies` and `sums`: the layers before and after the experts.
class ExpertTransfers {
public:
  ExpertTransfers(const ExpertSetting& setting, std::vector<Transfer>& transfers)
      : setting_(setting), transfers_(transfers) {}

  void of_copies(int copies, const Exchange& exchange) {
    const TransferPlace sent = writes_copies() ? TransferPlace::after : TransferPlace::before;
    const TransferPlace received = writes_copies() ? TransferPlace::before : TransferPlace::after;
    gather_counts(copies, exchange);
    dispatch(copies, Phase::forward, sent, exchange);
    send_probabilities(copies, Phase::forward, sent, exchange);
    combine(copies, Phase::backward, received, exchange);
    send_probabilities(copies, Phase::backward, received, exchange);
  }

  void of_sums(int sums, const Exchange& exchange) {
    combine(sums, Phase::forward, writes_copies() ? TransferPlace::before : TransferPlace::after, exchange);
    dispatch(sums, Phase::backward, writes_copies() ? TransferPlace::after : TransferPlace::before, exchange);
  }

private:
  /// Whether copies travel, which a layer of their own writes, not tokens.
  [[nodiscard]] bool writes_copies() const { return setting_.dispatcher == TokenDispatcher::all_to_all; }
  [[nodiscard]] bool gathers() const { return setting_.dispatcher == TokenDispatcher::all_gather; }

  void dispatch(int layer, Phase phase, TransferPlace place, const Exchange& exchange) {
    exchange_tokens(layer, phase, place, Operation::all_gather, exchange);
    over_tensor(layer, phase, place, Operation::all_gather, exchange);
  }

  void combine(int layer, Phase phase, TransferPlace place, const Exchange& exchange) {
    over_tensor(layer, phase, place, Operation::reduce_scatter, exchange);
    exchange_tokens(layer, phase, place, Operation::reduce_scatter, exchange);
  }

  void exchange_tokens(int layer, Phase phase, TransferPlace place, Operation of_all,
                       const Exchange& exchange) {
    if (setting_.expert == 1) return;
    if (gathers())
      add(layer, phase, place, of_all, exchange.tokens * setting_.expert * exchange.width);
    else
      add(layer, phase, place, Operation::all_to_all, exchange.sent * exchange.scale * exchange.width);
  }

  void over_tensor(int layer, Phase phase, TransferPlace place, Operation operation,
                   const Exchange& exchange) {
    if (setting_.tensor == 1 || setting_.whole_experts) return;
    const double rows =
        gathers() ? exchange.tokens * setting_.expert * setting_.tensor : exchange.rows * exchange.scale;
    transfers_.push_back({layer, phase, place, operation, Axis::tensor, rows * exchange.width});
  }

  /// In fp32, as recipes set the router's type.
  void send_probabilities(int layer, Phase phase, TransferPlace place, const Exchange& exchange) {
    if (setting_.expert == 1 || setting_.dispatcher == TokenDispatcher::deepep) return;  // with the tokens
    const bool is_forward = phase == Phase::forward;
    constexpr double byte = 0.25;  // of fp32: whether a token passes through an expert
    const double of_all = exchange.tokens * setting_.expert * exchange.experts;
    if (gathers())
      add(layer, phase, place, is_forward ? Operation::all_gather : Operation::reduce_scatter,
          of_all * (is_forward ? 1 + byte : 1));
    else
      add(layer, phase, place, Operation::all_to_all, exchange.sent * exchange.scale);
    transfers_.back().of = TransferDtype::fp32;
  }

  /// The number of each rank's tokens for every expert. All-gathered tokens are counted where they arrive.
  void gather_counts(int layer, const Exchange& exchange) {
    if (setting_.expert == 1 || setting_.routing.capacity_factor || gathers()) return;
    constexpr Bytes number{8};
    add(layer, Phase::forward, TransferPlace::before, Operation::all_gather, 0);
    transfers_.back().fixed = 1.0 * exchange.experts * setting_.expert * number;
  }

  void add(int layer, Phase phase, TransferPlace place, Operation operation, double elements) {
    transfers_.push_back({layer, phase, place, operation, Axis::expert, elements});
  }

  const ExpertSetting& setting_;
  std::vector<Transfer>& transfers_;
};

/// Zeros and results for all tokens of the group, of which copies for the own experts are taken.
void add_gathered_tokens(Layer& layer, const Exchange& exchange, const ExpertSetting& setting) {
  const int parts = setting.whole_experts ? 1 : setting.tensor;
  const double others = exchange.tokens * (setting.expert * parts - 1) * exchange.width;
  if (copies_tokens(layer))
    layer.backward_rw_elements += others;
  else
    layer.forward_rw_elements += others;
}

/// Rows arrive by rank and are computed by expert, and go back by rank.
void add_sorting(Layer& layer, const Exchange& exchange, const ExpertSetting& setting) {
  if (setting.dispatcher == TokenDispatcher::all_gather) return add_gathered_tokens(layer, exchange, setting);
  if (setting.dispatcher == TokenDispatcher::deepep) return;  // copied in the order of the experts
  const int parts = setting.whole_experts ? 1 : setting.tensor;
  const bool is_sorted = setting.expert * parts == 1 || exchange.experts / setting.expert == 1;
  if (is_sorted) return;
  const double moved = 2 * exchange.rows * exchange.scale * exchange.width;
  layer.forward_rw_elements += moved;
  layer.backward_rw_elements += moved;
}

/// Whether a layer is one of shared experts.
bool is_shared(const Layer& layer) { return layer.name.find(".moe.shared.") != std::string::npos; }

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

/// Moves the shared experts of each block to where tokens travel: their layers up to the last product run
/// while tokens are dispatched, the others while results are combined.
class SharedExperts {
public:
  SharedExperts(ShardedModel& model, bool writes_copies)
      : model_(model), writes_copies_(writes_copies), place_(model.layers.size()) {
    std::iota(place_.begin(), place_.end(), 0);
  }

  void overlap() {
    for (std::size_t i = 0; i < model_.layers.size(); ++i) {
      if (is_shared(model_.layers[i]) && (i == 0 || !is_shared(model_.layers[i - 1]))) overlap(find(i));
    }
    std::vector<Layer> layers(model_.layers.size());
    for (std::size_t i = 0; i < place_.size(); ++i) layers[at(place_[i])] = std::move(model_.layers[i]);
    model_.layers = std::move(layers);
    for (Transfer& transfer : model_.transfers) transfer.layer = place_[at(transfer.layer)];
    std::ranges::stable_sort(model_.transfers, {}, &Transfer::layer);
  }

private:
  /// Layers of a block: the shared ones from `first` and from `last_product` to the router, the copies of
  /// tokens, then the experts, and the sums of their results.
  struct Block {
    int first = 0, last_product = 0, router = 0, copies = 0, sums = 0;
  };

  [[nodiscard]] Block find(std::size_t first) const {
    const std::vector<Layer>& layers = model_.layers;
    std::size_t router = first;
    while (is_shared(layers[router])) ++router;
    std::size_t last_product = router - 1;
    while (layers[last_product].name.ends_with(".gate") || layers[last_product].kind != LayerKind::linear)
      --last_product;
    std::size_t copies = router;
    while (!copies_tokens(layers[copies])) ++copies;
    std::size_t sums = copies + 1;
    while (layers[sums].experts > 0) ++sums;
    return {static_cast<int>(first), static_cast<int>(last_product), static_cast<int>(router),
            static_cast<int>(copies), static_cast<int>(sums)};
  }

  void overlap(const Block& block) {
    int next = block.first;
    const auto put = [&](int from, int end) {
      for (int i = from; i < end; ++i) place_[at(i)] = next++;
      model_.layers[at(from)].continues_previous = false;
    };
    const int experts = block.copies + 1;
    put(block.router, writes_copies_ ? experts : block.copies);
    put(block.first, block.last_product);
    put(writes_copies_ ? experts : block.copies, writes_copies_ ? block.sums : block.sums + 1);
    put(block.last_product, block.router);
    if (writes_copies_) put(block.sums, block.sums + 1);
    for (Transfer& transfer : model_.transfers) {
      if (transfer.layer == block.copies || transfer.layer == block.sums) hide(transfer, block);
    }
  }

  /// Launches an exchange when the layer before the shared ones has ended, in the order of its pass.
  void hide(Transfer& transfer, const Block& block) const {
    const bool is_forward = transfer.phase == Phase::forward;
    const bool is_of_copies = transfer.layer == block.copies;
    if (transfer.fixed > Bytes()) {  // the numbers of tokens, without which nothing is sent
      if (!writes_copies_) transfer.place = TransferPlace::after;
      if (!writes_copies_) transfer.layer = block.copies - 1;
      return;
    }
    if (transfer.place == TransferPlace::before) transfer.layer += is_forward ? -1 : 1;
    transfer.place = TransferPlace::beside_next;
    transfer.next_layers =
        is_of_copies ? block.last_product - block.first : block.router - block.last_product;
  }

  ShardedModel& model_;
  bool writes_copies_;
  std::vector<int> place_;  ///< of each layer afterwards
};

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
  ExpertTransfers transfers(setting, sharded.transfers);
  Exchange exchange;
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
      transfers.of_copies(number, exchange);
    } else {
      add_sorting(layer, exchange, setting);
      transfers.of_sums(number, exchange);
    }
  }
  if (setting.overlap == ExpertOverlap::shared_experts)
    SharedExperts(sharded, setting.dispatcher == TokenDispatcher::all_to_all).overlap();
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
