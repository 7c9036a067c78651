#include "strategy/vocabulary.hpp"

#include "workload/transformer_layers.hpp"

#include <algorithm>
#include <utility>

namespace trainyard {

namespace {

bool is_word_embedding(const Layer& layer) { return layer.split == TensorSplit::table; }

bool is_last_projection(const Layer& layer, int entries) {
  return layer.split == TensorSplit::columns && !layer.block && layer.out_shape.back() == entries;
}

/// A cap of the logits.
bool is_of_logits(const Layer& layer, int entries) {
  return layer.kind == LayerKind::tanh && !layer.block && layer.out_shape.back() == entries;
}

Layer with_entries(const Layer& layer, int entries) {
  if (is_word_embedding(layer) && layer.tied_elements > 0)
    return tied_embedding_layer(layer.name, {layer.out_shape.front(), entries, layer.out_shape.back()});
  if (is_word_embedding(layer))
    return embedding_layer(layer.name, {layer.out_shape.front(), entries, layer.out_shape.back()});
  if (layer.split == TensorSplit::loss)
    return softmax_cross_entropy_layer(layer.name, layer.in_shape.front(), entries);
  if (layer.kind == LayerKind::tanh)
    return with_split(tanh_layer(layer.name, {layer.in_shape.front(), entries}), TensorSplit::inner);
  const LinearSize size{layer.in_shape.front(), layer.in_shape.back(), entries};
  if (layer.tied_elements > 0) return tied_linear_layer(layer.name, size, !layer.parameters.empty());
  Layer projection = linear_layer(layer.name, size, layer.parameters.size() > 1);
  projection.split = TensorSplit::columns;
  return projection;
}

}  // namespace

std::optional<PaddedVocabulary> pad_vocabulary(std::vector<Layer>& layers, int ranks) {
  constexpr int unit_of_megatron = 128;
  const auto table = std::ranges::find_if(layers, is_word_embedding);
  if (table == layers.end()) return std::nullopt;
  const auto entries = static_cast<int>(parameter_elements(*table) / table->out_shape.back());
  if (entries % ranks == 0) return std::nullopt;
  const PaddedVocabulary made{entries, padded_vocabulary(entries, unit_of_megatron * ranks)};
  for (Layer& layer : layers) {
    if (is_word_embedding(layer) || layer.split == TensorSplit::loss || is_last_projection(layer, entries) ||
        is_of_logits(layer, entries)) {
      Layer padded = with_entries(layer, made.padded);
      padded.has_input_gradient = layer.has_input_gradient;
      padded.block = layer.block;
      padded.continues_previous = layer.continues_previous;
      padded.predicts_next_token = layer.predicts_next_token;
      padded.input_sums = layer.input_sums;
      padded.summed_elements = layer.summed_elements;
      layer = std::move(padded);
    }
  }
  return made;
}

bool is_table_of(const Layer& table, const Layer& tied) {
  if (table.tied_elements > 0) return false;
  if (!tied.tied_to.empty()) return table.name == tied.tied_to;
  return table.kind == LayerKind::embedding && !table.adds_rows;
}

}  // namespace trainyard
