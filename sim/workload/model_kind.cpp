#include "workload/model_kind.hpp"

#include <algorithm>

namespace trainyard {
namespace {

bool is_attention(const Layer& layer) {
  return layer.kind == LayerKind::flash_attention || layer.kind == LayerKind::softmax;
}

/// The rows of the widest layer of a kind: tokens.
double rows_of(const std::vector<Layer>& layers, LayerKind kind) {
  double rows = 0;
  for (const Layer& layer : layers) {
    if (layer.kind == kind && layer.in_shape.size() > 1)
      rows = std::max<double>(rows, layer.in_shape.front());
  }
  return rows;
}

/// A linear layer of a whole sample, as an encoder's pooler and its classes are.
bool is_of_sample(const Layer& layer) {
  return layer.kind == LayerKind::linear && (layer.in_shape.size() < 2 || layer.in_shape.front() == 1);
}

}  // namespace

ModelKind kind_of(const std::vector<Layer>& layers) {
  const auto has = [&](auto property) { return std::ranges::any_of(layers, property); };
  const auto has_kind = [&](LayerKind kind) {
    return has([&](const Layer& layer) { return layer.kind == kind; });
  };
  if (has([](const Layer& layer) { return layer.experts > 0; })) return ModelKind::experts;
  if (has_kind(LayerKind::recurrence)) return ModelKind::recurrent;
  if (has(is_attention)) {
    const double tokens = rows_of(layers, LayerKind::linear);
    const double predicted = rows_of(layers, LayerKind::softmax_cross_entropy);
    const bool reads_encoder = has([](const Layer& layer) { return layer.reads_encoder; });
    const bool predicts_all = predicted > 1 && predicted >= tokens && !has(is_of_sample);
    return reads_encoder || predicts_all ? ModelKind::decoder : ModelKind::encoder;
  }
  if (has(is_convolution)) return ModelKind::convolutional;
  return has_kind(LayerKind::embedding) ? ModelKind::recommender : ModelKind::other;
}

}  // namespace trainyard
