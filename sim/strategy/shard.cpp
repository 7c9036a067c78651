#include "strategy/shard.hpp"

#include "strategy/layout_refusal.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <string>
#include <utility>

namespace trainyard {
namespace {

/// Columns of one rank; no more than `limited.parts` ranks divide the limited ones.
int own_columns(int columns, const LimitedColumns& limited, int ranks) {
  if (limited.columns == 0) return columns / ranks;
  return (columns - limited.columns) / ranks + limited.columns / std::min(ranks, limited.parts);
}

void divide(std::vector<Parameter>& parameters, double parts) {
  for (Parameter& parameter : parameters) parameter.elements /= parts;
}

/// Traffic of a linear layer from its own values and weights, as linear_layer() counts it.
void count_traffic(Layer& layer) {
  layer.weight_rw_elements = layer.tied_elements > 0 ? 0 : parameter_elements(layer);
  layer.forward_rw_elements = layer.in_elements + layer.out_elements + layer.weight_rw_elements;
  layer.backward_rw_elements = 2 * layer.forward_rw_elements;
}

Layer columns_part(Layer layer, int ranks, bool has_divided_input) {
  const int columns = layer.out_shape.back();
  const int own = own_columns(columns, layer.limited, ranks);
  const auto part = [&](auto& value) { value = value / columns * own; };  // exact: columns first
  for (Parameter& parameter : layer.parameters) part(parameter.elements);
  part(layer.tied_elements);
  part(layer.forward_macs);
  part(layer.forward_flops);
  part(layer.backward_flops);
  part(layer.out_elements);
  layer.out_shape.back() = own;
  layer.gemm.n = own;
  if (has_divided_input) layer.saved_elements /= ranks;
  count_traffic(layer);
  return layer;
}

Layer rows_part(Layer layer, int ranks) {
  const double weight = static_cast<double>(layer.in_shape.back()) * layer.out_shape.back() *
                        layer.gemm.batch;  // more than one: of experts
  for (Parameter& parameter : layer.parameters) {
    if (parameter.elements == weight) parameter.elements /= ranks;  // the bias is added once, by every rank
  }
  layer.forward_macs /= ranks;
  layer.forward_flops = layer.forward_flops / ranks;
  layer.backward_flops = layer.backward_flops / ranks;
  layer.in_elements /= ranks;
  layer.saved_elements /= ranks;
  layer.in_shape.back() /= ranks;
  layer.gemm.k /= ranks;
  count_traffic(layer);
  return layer;
}

/// How often the limited values are part of a layer's counts.
struct LimitedShare {
  int in = 0, out = 0, saved = 0, forward = 0, backward = 0, forward_flops = 0, backward_flops = 0;
};

LimitedShare limited_share(LayerKind kind) {
  switch (kind) {
    case LayerKind::rope:  // the keys
      return {.in = 1, .out = 1, .forward = 2, .backward = 2, .forward_flops = 3, .backward_flops = 3};
    case LayerKind::rms_norm:  // the same
      return {.in = 1,
              .out = 1,
              .saved = 1,
              .forward = 2,
              .backward = 3,
              .forward_flops = 4,
              .backward_flops = 9};
    case LayerKind::layer_norm:  // the same
      return {.in = 1,
              .out = 1,
              .saved = 1,
              .forward = 2,
              .backward = 3,
              .forward_flops = 8,
              .backward_flops = 14};
    case LayerKind::flash_attention:  // keys and values, and their gradients
      return {.in = 1, .saved = 1, .forward = 1, .backward = 2};
    case LayerKind::batched_matmul:  // keys or values, and their gradient
      return {.saved = 1, .forward = 1, .backward = 2};
    default:
      return {};
  }
}

/// Whether layers of a kind have heads of queries and of keys in one.
bool is_of_heads_of_both(LayerKind kind) {
  return kind == LayerKind::rope || kind == LayerKind::rms_norm || kind == LayerKind::layer_norm;
}

/// Parameters of the heads: scales of a norm that are each head's own, and sinks. One scale for all heads and
/// a table of buckets are whole on every rank.
void divide_parameters_of_heads(Layer& layer, int ranks) {
  if (layer.kind == LayerKind::flash_attention || layer.kind == LayerKind::softmax)
    divide(layer.parameters, ranks);
  const bool is_norm = layer.kind == LayerKind::rms_norm || layer.kind == LayerKind::layer_norm;
  if (!is_norm || layer.parameters.empty() || layer.parameters.front().elements <= layer.in_shape.back())
    return;
  layer.parameters.front().elements /= ranks;
  const int parts = layer.limited.columns > 0 ? layer.limited.parts : ranks;
  layer.parameters.back().elements /= std::min(ranks, parts);
}

void divide_heads_or_features(std::vector<int>& shape, const Layer& layer, int ranks) {
  if (shape.size() < 3) {
    shape.back() /= ranks;
    return;
  }
  const int limited = is_of_heads_of_both(layer.kind) ? layer.limited.parts : 0;
  shape.front() = own_columns(shape.front(), {limited, limited}, ranks);
}

Layer inner_part(Layer layer, int ranks) {
  const bool is_limited = layer.limited.columns > 0;
  const double values = is_limited ? static_cast<double>(layer.limited.columns) * layer.in_shape[1] : 0;
  const int limited_ranks = is_limited ? std::min(ranks, layer.limited.parts) : ranks;
  const double copies = values / limited_ranks - values / ranks;  // beyond an equal part
  const LimitedShare share = limited_share(layer.kind);
  layer.forward_macs /= ranks;
  layer.forward_flops = layer.forward_flops / ranks + Flops(share.forward_flops * copies);
  layer.backward_flops = layer.backward_flops / ranks + Flops(share.backward_flops * copies);
  layer.in_elements = layer.in_elements / ranks + share.in * copies;
  layer.out_elements = layer.out_elements / ranks + share.out * copies;
  layer.saved_elements = layer.saved_elements / ranks + share.saved * copies;
  layer.saved_fixed = layer.saved_fixed / ranks;
  layer.forward_rw_elements = layer.forward_rw_elements / ranks + share.forward * copies;
  layer.backward_rw_elements = layer.backward_rw_elements / ranks + share.backward * copies;
  divide_parameters_of_heads(layer, ranks);
  divide_heads_or_features(layer.in_shape, layer, ranks);
  divide_heads_or_features(layer.out_shape, layer, ranks);
  layer.gemm.batch /= ranks;
  return layer;
}

/// The values of a layer that are not weights, in equal parts.
void divide_values(Layer& layer, int ranks) {
  const double weights = layer.weight_rw_elements;
  layer.forward_flops = layer.forward_flops / ranks;
  layer.backward_flops = layer.backward_flops / ranks;
  layer.in_elements /= ranks;
  layer.saved_elements /= ranks;
  layer.saved_fixed = layer.saved_fixed / ranks;
  layer.forward_rw_elements = (layer.forward_rw_elements - weights) / ranks + weights;
  layer.backward_rw_elements = (layer.backward_rw_elements - weights) / ranks + weights;
}

Layer tokens_part(Layer layer, int ranks) {
  divide_values(layer, ranks);
  layer.summed_elements /= ranks;
  layer.out_elements /= ranks;
  layer.in_shape.front() /= ranks;
  layer.out_shape.front() /= ranks;
  layer.forward_macs /= ranks;
  layer.gemm.m /= ranks;
  if (layer.gemm.k > 0) count_traffic(layer);
  return layer;
}

/// A rank looks up all tokens and has zeros for those in the rows of others.
Layer table_part(Layer layer, int ranks) {
  divide(layer.parameters, ranks);
  layer.tied_elements /= ranks;
  layer.backward_rw_elements /= ranks;
  return layer;
}

Layer loss_part(Layer layer, int ranks) {
  constexpr Bytes logit{4};
  divide_values(layer, ranks);
  layer.in_shape.back() /= ranks;
  layer.saved_elements = 0;
  layer.saved_fixed = layer.in_elements * logit;
  return layer;
}

Layer part_of(const Layer& layer, const ShardSetting& setting, bool has_divided_input) {
  const int ranks = setting.tensor;
  if (layer.experts > 0 && setting.whole_experts) return tokens_part(layer, ranks);
  switch (layer.split) {
    case TensorSplit::none:
      return layer;
    case TensorSplit::columns:
      return columns_part(layer, ranks, has_divided_input);
    case TensorSplit::rows:
      return rows_part(layer, ranks);
    case TensorSplit::inner:
      return inner_part(layer, ranks);
    case TensorSplit::tokens:
      return setting.sequence ? tokens_part(layer, ranks) : layer;
    case TensorSplit::table:
      return table_part(layer, ranks);
    case TensorSplit::loss:
      return loss_part(layer, ranks);
  }
  return layer;
}

/// Collects the transfers of whole layers.
class TransferList {
public:
  TransferList(const std::vector<Layer>& layers, bool sequence) : layers_(layers), sequence_(sequence) {}

