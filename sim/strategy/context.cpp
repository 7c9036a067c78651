#include "strategy/context.hpp"

#include "strategy/layout_refusal.hpp"
#include "workload/make_trace.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <functional>
#include <numeric>
#include <string>
#include <utility>

namespace trainyard {
namespace {

[[noreturn]] void refuse_context(std::string message, std::string hint, const char* key = "context") {
  refuse_layout(key, std::move(message), std::move(hint));
}

bool is_attention(const Layer& layer) { return layer.kind == LayerKind::flash_attention; }

/// The dimension of a sample's shape that counts tokens: heads come before it.
int& tokens_of(std::vector<int>& shape) { return shape.size() == 3 ? shape[1] : shape.front(); }

int tokens_of(const Layer& layer) {
  return layer.in_shape.size() == 3 ? layer.in_shape[1] : layer.in_shape.front();
}

/// Queries of attention's input, in values per sample.
double queries_of(const Layer& attention) {
  return std::accumulate(attention.in_shape.begin(), attention.in_shape.end(), 1.0, std::multiplies<>());
}

/// Keys and values of attention's input, in values per sample.
double keys_and_values(const Layer& attention) { return attention.in_elements - queries_of(attention); }

/// Values of a sample that are not weights, in equal parts.
void divide_values_of(Layer& layer, int ranks) {
  const double weights = layer.weight_rw_elements;
  layer.forward_macs /= ranks;
  layer.forward_flops = layer.forward_flops / ranks;
  layer.backward_flops = layer.backward_flops / ranks;
  layer.in_elements /= ranks;
  layer.summed_elements /= ranks;
  layer.saved_elements /= ranks;
  layer.saved_fixed = layer.saved_fixed / ranks;
  layer.forward_rw_elements = (layer.forward_rw_elements - weights) / ranks + weights;
  if (layer.split != TensorSplit::table)  // its gradient is a whole table
    layer.backward_rw_elements = (layer.backward_rw_elements - 2 * weights) / ranks + 2 * weights;
}

void divide_tokens(Layer& layer, int ranks) {
  divide_values_of(layer, ranks);
  tokens_of(layer.in_shape) /= ranks;
  layer.gemm.m = layer.experts > 0 ? (layer.gemm.m + ranks - 1) / ranks : layer.gemm.m / ranks;
  if (layer.kind == LayerKind::softmax_cross_entropy) return;  // its output is the loss
  layer.out_elements /= ranks;
  tokens_of(layer.out_shape) /= ranks;
}

/// Every rank's queries meet all keys, one block of them after the other.
void divide_into_blocks(Layer& layer, int ranks) {
  const double forward = layer.forward_rw_elements;
  const double backward = layer.backward_rw_elements;
  divide_tokens(layer, ranks);
  layer.forward_rw_elements = forward;  // in each block as much as a rank's tokens have
  layer.backward_rw_elements = backward;
}

/// Every rank's queries meet all keys at once.
void divide_queries(Layer& layer, int ranks) {
  const double received = keys_and_values(layer) * (ranks - 1) / ranks;
  divide_tokens(layer, ranks);
  layer.in_elements += received;
  layer.forward_rw_elements += received;
  layer.backward_rw_elements += 2 * received;
}

/// Every rank has all tokens of some heads.
void divide_heads(Layer& layer, int ranks) {
  divide_values_of(layer, ranks);
  layer.out_elements /= ranks;
  layer.saved_elements += layer.out_elements;
  layer.in_shape.front() /= ranks;
  layer.out_shape.front() /= ranks;
  layer.gemm.batch /= ranks;
}

/// Collects the exchanges around attention layers.
class ExchangeList {
public:
  explicit ExchangeList(std::vector<Transfer>& transfers) : transfers_(transfers) {}

  /// `size`: all keys, or all values.
  void add_gathers(int layer, double size) {
    for (const Phase phase : {Phase::forward, Phase::backward}) {
      for (int i = 0; i < 2; ++i) append(layer, phase, TransferPlace::before, Operation::all_gather, size);
    }
    for (int i = 0; i < 2; ++i)
      append(layer, Phase::backward, TransferPlace::after, Operation::reduce_scatter, size);
  }

