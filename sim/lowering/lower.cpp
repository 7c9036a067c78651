#include "lowering/lower.hpp"

#include "config/diagnostic.hpp"
#include "lowering/optimizer_kernels.hpp"
#include "lowering/typed_layers.hpp"
#include "workload/layer_ops.hpp"
#include "workload/make_trace.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <ranges>
#include <utility>

namespace trainyard {
namespace {

double elements(const std::vector<int>& shape) {
  double product = 1;
  for (const int size : shape) product *= size;
  return product;
}

/// What rules ask of a whole model.
struct ModelTraits {
  bool predicts_next_token = false, is_rotary = false, is_tied = false, is_joined = false;
};

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

/// What the values of one layer are, for its rules.
class LayerValues {
public:
  LayerValues(const TypedLayer& typed, const LoweredStep& step, const ElementSizes& sizes,
              const ModelTraits& model)
      : typed_(typed), step_(step), sizes_(sizes), model_(model) {}

  [[nodiscard]] double number(KernelValues of) const {
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
        return has_bias() ? layer.parameters.back().elements : 0;
      case KernelValues::parameters:
        return parameter_elements(layer) + layer.tied_elements;
      case KernelValues::rows:
        return batch * layer.out_elements /
               std::max(
                   1, layer.kind == LayerKind::batch_norm ? layer.out_shape.front() : layer.out_shape.back());
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
      case KernelValues::nothing:
        return 1;
    }
    return 0;
  }

  [[nodiscard]] Bytes size(PassType type) const {
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

  [[nodiscard]] bool holds(LaunchCondition condition) const {
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
        return key_elements() < query_elements() && layer.gemm.m == layer.gemm.n;
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
        return layer.groups > 1;
      case LaunchCondition::dense:
        return layer.groups == 1;
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
      case LaunchCondition::whole_map:
        return layer.window.kernel_h == 0;
    }
    return false;
  }

private:
  static constexpr Bytes single{4};

  [[nodiscard]] bool has_bias() const {
    return typed_.layer.parameters.size() + (typed_.layer.tied_elements > 0 ? 1 : 0) > 1;
  }
  [[nodiscard]] double query_elements() const {
    return holds(LaunchCondition::of_scores) ? typed_.layer.in_elements : typed_.layer.out_elements;
  }
  [[nodiscard]] double key_elements() const {
    const Layer& layer = typed_.layer;
    if (layer.kind == LayerKind::flash_attention) return (layer.in_elements - query_elements()) / 2;
    return query_elements();
  }

  const TypedLayer& typed_;
  const LoweredStep& step_;
  const ElementSizes& sizes_;
  const ModelTraits& model_;
};

class Lowerer {
public:
  Lowerer(const Model& model, const Lowering& rules, const LoweredStep& step)
      : rules_(rules),
        step_(step),
        sizes_(element_sizes(step.precision)),
        layers_(typed_layers(model.layers, rules, sizes_)),
        model_(traits_of(model.layers)) {}

  std::vector<Op> ops() {
    for (const TypedLayer& typed : layers_) append(Phase::forward, typed);
    for (const TypedLayer& typed : layers_ | std::views::reverse) {
      const std::size_t first = ops_.size();
      append(Phase::backward, typed);
      if (ops_.size() > first) ops_.back().gradients = gradients_of(typed.layer, step_.batch);
      append_gradient_sums(typed);
    }
    append_optimizer();
    return std::move(ops_);
  }

private:
  void append(Phase phase, const TypedLayer& typed) {
    const LayerRules* its = rules_of(rules_, typed.layer.kind);
    if (its == nullptr) {
      append_unruled(phase, typed);
      return;
    }
    for (const KernelRule& rule : phase == Phase::forward ? its->forward : its->backward)
      append(phase, typed, rule);
  }

  void append_gradient_sums(const TypedLayer& typed) {
    const int sums = typed.layer.input_sums;
    if (sums == 0) return;
    const KernelRule& rule = rules_.gradient_sum;
    const double values = step_.batch * typed.layer.summed_elements;
    ops_.push_back(kernel(Phase::backward, typed.layer.name, rule.kernel,
                          rule.passes * values / sums * typed.input, sums));
    ops_.back().of_layer = typed.of_layer;
    ops_.back().shape = VectorShape{values};
  }

  void append_unruled(Phase phase, const TypedLayer& typed) {
    for (Op& op : layer_ops(phase, typed.layer, step_.batch, step_.precision)) {
      op.of_layer = typed.of_layer;
      ops_.push_back(std::move(op));
    }
  }

