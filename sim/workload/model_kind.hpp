#pragma once
// The kind of a model, by the work that most of its time goes into.

#include "config/keys.hpp"
#include "workload/layer.hpp"

#include <array>
#include <vector>

namespace trainyard {

enum class ModelKind { convolutional, encoder, decoder, experts, recommender, recurrent, other };

/// By the first that fits: layers of experts; recurrences; attention (a decoder predicts every token of its
/// sequence; an encoder fewer, or none, or has a linear layer of the whole sample besides, as BERT with a
/// head for all tokens); convolutions; embeddings.
ModelKind kind_of(const std::vector<Layer>& layers);

}  // namespace trainyard

namespace trainyard::config {

template <>
struct Names<ModelKind> {
  static constexpr std::string_view what = "kind of model";
  static constexpr std::array table{
      Name{"convolutional", ModelKind::convolutional, "convolutional network"},
      Name{"encoder", ModelKind::encoder, "encoder with attention"},
      Name{"decoder", ModelKind::decoder, "decoder with attention"},
      Name{"experts", ModelKind::experts, "mixture of experts"},
      Name{"recommender", ModelKind::recommender, "recommender with embedding tables"},
      Name{"recurrent", ModelKind::recurrent, "recurrent network"},
      Name{"other", ModelKind::other, "other network"}};
};

}  // namespace trainyard::config
