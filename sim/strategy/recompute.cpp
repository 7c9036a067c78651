#include "strategy/recompute.hpp"

#include "workload/transformer_layers.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <string>
#include <utility>

namespace trainyard {
namespace {

/// By layer, whether its block is one of those that full recomputation has. Blocks of several chunks follow
/// each other in `layers`.
std::vector<bool> of_recomputed_blocks(const std::vector<Layer>& layers, RecomputedBlocks blocks) {
  std::vector<bool> are_of;
  are_of.reserve(layers.size());
  std::optional<int> last;
  int place = 0;
  for (const Layer& layer : layers) {
    if (layer.block && layer.block != last) {
      place = last && *layer.block == *last + 1 ? place + 1 : 0;
      last = layer.block;
    }
    are_of.push_back(place < blocks.first.value_or(place + 1) && (place + 1) % blocks.every.value_or(1) == 0);
  }
  return are_of;
}

/// By layer, the part of a linear layer's columns that `alternate` computes again: every second product of a
/// block, the first one kept.
std::vector<double> alternate_shares(const std::vector<Layer>& layers) {
  std::vector<double> shares(layers.size(), 1);
  std::optional<int> last;
  int products = 0;
  for (std::size_t i = 0; i < layers.size(); ++i) {
    const Layer& layer = layers[i];
    if (layer.block != std::exchange(last, layer.block)) products = 0;
    if (layer.kind != LayerKind::linear) continue;
    const std::vector<int> parts = layer.projections.empty() ? std::vector{1} : layer.projections;
    int all = 0;
    int again = 0;
    for (const int columns : parts) {
      all += columns;
      if (++products % 2 == 0) again += columns;
    }
    shares[i] = 1.0 * again / all;
  }
  return shares;
}

/// Whether the ranks of a group each keep a part of the sum of an op's results.
bool is_scattered(const Op& op) {
  return std::ranges::any_of(op.communications, [](const OpCommunication& launched) {
    return launched.operation == Operation::reduce_scatter;
  });
}

/// The part of an op that `alternate` computes again.
double part_again(const Op& op, const Layer& layer, double share) {
  if (layer.kind == LayerKind::flash_attention || is_attention_core(layer) || is_scattered(op)) return 0;
  return is_matrix(op.kind) && !op.in_8_bits ? share : 1;
}

Op with_part(Op op, double part) {
  op.flops = part * op.flops;
  op.bytes = part * op.bytes;
  if (auto* const product = std::get_if<GemmShape>(&op.shape))
    product->n = static_cast<int>(std::lround(part * product->n));
  return op;
}

/// The block whose layer an op's is, if the op is computed again.
std::optional<int> repeated_block(const Op& op, const std::vector<Layer>& layers,
                                  const std::vector<bool>& are_of) {
  if (op.of_layer < 0 || !are_of[static_cast<std::size_t>(op.of_layer)]) return std::nullopt;
  return layers[static_cast<std::size_t>(op.of_layer)].block;
}

/// By layer, whether it is computed again.
std::vector<bool> computed_again(const std::vector<Layer>& layers, Recompute what,
                                 const RecomputedBlocks& blocks) {
  if (what == Recompute::selective) return of_recomputed_modules(layers, blocks.modules);
  return of_recomputed_blocks(layers, blocks);
}

bool is_norm(const Layer& layer) {
  return layer.kind == LayerKind::layer_norm || layer.kind == LayerKind::rms_norm;
}

/// Whether layer `i` is of a part. `has_latents`: its block has latent attention.
bool is_of(RecomputedModule module, const std::vector<Layer>& layers, std::size_t i, bool has_latents) {
  const Layer& layer = layers[i];
  const std::string& name = layer.name;
  const auto is_next = [&](const char* part) {
    return i + 1 < layers.size() && layers[i + 1].name.find(part) != std::string::npos;
  };
  const auto ends_in = [&](const auto&... ends) { return (name.ends_with(ends) || ...); };
  switch (module) {
    case RecomputedModule::core_attn:
      return is_attention_core(layer);
    case RecomputedModule::layernorm:
      return is_norm(layer) && ((ends_in(".ln2") && is_next(".moe.")) || (ends_in(".ln1") && has_latents));
    case RecomputedModule::moe_act:
      return layer.experts > 0 && layer.kind != LayerKind::linear;
    case RecomputedModule::mla_up_proj:
      return has_latents && ends_in(".attn.q_norm", ".attn.q_b", ".attn.q", ".attn.kv_norm", ".attn.kv_b",
                                    ".attn.rope", ".attn.concat");
    case RecomputedModule::mlp:
      return name.find(".mlp.") != std::string::npos;
  }
  return false;
}

Op repeated(Op op) {
  op.phase = Phase::backward;
  op.role = OpRole::recompute;
  op.layer += ".recompute";
  return op;
}

/// Takes the end of a block's repeated ops away, whose results backward does not need.
void stop_early(std::vector<Op>& repeated, const std::vector<Layer>& layers) {
  const auto layer_at_end = [&] { return repeated.back().of_layer; };
  const auto kind_at_end = [&] { return layers[static_cast<std::size_t>(layer_at_end())].kind; };
  while (!repeated.empty() && kind_at_end() == LayerKind::add) repeated.pop_back();
  if (repeated.empty() || kind_at_end() != LayerKind::linear) return;
  const int last = layer_at_end();
  while (!repeated.empty() && layer_at_end() == last) repeated.pop_back();
}

void keep_nothing(Layer& layer) {
  layer.saved_elements = 0;
  layer.saved_fixed = Bytes();
}

/// The layers without the values that are not kept, but for block `live`.
std::vector<Layer> without(std::vector<Layer> layers, const std::vector<NotKept>& dropped,
                           std::optional<int> live) {
  for (std::size_t i = 0; i < layers.size(); ++i) {
    Layer& layer = layers[i];
    if (layer.block == live) continue;
    if (dropped[i] == NotKept::all) keep_nothing(layer);
    if (dropped[i] == NotKept::input)
      layer.saved_elements = std::max(0.0, layer.saved_elements - layer.in_elements);
  }
  return layers;
}

}  // namespace

std::vector<bool> of_recomputed_modules(const std::vector<Layer>& layers,
                                        const std::vector<RecomputedModule>& modules) {
  std::set<std::optional<int>> with_latents;
  for (const Layer& layer : layers) {
    if (layer.name.ends_with(".attn.kv_b")) with_latents.insert(layer.block);
  }
  std::vector<bool> are_of(layers.size());
  for (std::size_t i = 0; i < layers.size(); ++i) {
    const bool has_latents = with_latents.contains(layers[i].block);
    are_of[i] = layers[i].block && std::ranges::any_of(modules, [&](RecomputedModule module) {
                  return is_of(module, layers, i, has_latents);
                });
  }
  return are_of;
}

std::vector<NotKept> not_kept(const std::vector<Layer>& layers,
                              const std::vector<RecomputedModule>& modules) {
  const std::vector<bool> are_of = of_recomputed_modules(layers, modules);
  std::vector<NotKept> all(layers.size(), NotKept::nothing);
  for (std::size_t i = 0; i < layers.size(); ++i) {
    if (is_attention_core(layers[i])) {
      const bool holds_scores = layers[i].kind != LayerKind::batched_matmul;
      if (are_of[i] && holds_scores) all[i] = NotKept::all;
      continue;
    }
    const bool follows = i > 0 && layers[i - 1].block == layers[i].block && are_of[i - 1];
    if (follows && !is_attention_core(layers[i - 1])) all[i] = are_of[i] ? NotKept::all : NotKept::input;
  }
  return all;
}

void recompute(Trace& trace, const std::vector<Layer>& layers, Recompute what, RecomputedBlocks blocks) {
  if (what == Recompute::none) return;
  const std::vector<bool> are_of = computed_again(layers, what, blocks);
  const std::vector<double> shares =
      what == Recompute::alternate ? alternate_shares(layers) : std::vector<double>();
  const auto part_of = [&](const Op& op) {
    if (what != Recompute::alternate) return 1.0;
    const auto place = static_cast<std::size_t>(op.of_layer);
    return part_again(op, layers[place], shares[place]);
  };
  std::map<int, std::vector<Op>> copies;  // by block
  std::vector<Op> ops;
  for (Op& op : trace.ops) {
    const std::optional<int> block = repeated_block(op, layers, are_of);
    if (block && op.phase == Phase::forward) {
      if (const double part = part_of(op); part > 0)
        copies[*block].push_back(repeated(part < 1 ? with_part(op, part) : op));
    }
    if (block && op.phase == Phase::backward) {
      std::vector<Op> repeated = std::exchange(copies[*block], {});
      if (what == Recompute::full && blocks.stops_early) stop_early(repeated, layers);
      for (Op& copy : repeated) ops.push_back(std::move(copy));
    }
    ops.push_back(std::move(op));
  }
  trace.ops = std::move(ops);
}

std::vector<Layer> kept_layers(std::vector<Layer> layers, Recompute what, std::optional<int> live,
                               RecomputedBlocks blocks) {
  if (what == Recompute::none) return layers;
  if (what == Recompute::selective) return without(layers, not_kept(layers, blocks.modules), live);
  const std::vector<bool> are_of = of_recomputed_blocks(layers, blocks);
  const std::vector<double> shares =
      what == Recompute::alternate ? alternate_shares(layers) : std::vector<double>();
  std::optional<int> before;  // the block of the layer before
  for (std::size_t i = 0; i < layers.size(); ++i) {
    Layer& layer = layers[i];
    const bool is_first = layer.block != std::exchange(before, layer.block);
    if (!layer.block || layer.block == live || !are_of[i] || is_first) continue;
    const bool is_product = layer.kind == LayerKind::linear;
    const bool is_kept = is_product || layer.kind == LayerKind::flash_attention;
    keep_nothing(layer);
    if (what == Recompute::alternate && is_kept)
      layer.saved_elements = (is_product ? 1 - shares[i] : 1) * layer.out_elements;
  }
  return layers;
}

}  // namespace trainyard