  void add(int number) {
    const Layer& layer = layers_[static_cast<std::size_t>(number)];
    if (layer.experts > 0) return;  // share_experts() adds theirs
    switch (layer.split) {
      case TensorSplit::columns:
        add_columns(number, layer);
        break;
      case TensorSplit::rows:
      case TensorSplit::table:
        add_sum(number, layer);
        break;
      case TensorSplit::loss:
        add_loss(number, layer);
        break;
      case TensorSplit::none:
        if (has_divided_input(number)) gather_tokens(number);
        break;
      case TensorSplit::inner:
      case TensorSplit::tokens:
        break;
    }
  }

  [[nodiscard]] bool has_divided_input(int number) const {
    const Layer& layer = layers_[static_cast<std::size_t>(number)];
    if (layer.reads_encoder) return sequence_;  // the norm or dropout that ends the encoder
    return sequence_ && number > 0 && before(number).split == TensorSplit::tokens && layer.experts == 0;
  }

  std::vector<Transfer> take() { return std::move(transfers_); }

private:
  [[nodiscard]] const Layer& before(int number) const {
    return layers_[static_cast<std::size_t>(number - 1)];
  }

  void append(int layer, Phase phase, TransferPlace place, Operation operation, double elements) {
    transfers_.push_back({layer, phase, place, operation, Axis::tensor, elements});
  }