  void append(Phase phase, const TypedLayer& typed, const KernelRule& rule) {
    const LayerValues values(typed, step_, sizes_, model_);
    const auto holds = [&](LaunchCondition condition) { return values.holds(condition); };
    if (!std::ranges::all_of(rule.when, holds)) return;
    if (rule.matrix != MatrixKernel::none) {
      append_matrix(phase, typed, rule);
      return;
    }
    const double number = values.number(rule.of);
    if (number < rule.above) return;
    const Bytes each =
        number * (rule.passes * values.size(rule.type) + Bytes(rule.bytes)) + Bytes(rule.fixed_bytes);
    const bool is_single = values.size(rule.type) == Bytes(4);
    Op op = kernel(phase, typed.layer.name, class_of(rule.kernel, is_single), each, rule.count);
    if (op.kind == OpKind::elementwise) {
      // Tensors beyond 2^31 bytes need indices of 64 bits, which kernels avoid: they work on halves.
      const Bytes operand = number * (rule.passes > 0 ? values.size(rule.type) : Bytes(4));
      for (; operand.si() * rule.count / op.launches >= rules_.largest_kernel && rules_.largest_kernel > 0;)
        op.launches *= 2;
    }
    op.of_layer = typed.of_layer;
    op.shape = VectorShape{number};
    op.flops = Flops(number * rule.count);
    op.synchronises = rule.synchronises;
    op.rows = values.number(KernelValues::rows);
    ops_.push_back(std::move(op));
  }

  /// Of a launch; in the update the host takes time for each tensor.
  [[nodiscard]] Seconds host_of(Phase phase) const {
    if (phase == Phase::optimizer) return {};
    return step_.host_times * (phase == Phase::forward ? rules_.host.forward : rules_.host.backward);
  }

  /// A class may have another for 4-byte values.
  [[nodiscard]] std::string class_of(const std::string& name, bool is_single) const {
    const std::string other = name + "_single";
    const bool has_other =
        is_single && std::ranges::find(rules_.kernels, other, &KernelClass::name) != rules_.kernels.end();
    return has_other ? other : name;
  }

  Op kernel(Phase phase, const std::string& layer, const std::string& name, Bytes each, int count) const {
    const auto found = std::ranges::find(rules_.kernels, name, &KernelClass::name);
    Op op;
    op.phase = phase;
    op.layer = layer + "." + name;
    op.kind = found->kind;
    op.rate = found->rate;
    op.launches = count;
    op.bytes = count * each;
    op.gaps = count * rules_.host.gap;
    if (!found->is_part) op.host = count * host_of(phase);
    return op;
  }

  void append_matrix(Phase phase, const TypedLayer& typed, const KernelRule& rule) {
    Op op = matrix_op(pass_of(rule.matrix), typed.layer, step_.batch, sizes_);
    op.of_layer = typed.of_layer;
    if (op.kind == OpKind::attention) op.rate = attention_rate(phase, typed.layer, op);
    op.host = host_of(phase);
    op.gaps = rules_.host.gap;
    if (op.kind == OpKind::gemm) op.product = product_rate();
    clear_counters(phase, typed, op);
    ops_.push_back(std::move(op));
  }

  static LayerPass pass_of(MatrixKernel kernel) {
    if (kernel == MatrixKernel::product) return LayerPass::output;
    return kernel == MatrixKernel::input_gradient ? LayerPass::input_gradient : LayerPass::weight_gradient;
  }

  [[nodiscard]] std::optional<ProductRate> product_rate() const {
    for (const Products& products : rules_.products) {
      if (std::ranges::find(products.precisions, step_.precision) != products.precisions.end())
        return products.rate;
    }
    return std::nullopt;
  }