  /// `queries`, `keys` and `output`: those of a rank's own tokens.
  void add_all_to_alls(int layer, double queries, double keys, double output) {
    const auto exchange = [&](Phase phase, TransferPlace place, double size) {
      append(layer, phase, place, Operation::all_to_all, size);
    };
    for (const double size : {queries, keys, keys}) exchange(Phase::forward, TransferPlace::before, size);
    exchange(Phase::forward, TransferPlace::after, output);
    exchange(Phase::backward, TransferPlace::before, output);
    for (const double size : {queries, keys, keys}) exchange(Phase::backward, TransferPlace::after, size);
  }

private:
  void append(int layer, Phase phase, TransferPlace place, Operation operation, double elements) {
    transfers_.push_back({layer, phase, place, operation, Axis::context, elements});
  }

  std::vector<Transfer>& transfers_;
};

void share_attention(Layer& layer, int number, ContextExchange exchange, int ranks, ExchangeList& exchanges) {
  const double keys = keys_and_values(layer) / 2;
  switch (exchange) {
    case ContextExchange::p2p:
      divide_into_blocks(layer, ranks);
      break;
    case ContextExchange::all_gather:
      exchanges.add_gathers(number, keys);
      divide_queries(layer, ranks);
      break;
    case ContextExchange::all_to_all:
      exchanges.add_all_to_alls(number, queries_of(layer) / ranks, keys / ranks, layer.out_elements / ranks);
      divide_heads(layer, ranks);
      break;
  }
}

/// Heads of a tensor rank's queries, and of its keys and values.
struct OwnHeads {
  int queries = 0, keys = 0;
};

OwnHeads own_heads(const Layer& attention, int tensor) {
  const int heads = attention.in_shape.front();
  const int of_keys = attention.limited.columns > 0 ? attention.limited.parts : heads;
  return {heads / tensor, std::max(of_keys / tensor, 1)};
}

void require_heads(const Layer& attention, const Parallelism& parallelism) {
  const OwnHeads own = own_heads(attention, parallelism.tensor);
  const int ranks = parallelism.context;
  const auto require = [&](int heads, const char* what) {
    if (heads % ranks == 0) return;
    refuse_context(
        fmt::format("a rank of a tensor group has {} heads of {} in layer '{}', which {} context "
                    "ranks cannot divide equally",
                    heads, what, attention.name, ranks),
        heads > 1 ? fmt::format("context: a divisor of {}, or context_exchange: p2p or all_gather", heads)
                  : "context_exchange: p2p or all_gather",
        "context_exchange");
  };
  require(own.queries, "queries");
  require(own.keys, "keys and values");
}

/// One of the equal blocks of an attention op. If the op is causal, only the first block is, that of the
/// rank's own tokens: a rank has a piece from either end of the sample, so that it needs half of the
/// products with another rank's keys, without a mask; counted as all queries with half of the keys.
Op block_of(const Op& whole, int number, int ranks) {
  Op block = whole;
  block.layer += fmt::format(".block{}", number);
  const int keys_needed = number > 0 && is_causal_attention(whole) ? 2 : 1;  // one in so many
  if (auto* shape = std::get_if<GemmShape>(&block.shape)) shape->n /= keys_needed * ranks;
  block.flops = whole.flops / ranks;
  block.bytes = whole.bytes / ranks;
  block.communications.clear();
  return block;
}

/// Data that a rank sends during a block, in multiples of its keys and values.
int sent_during(int block, int blocks, Phase phase) {
  const int keys_and_values = block + 1 < blocks ? 1 : 0;
  const int gradients = phase == Phase::backward && block > 0 ? 1 : 0;
  return keys_and_values + gradients;
}

}  // namespace

void require_context(const std::vector<Layer>& layers, const Parallelism& parallelism) {
  const int ranks = parallelism.context;
  if (ranks == 1) return;
  const auto attention = std::ranges::find_if(layers, is_attention);
  if (attention == layers.end()) {
    const auto scores = std::ranges::find(layers, LayerKind::softmax, &Layer::kind);
    if (scores == layers.end())
      refuse_context(fmt::format("context is {}: the model has no attention over tokens", ranks),
                     "context: 1, or a model of the family decoder");
    refuse_context(fmt::format("context is {}: ranks share tokens only in fused attention, but '{}' is a "
                               "kernel of its own",
                               ranks, scores->name),
                   "attention: flash, in a model of the family decoder");
  }
  const int tokens = tokens_of(*attention);
  const auto has_other_rows = [&](const Layer& layer) {
    return is_convolution(layer) ||
           (layer.kind == LayerKind::linear && layer.experts == 0 && tokens_of(layer) != tokens);
  };
  if (const auto other = std::ranges::find_if(layers, has_other_rows); other != layers.end())
    refuse_context(
        fmt::format("context is {}: layer '{}' does not work on the tokens of attention", ranks, other->name),
        "context: 1, or a model of the family decoder");
  if (tokens % (2 * ranks) != 0)
    refuse_context(fmt::format("context is {}: {} tokens are not a multiple of 2 x context = {}", ranks,
                               tokens, 2 * ranks),
                   fmt::format("sequence_length of the model: {}",
                               (tokens + 2 * ranks - 1) / (2 * ranks) * (2 * ranks)));
  const int own = tokens / ranks;
  if (parallelism.sequence && own % parallelism.tensor != 0)
    refuse_context(
        fmt::format("'sequence' divides {} tokens / context {} = {} among tensor {} ranks, which is "
                    "not a whole number each",
                    tokens, ranks, own, parallelism.tensor),
        fmt::format("sequence_length of the model: a multiple of {}",
                    static_cast<long long>(2) * ranks * parallelism.tensor),
        "sequence");
  if (exchange_of(parallelism) == ContextExchange::all_to_all) require_heads(*attention, parallelism);
}

void share_tokens(ShardedModel& model, const Parallelism& parallelism) {
  const int ranks = parallelism.context;
  if (ranks == 1) return;
  for (Transfer& transfer : model.transfers) transfer.elements /= ranks;
  ExchangeList exchanges(model.transfers);
  for (int i = 0; i < static_cast<int>(model.layers.size()); ++i) {
    Layer& layer = model.layers[static_cast<std::size_t>(i)];
    if (is_attention(layer))
      share_attention(layer, i, exchange_of(parallelism), ranks, exchanges);
    else
      divide_tokens(layer, ranks);
  }
  std::ranges::stable_sort(model.transfers, {}, &Transfer::layer);
}

void add_rings(Trace& trace, const std::vector<Layer>& layers, const Parallelism& parallelism) {
  const int ranks = parallelism.context;
  if (ranks == 1 || exchange_of(parallelism) != ContextExchange::p2p) return;
  const Bytes value = element_sizes(trace.precision.value_or(Precision::fp32)).activation;
  std::vector<Op> ops;
  for (Op& op : trace.ops) {
    const bool is_product = op.kind == OpKind::attention && std::holds_alternative<GemmShape>(op.shape);
    if (!is_product || op.of_layer < 0) {
      ops.push_back(std::move(op));
      continue;
    }
    const Bytes exchanged =
        trace.batch_per_gpu * keys_and_values(layers[static_cast<std::size_t>(op.of_layer)]) * value;
    for (int i = 0; i < ranks; ++i) {
      ops.push_back(block_of(op, i, ranks));
      if (i + 1 < ranks) ops.back().gradients.clear();  // the last block completes them
      const int sent = sent_during(i, ranks, op.phase);
      if (sent == 0) continue;
      ops.back().communications.push_back({.operation = Operation::send_recv,
                                           .size = sent * exchanged,
                                           .axis = Axis::context,
                                           .at = LaunchTime::start,
                                           .waits = 1});
    }
  }
  trace.ops = std::move(ops);
}

}  // namespace trainyard
