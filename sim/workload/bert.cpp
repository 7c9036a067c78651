#include "workload/bert.hpp"

#include "workload/transformer_layers.hpp"

#include <utility>

namespace trainyard {
namespace {

constexpr int masked_percent = 15;

int entries_of(const BertHyperparameters& parameters) {
  return padded_vocabulary(parameters.vocabulary, parameters.pad_vocabulary);
}

/// The norm of all tokens.
Layer token_norm(std::string name, const BertHyperparameters& parameters) {
  Layer layer = layer_norm_layer(std::move(name), parameters.sequence_length, parameters.hidden);
  layer.split = TensorSplit::tokens;
  return layer;
}

void append_embeddings(std::vector<Layer>& layers, const BertHyperparameters& parameters) {
  const int tokens = parameters.sequence_length;
  const int hidden = parameters.hidden;
  layers.push_back(embedding_layer("emb.word", {tokens, entries_of(parameters), hidden}));
  layers.push_back(added_embedding_layer("emb.pos", {tokens, parameters.positions, hidden}));
  layers.back().of_positions = true;
  if (parameters.segments > 0)
    layers.push_back(added_embedding_layer("emb.type", {tokens, parameters.segments, hidden}));
  layers.push_back(token_norm("emb.ln", parameters));
  layers.push_back(dropout_layer("emb.drop", {tokens, hidden}));
  layers.back().split = TensorSplit::tokens;
}

/// Scores of the first and the last token of an answer, each with a softmax over the tokens.
void append_answer(std::vector<Layer>& layers, const BertHyperparameters& parameters) {
  constexpr int ends = 2;
  layers.push_back(linear_layer("qa", {parameters.sequence_length, parameters.hidden, ends}));
  layers.push_back(softmax_cross_entropy_layer("loss", ends, parameters.sequence_length));
  layers.back().split = TensorSplit::none;
}

void append_pretraining(std::vector<Layer>& layers, const BertHyperparameters& parameters) {
  const int hidden = parameters.hidden;
  const int rows = predicted_tokens(parameters);
  const bool predicts_sentence = parameters.head == BertHead::pretraining;
  if (predicts_sentence) layers.push_back(linear_layer("pooler", hidden, hidden));
  layers.push_back(linear_layer("cls.transform", {rows, hidden, hidden}));
  layers.push_back(gelu_layer("cls.gelu", {rows, hidden}));
  Layer norm = layer_norm_layer("cls.ln", rows, hidden);
  norm.weight_rw_elements = parameter_elements(norm);  // not negligible with so few rows
  norm.forward_rw_elements += norm.weight_rw_elements;
  norm.backward_rw_elements += norm.weight_rw_elements;
  layers.push_back(std::move(norm));
  layers.push_back(tied_linear_layer("cls.decoder", {rows, hidden, entries_of(parameters)}, true));
  if (predicts_sentence) layers.push_back(linear_layer("cls.nsp", hidden, 2));
  layers.push_back(softmax_cross_entropy_layer("loss", rows, entries_of(parameters)));
}

}  // namespace

int predicted_tokens(const BertHyperparameters& parameters) {
  const auto given = parameters.predictions.find(std::to_string(parameters.sequence_length));
  if (given != parameters.predictions.end()) return given->second;
  return (masked_percent * parameters.sequence_length + 99) / 100;
}

std::vector<Layer> bert_layers(const BertHyperparameters& parameters) {
  const int tokens = parameters.sequence_length;
  const int hidden = parameters.hidden;
  const TransformerSize size{tokens, hidden, parameters.heads, parameters.intermediate.value_or(4 * hidden)};
  const BlockParts parts{.attention = parameters.attention};
  std::vector<Layer> layers;
  append_embeddings(layers, parameters);
  for (int i = 0; i < parameters.layers; ++i) {
    const std::string prefix = "layer" + std::to_string(i);
    const std::size_t first = layers.size();
    append_attention(layers, prefix, size,
                     split_linear_layer(prefix + ".attn.qkv", {tokens, hidden, 3 * hidden}, {"q", "k", "v"}),
                     parts);
    layers.push_back(token_norm(prefix + ".ln1", parameters));
    const std::size_t middle = layers.size();
    append_feed_forward(layers, prefix, size, parts);
    layers.push_back(token_norm(prefix + ".ln2", parameters));
    for (const std::size_t reader : {first, middle}) set_shares_input(layers[reader]);  // with a residual sum
    set_block(layers, first, i);
  }
  if (parameters.head == BertHead::question_answering)
    append_answer(layers, parameters);
  else
    append_pretraining(layers, parameters);
  return layers;
}

}  // namespace trainyard