  void add_columns(int number, const Layer& layer) {
    const double input = layer.in_elements;
    if (!has_divided_input(number)) {
      append(number, Phase::backward, TransferPlace::beside_weight_grad, Operation::all_reduce, input);
      return;
    }
    append(number, Phase::forward, TransferPlace::before, Operation::all_gather, input);
    append(number, Phase::backward, TransferPlace::beside_input_grad, Operation::all_gather, input);
    append(number, Phase::backward, TransferPlace::beside_weight_grad, Operation::reduce_scatter, input);
  }

  void add_sum(int number, const Layer& layer) {
    const double output = layer.out_elements;
    if (!sequence_) {
      append(number, Phase::forward, TransferPlace::after, Operation::all_reduce, output);
      return;
    }
    append(number, Phase::forward, TransferPlace::after, Operation::reduce_scatter, output);
    append(number, Phase::backward, TransferPlace::before, Operation::all_gather, output);
  }

  void add_loss(int number, const Layer& layer) {
    constexpr int reductions = 3;
    for (int i = 0; i < reductions; ++i) {
      append(number, Phase::forward, TransferPlace::after, Operation::all_reduce, layer.in_shape.front());
      transfers_.back().of = TransferDtype::fp32;
    }
  }

  void gather_tokens(int number) {
    append(number, Phase::forward, TransferPlace::before, Operation::all_gather, before(number).out_elements);
  }

