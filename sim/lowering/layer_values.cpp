#include "lowering/layer_values.hpp"

#include "workload/eight_bits.hpp"
#include "workload/transformer_layers.hpp"

#include <algorithm>

namespace trainyard {
namespace {

constexpr Bytes single{4};

double elements(const std::vector<int>& shape) {
  double product = 1;
  for (const int size : shape) product *= size;
  return product;
}

/// Whether each channel of a convolution has a window of its own.
bool is_depthwise(const Layer& layer) { return layer.groups > 1 && layer.groups == layer.in_shape.front(); }

/// Whether a convolution is a product of the channels of each pixel, which cuDNN computes in either order.
bool multiplies_pixels(const Layer& layer) {
  constexpr int least_pixels = 784;
  const Window& window = layer.window;
  const bool is_single = window.kernel_h == 1 && window.kernel_w == 1 && window.stride == 1;
  return is_single && layer.in_shape.size() == 3 && layer.in_shape[1] * layer.in_shape[2] >= least_pixels;
}

}  // namespace

ModelTraits traits_of(const std::vector<Layer>& layers) {
  ModelTraits traits;
  for (const Layer& layer : layers) {
    traits.predicts_next_token |= layer.predicts_next_token;
    traits.is_joined |= layer.projections.size() == 1;
    traits.is_rotary |= layer.kind == LayerKind::rope;
    traits.is_tied |= layer.kind == LayerKind::linear && layer.tied_elements > 0;
  }
  return traits;
}

double LayerValues::number(KernelValues of) const {
  const Layer& layer = typed_.layer;
  const double batch = step_.batch;
  switch (of) {
    case KernelValues::input:
      return batch * elements(layer.in_shape);
    case KernelValues::output:
      return batch * layer.out_elements;
    case KernelValues::one_output:
      return layer.out_elements;
    case KernelValues::weights:
      return parameter_elements(layer) + layer.tied_elements - number(KernelValues::bias);
    case KernelValues::bias:
      if (layer.tied_bias > 0) return layer.tied_bias;
      return has_bias() ? layer.parameters.back().elements : 0;
    case KernelValues::parameters:
      return parameter_elements(layer) + layer.tied_elements;
    case KernelValues::rows:
      return batch * layer.out_elements /
             std::max(1,
                      layer.kind == LayerKind::batch_norm ? layer.out_shape.front() : layer.out_shape.back());
    case KernelValues::queries:
      return batch * query_elements();
    case KernelValues::keys:
      return batch * key_elements();
    case KernelValues::operands:
      return batch * (query_elements() + key_elements());
    case KernelValues::ends:
      return number(KernelValues::input) + number(KernelValues::output);
    case KernelValues::scores:
      return batch * static_cast<double>(layer.gemm.batch) * layer.gemm.m *
             (layer.kind == LayerKind::batched_matmul && !layer.gemm.transpose_b ? layer.gemm.k
                                                                                 : layer.gemm.n);
    case KernelValues::statistics:
      return batch * static_cast<double>(layer.gemm.batch) * layer.gemm.m;
    case KernelValues::saved:
      return batch * layer.saved_elements;
    case KernelValues::moved:
      return batch * layer.forward_rw_elements;
    case KernelValues::nothing:
      return 1;
  }
  return 0;
}

Bytes LayerValues::size(PassType type) const {
  switch (type) {
    case PassType::result:
      return typed_.result;
    case PassType::input:
      return typed_.input;
    case PassType::compute:
      return sizes_.activation;
    case PassType::parameter:
      return sizes_.casts ? sizes_.parameter : sizes_.compute_weight;
    case PassType::single:
      return single;
    case PassType::wide:
      return sizes_.casts ? single : sizes_.activation;
  }
  return single;
}

bool LayerValues::holds(LaunchCondition condition) const {
  const Layer& layer = typed_.layer;
  const bool is_half = sizes_.activation < single;
  const bool is_mixed = typed_.input != typed_.other;
  switch (condition) {
    case LaunchCondition::autocast:
      return sizes_.casts;
    case LaunchCondition::half:
      return is_half;
    case LaunchCondition::single:
      return !is_half;
    case LaunchCondition::wide_input:
      return is_half && typed_.input == single;
    case LaunchCondition::narrow_input:
      return typed_.input < single;
    case LaunchCondition::single_input:
      return typed_.input == single;
    case LaunchCondition::mixed:
      return is_mixed;
    case LaunchCondition::same:
      return !is_mixed;
    case LaunchCondition::bias:
      return has_bias();
    case LaunchCondition::input_gradient:
      return layer.has_input_gradient;
    case LaunchCondition::grouped_heads:
      return layer.limited.columns > 0;
    case LaunchCondition::dropout:
      return layer.drops_probabilities;
    case LaunchCondition::adds_rows:
      return layer.adds_rows;
    case LaunchCondition::replaces_rows:
      return !layer.adds_rows;
    case LaunchCondition::of_positions:
      return layer.of_positions;
    case LaunchCondition::of_words:
      return !layer.of_positions;
    case LaunchCondition::tied:
      return model_.is_tied && !layer.adds_rows;
    case LaunchCondition::next_token:
      return model_.predicts_next_token;
    case LaunchCondition::any_token:
      return !model_.predicts_next_token;
    case LaunchCondition::depthwise:
      return is_depthwise(layer);
    case LaunchCondition::dense:
      return !is_depthwise(layer);
    case LaunchCondition::reads_images:
      return is_convolution(layer) && !layer.has_input_gradient;
    case LaunchCondition::reads_maps:
      return is_convolution(layer) && layer.has_input_gradient;
    case LaunchCondition::nhwc:
      return step_.layout == Layout::nhwc;
    case LaunchCondition::nchw:
      return step_.layout == Layout::nchw;
    case LaunchCondition::joined:
      return layer.projections.size() == 1;
    case LaunchCondition::rotary:
      return model_.is_rotary;
    case LaunchCondition::of_scores:
      return layer.kind == LayerKind::batched_matmul && layer.gemm.transpose_b;
    case LaunchCondition::of_context:
      return layer.kind == LayerKind::batched_matmul && !layer.gemm.transpose_b;
    case LaunchCondition::packed:
      return model_.is_joined && !model_.predicts_next_token;
    case LaunchCondition::windowed:
      return layer.window.kernel_h > 0;
    case LaunchCondition::clamped:
      return is_clipped(layer) ||
             (layer.kind == LayerKind::relu && layer.forward_flops > Flops(layer.in_elements));
    case LaunchCondition::new_input:
      return typed_.input != sizes_.activation || !typed_.keeps_before;
    case LaunchCondition::whole_map:
      return layer.window.kernel_h == 0;
    case LaunchCondition::converted:
      return !multiplies_pixels(layer);
    case LaunchCondition::untied:
      return !holds(LaunchCondition::tied);
    case LaunchCondition::no_autocast:
      return !sizes_.casts;
    case LaunchCondition::unaligned:
      return is_unaligned(layer.gemm.n);
    case LaunchCondition::after_product:
      return typed_.is_after_product;
    case LaunchCondition::sum_follows:
      return typed_.is_before_sum;
    case LaunchCondition::no_sum_follows:
      return !typed_.is_before_sum;
    case LaunchCondition::in_8_bits:
      return is_cast() && !is_in_4_bits();
    case LaunchCondition::in_4_bits:
      return is_cast() && is_in_4_bits();
    case LaunchCondition::not_in_8_bits:
      return !is_cast();
    case LaunchCondition::scales_blocks:
      return is_cast() && !is_in_4_bits() && step_.scaling == Scaling::block;
    case LaunchCondition::scales_tensors:
      return is_cast() && !is_in_4_bits() && step_.scaling != Scaling::block;
    case LaunchCondition::casts_input:
      return is_cast() && (!typed_.is_after_writer || step_.scaling == Scaling::current || is_in_4_bits());
    case LaunchCondition::no_writer:
      return !typed_.is_after_writer;
    case LaunchCondition::scales_now:
      return step_.scaling == Scaling::current;
    case LaunchCondition::trained:
      return !layer.parameters.empty();
    case LaunchCondition::constant:
      return layer.parameters.empty();
    case LaunchCondition::computed:
      return layer.parameters.size() > 1;
    case LaunchCondition::per_channel:
      return layer.per_channel;
    case LaunchCondition::per_value:
      return !layer.per_channel;
    case LaunchCondition::of_maps:
      return layer.in_shape.size() == 3;
    case LaunchCondition::of_tokens:
      return layer.in_shape.size() == 2;
    case LaunchCondition::reorders:
      return layer.in_shape == layer.out_shape;
    case LaunchCondition::merges:
      return layer.in_shape != layer.out_shape;
    case LaunchCondition::of_results:
      return layer.experts > 0 && layer.split == TensorSplit::rows;
    case LaunchCondition::wide_shares:
      return step_.wide_shares;
    case LaunchCondition::narrow_shares:
      return !step_.wide_shares;
    case LaunchCondition::pads_rows:
      return is_narrow(step_.precision) && !step_.wide_shares;
  }
  return false;
}

bool LayerValues::hold(const std::vector<LaunchCondition>& all) const {
  return std::ranges::all_of(all, [&](LaunchCondition condition) { return holds(condition); });
}

bool LayerValues::is_cast() const { return is_narrow(step_.precision) && runs_in_8_bits(typed_.layer); }

bool LayerValues::is_in_4_bits() const { return step_.precision == Precision::nvfp4; }

bool LayerValues::has_bias() const {
  return typed_.layer.tied_bias > 0 ||
         typed_.layer.parameters.size() + (typed_.layer.tied_elements > 0 ? 1 : 0) > 1;
}

double LayerValues::query_elements() const {
  if (typed_.layer.kind == LayerKind::flash_attention) return elements(typed_.layer.in_shape);
  return holds(LaunchCondition::of_scores) ? typed_.layer.in_elements : typed_.layer.out_elements;
}

double LayerValues::key_elements() const {
  const Layer& layer = typed_.layer;
  if (layer.kind == LayerKind::flash_attention) return (layer.in_elements - query_elements()) / 2;
  return query_elements();
}

}  // namespace trainyard