  /// The share of the peak at which the op's FLOPs take as long as the library's tiles do.
  [[nodiscard]] std::optional<KernelRate> attention_rate(Phase phase, const Layer& layer,
                                                         const Op& op) const {
    const bool is_half = sizes_.activation < Bytes(4);
    const auto found = std::ranges::find(rules_.attention, is_half, &FusedAttention::half);
    if (found == rules_.attention.end()) return std::nullopt;
    const bool is_forward = phase == Phase::forward;
    const auto in_tiles = [&](int tokens) { return std::ceil(1.0 * tokens / found->tile) * found->tile; };
    const int head = layer.gemm.k;
    double keys = in_tiles(layer.gemm.n);
    if (is_causal_attention(op)) keys = (keys + found->causal_extra) / 2;
    keys += is_forward ? found->forward_start : found->backward_start;
    constexpr double flops_per_product = 4;  // two products
    constexpr double backward_products = 2.5;
    const double flops = flops_per_product * step_.batch * layer.gemm.batch * in_tiles(layer.gemm.m) * keys *
                         std::max(head, found->smallest_head) * (is_forward ? 1 : backward_products);
    const auto fits = [&](const AttentionShares& one) { return head <= one.head_dim; };
    auto shares = std::ranges::find_if(found->shares, fits);
    if (shares == found->shares.end()) shares = std::prev(found->shares.end());
    double share = is_forward ? shares->forward : shares->backward;
    if (layer.drops_probabilities) share *= is_forward ? found->forward_dropout : found->backward_dropout;
    return KernelRate{.share = share * op.flops.si() / flops,
                      .limit = is_half ? KernelLimit::matrix : KernelLimit::single,
                      .fixed = found->fixed};
  }

  /// Libraries clear a counter before a product of many tiles.
  void clear_counters(Phase phase, const TypedLayer& typed, const Op& op) {
    if (rules_.clear.empty() || op.kind == OpKind::conv_wgrad || op.kind == OpKind::attention) return;
    double height = 0, width = 0;
    if (const auto* product = std::get_if<GemmShape>(&op.shape); product != nullptr && product->batch == 1) {
      height = product->m;
      width = product->n;
    } else if (is_convolution(typed.layer)) {
      const auto map = output_map(typed.layer);
      height = static_cast<double>(step_.batch) * map.height * map.width;
      width = map.channels;
    }
    constexpr double rows = 256, columns = 128;
    const int most = sizes_.activation < Bytes(4) ? 264 : 200;
    if (std::ceil(height / rows) * std::ceil(width / columns) <= most) return;
    ops_.push_back(kernel(phase, typed.layer.name, rules_.clear, Bytes(), 1));
    ops_.back().of_layer = typed.of_layer;
  }

  void append_optimizer() {
    std::vector<double> tensors;
    for (const TypedLayer& typed : layers_) {
      for (const Parameter& parameter : typed.layer.parameters) tensors.push_back(parameter.elements);
    }
    const auto is_ours = [&](const OptimizerRules& one) {
      return one.kernels == step_.optimizer_kernels &&
             std::ranges::find(one.optimizers, step_.optimizer) != one.optimizers.end();
    };
    const auto found = std::ranges::find_if(rules_.optimizers, is_ours);
    if (found == rules_.optimizers.end())
      throw InputError(
          fmt::format("{} has no rules for the optimizer {}", rules_.name, config::name_of(step_.optimizer)));
    const Bytes size = sizes_.casts ? sizes_.parameter : sizes_.compute_weight;
    const std::size_t first = ops_.size();
    for (const TensorPass& pass : found->passes) {
      const bool is_single = size == Bytes(4);
      const std::vector<double> counters(tensors.size(), 1);  // a value of each
      for (const TensorLaunch& launch : tensor_launches(pass.bytes > 0 ? counters : tensors, pass.tensors)) {
        const Bytes each = launch.values * (pass.bytes > 0 ? Bytes(pass.bytes) : pass.passes * size);
        ops_.push_back(kernel(Phase::optimizer, "optimizer", class_of(pass.kernel, is_single), each, 1));
      }
    }
    const bool is_separate =
        step_.optimizer == Optimizer::adam && found->kernels == OptimizerKernels::foreach_;
    const Seconds each = is_separate ? rules_.host.tensor : rules_.host.fused_tensor;
    // The host looks at all tensors before it launches the first kernel.
    if (ops_.size() > first) ops_[first].host = static_cast<double>(tensors.size()) * step_.host_times * each;
  }

  const Lowering& rules_;
  const LoweredStep& step_;
  ElementSizes sizes_;
  std::vector<TypedLayer> layers_;
  ModelTraits model_;
  std::vector<Op> ops_;
};

}  // namespace

Trace lowered_trace(const Model& model, const Lowering& rules, const LoweredStep& step) {
  return {.model = model.name,
          .batch_per_gpu = step.batch,
          .precision = step.precision,
          .sequence_length = model.sequence_length,
          .samples_per_epoch = samples_per_epoch(model),
          .between_steps = step.host_times * rules.host.step,
          // the gap before a kernel is part of its op's time
          .queue = {.places = rules.host.queue,
                    .latency = std::max(Seconds(), rules.host.latency - rules.host.gap)},
          .ops = Lowerer(model, rules, step).ops()};
}

}  // namespace trainyard