  const std::vector<Layer>& layers_;
  bool sequence_;
  std::vector<Transfer> transfers_;
};

[[noreturn]] void refuse(const std::string& what, int ranks, const std::string& hint,
                         const char* key = "tensor") {
  refuse_layout(key, fmt::format("tensor is {}: {}", ranks, what), hint);
}

void require_divisor(const Layer& layer, int count, std::string_view what, int ranks,
                     const char* key = "tensor") {
  if (count % ranks == 0) return;
  refuse(fmt::format("layer '{}' has {} {}, which {} ranks cannot divide equally", layer.name, count, what,
                     ranks),
         ranks, fmt::format("use a divisor of {}", count), key);
}

bool has_heads(const Layer& layer) {
  return layer.split == TensorSplit::inner && layer.in_shape.size() == 3 && !is_of_heads_of_both(layer.kind);
}

void require_vocabulary(const Layer& layer, int entries, int ranks) {
  constexpr int unit_of_megatron = 128;
  if (entries % ranks == 0) return;
  refuse(fmt::format("the vocabulary of layer '{}' has {} entries, which {} ranks cannot divide equally",
                     layer.name, entries, ranks),
         ranks,
         fmt::format("set pad_vocabulary of the model, as Megatron-LM to {}", unit_of_megatron * ranks));
}

void require_limited(const Layer& layer, int ranks) {
  const int parts = layer.limited.parts;
  if (layer.limited.columns == 0 || parts % ranks == 0 || ranks % parts == 0) return;
  refuse(fmt::format("layer '{}' has {} heads of keys and values, and neither number divides the other",
                     layer.name, parts),
         ranks, fmt::format("use a divisor or a multiple of {}", parts));
}

void require_layer(const Layer& layer, const ShardSetting& setting) {
  const int ranks = setting.tensor;
  if (layer.experts > 0 && setting.whole_experts) return;  // as many tokens as the layers around them
  require_limited(layer, ranks);
  switch (layer.split) {
    case TensorSplit::columns:
      if (layer.tied_elements > 0)
        require_vocabulary(layer, layer.out_shape.back(), ranks);
      else
        require_divisor(layer, layer.out_shape.back() - layer.limited.columns, "outputs", ranks);
      break;
    case TensorSplit::rows:
      require_divisor(layer, layer.in_shape.back(), "inputs", ranks);
      break;
    case TensorSplit::inner:
      if (layer.in_shape.size() < 3) require_divisor(layer, layer.out_shape.back(), "features", ranks);
      break;
    case TensorSplit::tokens:
      if (setting.sequence) require_divisor(layer, layer.in_shape.front(), "tokens", ranks, "sequence");
      break;
    case TensorSplit::table:
      require_vocabulary(
          layer, static_cast<int>((parameter_elements(layer) + layer.tied_elements) / layer.out_shape.back()),
          ranks);
      break;
    case TensorSplit::loss:
      require_vocabulary(layer, layer.in_shape.back(), ranks);
      break;
    case TensorSplit::none:
      break;
  }
}

/// Models of other families have no roles.
void require_roles(const std::vector<Layer>& layers, int ranks) {
  if (std::ranges::any_of(layers, [](const Layer& layer) { return layer.split != TensorSplit::none; }))
    return;
  for (const Layer& layer : layers) {
    if (layer.kind != LayerKind::linear && !is_convolution(layer)) continue;
    refuse(fmt::format("nothing says how ranks divide layer '{}'", layer.name), ranks,
           "only models of the families vit, bert, gpt2, decoder and encoder_decoder can be divided");
  }
}

}  // namespace

void require_divisible(const std::vector<Layer>& layers, const ShardSetting& setting) {
  if (setting.tensor < 1)
    throw InputError(fmt::format("tensor is {}", setting.tensor), "write 1 or more ranks");
  if (setting.tensor == 1) {
    if (setting.sequence)
      refuse("sequence parallelism divides the tokens among the ranks of a tensor group", 1,
             "use sequence: false, or tensor: 2 or more", "sequence");
    return;
  }
  require_roles(layers, setting.tensor);
  for (const Layer& layer : layers) {  // before the projections, whose columns say less
    if (has_heads(layer)) require_divisor(layer, layer.in_shape.front(), "heads", setting.tensor);
  }
  for (const Layer& layer : layers) require_layer(layer, setting);
}

ShardedModel shard(const Model& model, const ShardSetting& setting) {
  require_divisible(model.layers, setting);
  if (setting.tensor == 1) return {model.layers, {}};
  TransferList transfers(model.layers, setting.sequence);
  ShardedModel sharded;
  sharded.layers.reserve(model.layers.size());
  for (int i = 0; i < static_cast<int>(model.layers.size()); ++i) {
    const Layer& layer = model.layers[static_cast<std::size_t>(i)];
    sharded.layers.push_back(part_of(layer, setting, transfers.has_divided_input(i)));
    transfers.add(i);
  }
  sharded.transfers = transfers.take();
  return sharded;
}

double partial_gradients(const std::vector<Layer>& layers) {
  double sum = 0;
  for (const Layer& layer : layers) {
    if (layer.split == TensorSplit::tokens && layer.kind != LayerKind::embedding) {
      sum += parameter_elements(layer);
    } else if (layer.split == TensorSplit::rows && layer.experts == 0 && layer.parameters.size() > 1) {
      sum += layer.parameters.back().elements;
    }
  }
  return sum;
}

}  // namespace trainyard
