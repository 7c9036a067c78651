#include "config/document.hpp"
#include "units/plural.hpp"
#include "workload/feature_tables.hpp"
#include "workload/listed_kinds.hpp"
#include "workload/recurrent_layers.hpp"
#include "workload/transformer_layers.hpp"

#include <fmt/format.h>
#include <utility>

namespace trainyard {

namespace {

constexpr int most_steps = 100'000;  // of all recurrences: each step has ops of its own

}  // namespace

const std::string& ListedKinds::required_table(const std::string& tied, const EmbeddingSize& size) const {
  const std::string path = config::join(path_, "tied");
  const auto table = embeddings_.find(names_.find(tied, path).tensor);
  if (table == embeddings_.end())
    refuse_key(path, fmt::format("'{}' is not an embedding", tied),
               "name an embedding without 'tied' and 'then'");
  const EmbeddingSize& whole = table->second.size;
  if (whole.entries != size.entries || whole.features != size.features)
    refuse_key(path,
               fmt::format("the table of '{}' has {} x {} values, but {} x {} are needed", tied,
                           whole.entries, whole.features, size.entries, size.features),
               "use equal sizes, or leave 'tied' out");
  return table->second.layer;
}

ListedValues ListedKinds::append(const std::string& name, const ListedEmbedding& table, std::string_view kind,
                                 const Values& in) {
  if (in.shape.size() != 1 || !graph_.is_input(in.tensor))
    refuse_shape(kind, in, "the tokens of the model's input", "begin the model with '- input: [128]'");
  const EmbeddingSize size{in.shape[0], table.entries, table.features};
  if (!sequence_length_) sequence_length_ = size.rows;
  Layer layer = table.tied ? tied_embedding_layer(name, size) : embedding_layer(name, size);
  if (table.tied) layer.tied_to = required_table(*table.tied, size);
  const Values out = add(std::move(layer), {size.rows, size.features}, {in});
  if (!table.tied) embeddings_.emplace(out.tensor, Table{name, size});
  return out;
}

ListedValues ListedKinds::append(const std::string& name, const ListedTables& tables, std::string_view kind,
                                 const Values& in) {
  if (in.shape.size() != 1 || !graph_.is_input(in.tensor))
    refuse_shape(kind, in, "the indices of an input of the model",
                 "'from' the name of an input: '- {name: indices, input: [26]}'");
  const auto count = static_cast<int>(tables.entries.size());
  if (count == 0) refuse_key(config::join(path_, "entries"), "there is no table", "entries: [100000]");
  const double lookups = 1.0 * count * tables.lookups;
  if (lookups != in.shape[0])
    refuse_key(path_,
               fmt::format("{} with {} in each need {} indices, but a sample has {}", plural(count, "table"),
                           plural(tables.lookups, "look-up"), lookups, in.shape[0]),
               fmt::format("input: [{}]", lookups));
  if (tables.sum && tables.lookups == 1)
    refuse_key(config::join(path_, "sum"), "the sum of one row is the row", "remove it, or raise 'lookups'");
  Layer layer = tables_layer(name, {.entries = {tables.entries.begin(), tables.entries.end()},
                                    .features = tables.features,
                                    .lookups = tables.lookups,
                                    .is_summed = tables.sum,
                                    .is_sparse = tables.sparse,
                                    .most_frequent = tables.most_frequent});
  return add_shaped(std::move(layer), in);
}

ListedValues ListedKinds::append(const std::string& name, const ListedPositions& table, std::string_view kind,
                                 const Values& in) {
  if (!is_tokens(in)) refuse_shape(kind, in, "[tokens, features]", "an 'embedding' or 'tokens' before it");
  const int entries = table.entries.value_or(in.shape[0]);
  if (entries < in.shape[0])
    refuse_key(path_, fmt::format("{} tokens, but the table has {} positions", in.shape[0], entries),
               fmt::format("entries: {}", in.shape[0]));
  return add_same(added_embedding_layer(name, {in.shape[0], entries, in.shape[1]}), in);
}

ListedValues ListedKinds::append(const std::string& name, const ListedAttention& attention,
                                 std::string_view kind, const Values& in) {
  if (!is_tokens(in)) refuse_shape(kind, in, "[tokens, features]", "a 'linear' layer before it");
  const int kv = attention.kv_heads.value_or(attention.heads);
  const int parts = attention.heads + 2 * kv;
  if (attention.heads % kv != 0)
    refuse_key(path_,
               fmt::format("{} heads cannot share {} heads of keys and values equally", attention.heads, kv),
               "use a divisor of heads");
  if (in.shape[1] % parts != 0)
    refuse_key(path_,
               fmt::format("{} features are not queries, keys and values of {} + 2 x {} heads", in.shape[1],
                           attention.heads, kv),
               fmt::format("a multiple of {} from the 'linear' layer before it", parts));
  if (attention.dropout && attention.kernel == AttentionKernel::flash)
    refuse_key(config::join(path_, "dropout"), "dropout inside a flash kernel is not modelled",
               "kernel: unfused, or leave it out");
  return add_attention(name, attention, in);
}

ListedValues ListedKinds::add_attention(const std::string& name, const ListedAttention& attention,
                                        const Values& in) {
  const int kv = attention.kv_heads.value_or(attention.heads);
  const int width = in.shape[1] / (attention.heads + 2 * kv);
  const TransformerSize size{.sequence = in.shape[0],
                             .hidden = attention.heads * width,
                             .heads = attention.heads,
                             .intermediate = 0,
                             .kv_heads = kv,
                             .head_dim = width};
  const std::vector<Layer> core = attention_core(
      name, size, {.dropout = attention.dropout, .attention = attention.kernel, .causal = attention.causal});
  return {{in.shape[0], size.hidden}, add_core(core, in, in).tensor};
}

ListedValues ListedKinds::add_core(const std::vector<Layer>& core, const Values& queries,
                                   const Values& values) {
  Values last = queries;
  for (const Layer& layer : core) {
    std::vector<Values> reads{last};
    const bool is_context = layer.kind == LayerKind::batched_matmul && !layer.gemm.transpose_b;
    const bool is_first = last.tensor == queries.tensor && values.tensor != queries.tensor;
    if (is_context || is_first) reads.push_back(values);
    last = add(layer, layer.out_shape, reads);
  }
  return last;
}

ListedValues ListedKinds::append(const std::string& name, const ListedLstm& lstm, std::string_view kind,
                                 const Values& in) {
  if (!is_tokens(in)) refuse_shape(kind, in, "[tokens, features]", "an 'embedding' or 'tokens' before it");
  if (!lstm.bidirectional) return add_lstm(name, lstm.hidden, in);
  const Values forwards = add_lstm(name + ".forward", lstm.hidden, in);
  const Values backwards = add_lstm(name + ".backward", lstm.hidden, in);
  Layer joined = concat_layer(name + ".concat", {in.shape[0], 2 * lstm.hidden});
  std::vector<int> shape = joined.out_shape;
  return add(std::move(joined), std::move(shape), {forwards, backwards});
}

ListedValues ListedKinds::add_lstm(const std::string& name, int hidden, const Values& in) {
  steps_ += in.shape[0];
  if (steps_ > most_steps)
    refuse_key(path_, fmt::format("the recurrent layers of the list have more than {} steps", most_steps),
               "fewer tokens or layers: each direction of an lstm has a step per token");
  Values values = in;
  for (Layer& layer : lstm_layers(name, in.shape[0], in.shape[1], hidden)) {
    std::vector<int> shape = layer.out_shape;
    values = add(std::move(layer), std::move(shape), {values});
  }
  return values;
}

ListedValues ListedKinds::append(const std::string& name, const ListedAdditiveAttention& attention,
                                 std::string_view kind, const Values&) {
  const std::vector<Values> in = named_inputs(attention.inputs);
  if (in.size() != 2)
    refuse_key(path_, fmt::format("'{}' of {} inputs", kind, in.size()),
               "write two names: 'inputs: [previous, encoder]'");
  for (const Values& values : in) {
    if (!is_tokens(values)) refuse_shape(kind, values, "[tokens, features]", "tokens for both inputs");
  }
  const auto project = [&](std::string_view what, const Values& values) {
    Layer layer = linear_layer(fmt::format("{}.{}", name, what),
                               {values.shape[0], values.shape[1], attention.features}, false);
    return add(std::move(layer), {values.shape[0], attention.features}, {values});
  };
  const Values queries = project("q", in[0]);
  const Values keys = project("k", in[1]);
  const std::vector<int> scores{in[0].shape[0], in[1].shape[0]};
  const Values raw = add(additive_scores_layer(name + ".scores", scores[0], scores[1], attention.features),
                         scores, {queries, keys});
  const Values weights = add(softmax_layer(name + ".softmax", scores), scores, {raw});
  return add(weighted_tokens_layer(name + ".context", scores[0], scores[1], in[1].shape[1]),
             {scores[0], in[1].shape[1]}, {weights, in[1]});
}

}  // namespace trainyard
