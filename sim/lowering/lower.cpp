#include "lowering/lower.hpp"

#include "config/diagnostic.hpp"
#include "lowering/layer_values.hpp"
#include "lowering/optimizer_kernels.hpp"
#include "lowering/typed_layers.hpp"
#include "workload/accumulate.hpp"
#include "workload/eight_bits.hpp"
#include "workload/layer_ops.hpp"
#include "workload/make_trace.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <iterator>
#include <ranges>
#include <utility>

namespace trainyard {
namespace {

/// Times of the host for one launch, by phase.
struct LaunchTimes {
  Seconds forward, backward;
};

LaunchTimes launch_times(const Lowering& rules, const LoweredStep& step) {
  if (step.runtime != Runtime::eager && rules.compiler)
    return {step.host_times * rules.compiler->forward, step.host_times * rules.compiler->backward};
  return {step.host_times * rules.host.forward, step.host_times * rules.host.backward};
}

class Lowerer {
public:
  Lowerer(const Model& model, const Lowering& rules, const LoweredStep& step)
      : rules_(rules),
        step_(step),
        sizes_(element_sizes(step.precision)),
        model_(step.part ? step.part->traits : traits_of(model.layers)),
        layers_(
            typed_layers(model.layers, model_, rules, sizes_, step.part ? step.part->before : std::nullopt)) {
    if (is_compiled() && !rules.compiler)
      throw InputError(fmt::format("{} has no rules of a compiler", rules.name), "runtime: eager");
  }

  std::vector<Op> passes() {
    for (const TypedLayer& typed : layers_) append(Phase::forward, typed);
    launch_as_graph(0);
    const std::size_t backward = ops_.size();
    std::optional<int> block;
    std::vector<Gradient> completed;  // by kernels of the layer before, if a compiler fuses them
    for (const TypedLayer& typed : layers_ | std::views::reverse) {
      if (step_.recomputes && typed.layer.block != block) recompute(typed.layer.block);
      block = typed.layer.block;
      const std::size_t first = ops_.size();
      append(Phase::backward, typed);
      std::ranges::move(gradients_of(typed.layer, step_.batch), std::back_inserter(completed));
      if (ops_.size() > first) ops_.back().gradients = std::exchange(completed, {});
      append_gradient_sums(typed);
    }
    launch_as_graph(backward);
    return std::move(ops_);
  }

  std::vector<Op> update(const std::vector<double>& tensors, double narrow_weights) {
    append_scaler(tensors);
    append_optimizer(tensors);
    if (rules_.weight_cast && narrow_weights > 0 && is_narrow(step_.precision)) {
      const KernelRule& cast = *rules_.weight_cast;
      const NarrowValues narrow = narrow_values(step_.precision);
      const Bytes each =
          Bytes(cast.bytes) + 2 * (narrow.each - Bytes(1)) + (narrow.of_weights - 1) * sizes_.compute_weight;
      ops_.push_back(kernel(Phase::optimizer, "weights", cast.kernel, narrow_weights * each, cast.count));
      ops_.back().shape = VectorShape{narrow_weights};
    }
    return std::move(ops_);
  }

private:
  void append(Phase phase, const TypedLayer& typed) {
    const LayerRules* rules = rules_of(rules_, typed.layer);
    if (rules == nullptr) {
      append_unruled(phase, typed);
      return;
    }
    for (const KernelRule& rule : kernels_of(*rules, phase)) append(phase, typed, rule);
  }

  [[nodiscard]] const std::vector<KernelRule>& kernels_of(const LayerRules& one, Phase phase) const {
    const bool is_forward = phase == Phase::forward;
    if (is_compiled() && one.compiled) return is_forward ? one.compiled->forward : one.compiled->backward;
    return is_forward ? one.forward : one.backward;
  }

  void append_gradient_sums(const TypedLayer& typed) {
    if (is_compiled()) return;
    const SliceGradients& slices = typed.layer.slice_gradients;
    append_gradients(typed, rules_.slice_zeros, slices.slices, slices.zeros);
    append_gradients(typed, rules_.slice_copy, slices.slices, slices.copied);
    append_gradients(typed, rules_.slice_join, slices.joined > 0 ? 1 : 0, slices.joined);
    append_gradients(typed, rules_.gradient_sum, typed.layer.input_sums, typed.layer.summed_elements);
  }

  /// `count` kernels over so many values of a sample in all.
  void append_gradients(const TypedLayer& typed, const std::optional<KernelRule>& rule, int count,
                        double elements) {
    if (count == 0 || !rule) return;
    const double values = step_.batch * elements;
    ops_.push_back(kernel(Phase::backward, typed.layer.name, class_of(rule->kernel, typed.input == Bytes(4)),
                          rule->passes * values / count * typed.input, count));
    ops_.back().of_layer = typed.of_layer;
    ops_.back().shape = VectorShape{values};
  }

  void append_unruled(Phase phase, const TypedLayer& typed) {
    for (Op& op : layer_ops(phase, typed.layer, step_.batch, step_.precision)) {
      op.of_layer = typed.of_layer;
      op.host = host_of(phase);
      op.gaps = rules_.host.gap;
      op.gradients.clear();
      ops_.push_back(std::move(op));
    }
  }

  void append(Phase phase, const TypedLayer& typed, const KernelRule& rule) {
    const LayerValues values(typed, step_, sizes_, model_);
    if (!values.hold(rule.when)) return;
    if (rule.matrix != MatrixKernel::none) {
      append_matrix(phase, typed, rule);
      return;
    }
    const double number = values.number(rule.of);
    if (number < rule.above) return;
    const int experts = experts_of(typed.layer);
    const int count = experts * (rule.per_tensor ? std::max(1, typed.layer.joins) : rule.count);
    const double part = number / (rule.per_tensor ? count : experts);
    const Bytes each =
        part * (rule.passes * values.size(rule.type) + Bytes(rule.bytes)) + Bytes(rule.fixed_bytes);
    const bool is_single = values.size(rule.type) == Bytes(4);
    Op op = kernel(phase, typed.layer.name, class_of(rule.kernel, is_single), each, count);
    if (op.kind == OpKind::elementwise) {
      // Tensors beyond 2^31 bytes need indices of 64 bits, which kernels avoid: they work on halves.
      const Bytes operand = part * (rule.passes > 0 ? values.size(rule.type) : Bytes(4));
      for (; operand.si() * count / op.launches >= rules_.largest_kernel && rules_.largest_kernel > 0;)
        op.launches *= 2;
    }
    const int for_each_expert = count / experts;
    if (op.host > Seconds()) op.host = host_of(phase, experts) * for_each_expert;
    op.of_layer = typed.of_layer;
    op.shape = VectorShape{number};
    op.flops = Flops(part * count);
    op.synchronises = rule.synchronises;
    op.rows = values.number(KernelValues::rows);
    const double at_once = class_named(class_of(rule.kernel, is_single)).columns;
    if (at_once > 0) op.rows *= std::max(1.0, number / op.rows / at_once);
    ops_.push_back(std::move(op));
  }

  /// The experts for each of which a layer launches kernels of its own: of a linear layer, as Transformer
  /// Engine's GroupedLinear does from one call; 1 for any other layer.
  static int experts_of(const Layer& layer) {
    return layer.kind == LayerKind::linear ? std::max(1, layer.experts) : 1;
  }

  /// The host's time for a launch, or for one call that launches a kernel for each of `experts`; none in the
  /// update, where it takes time for each tensor.
  [[nodiscard]] Seconds host_of(Phase phase, int experts = 1) const {
    if (phase == Phase::optimizer) return {};
    const bool is_forward = phase == Phase::forward;
    const LaunchTimes times = launch_times(rules_, step_);
    return (is_forward ? times.forward : times.backward) +
           (experts - 1) * (step_.host_times * rules_.host.repeat);
  }

  /// A class may have another for 4-byte values.
  [[nodiscard]] std::string class_of(const std::string& name, bool is_single) const {
    const std::string other = name + "_single";
    const bool has_other =
        is_single && std::ranges::find(rules_.kernels, other, &KernelClass::name) != rules_.kernels.end();
    return has_other ? other : name;
  }

  [[nodiscard]] const KernelClass& class_named(const std::string& name) const {
    return *std::ranges::find(rules_.kernels, name, &KernelClass::name);
  }

  Op kernel(Phase phase, const std::string& layer, const std::string& name, Bytes each, int count) const {
    const KernelClass* const found = &class_named(name);
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
    const bool is_cast = is_narrow(step_.precision) && runs_in_8_bits(typed.layer);
    const NarrowValues narrow = is_cast ? narrow_values(step_.precision) : NarrowValues{};
    Op op = matrix_op(pass_of(rule.matrix), typed.layer, step_.batch, sizes_, narrow);
    pad_columns(op, rule);
    if (rule.type == PassType::single) op.bytes = op.bytes * (Bytes(4) / sizes_.activation);
    op.of_layer = typed.of_layer;
    if (op.kind == OpKind::attention) op.rate = attention_rate(phase, typed.layer, op);
    op.host = host_of(phase, experts_of(typed.layer));
    op.gaps = rules_.host.gap;
    if (op.kind == OpKind::gemm) rate_product(op, rule, typed.layer, is_cast);
    clear_counters(phase, typed, op);
    ops_.push_back(std::move(op));
  }

  /// Pads the columns of the weights, as a compiler does: a product's n, or the k of its input's gradient.
  static void pad_columns(Op& op, const KernelRule& rule) {
    auto* const product = std::get_if<GemmShape>(&op.shape);
    if (rule.pads <= 1 || product == nullptr) return;
    int& columns = rule.matrix == MatrixKernel::product ? product->n : product->k;
    if (!is_unaligned(columns)) return;
    const int padded = (columns + rule.pads - 1) / rule.pads * rule.pads;
    op.flops = op.flops * (1.0 * padded / columns);
    columns = padded;
  }

  static LayerPass pass_of(MatrixKernel kernel) {
    if (kernel == MatrixKernel::product) return LayerPass::output;
    return kernel == MatrixKernel::input_gradient ? LayerPass::input_gradient : LayerPass::weight_gradient;
  }

  void rate_product(Op& op, const KernelRule& rule, const Layer& layer, bool is_cast) const {
    if (layer.experts > 0) op.launches = layer.experts;
    op.product = product_rate(is_cast);
    if (!op.product) return;
    op.product->grouped = layer.experts > 0;
    if (rule.matrix == MatrixKernel::weight_gradient && layer.kind == LayerKind::linear)
      op.product->sums = step_.sums;
  }

  /// The library's, of products in 16 bits also in a step of fp8; nothing: those of the GPU profile.
  [[nodiscard]] std::optional<ProductRate> product_rate(bool is_cast) const {
    const bool is_wide = is_narrow(step_.precision) && !is_cast;
    const Precision precision = is_wide ? Precision::bf16 : step_.precision;
    for (const Products& products : rules_.products) {
      if (std::ranges::find(products.precisions, precision) != products.precisions.end())
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
    const bool is_causal = is_causal_attention(op);
    const bool reads_mask = layer.masks_keys || (is_causal && is_compiled() && rules_.compiler->masks_causal);
    if (is_causal && !reads_mask) keys = (keys + found->causal_extra) / 2;
    keys += is_forward ? found->forward_start : found->backward_start;
    constexpr double flops_per_product = 4;  // two products
    constexpr double backward_products = 2.5;
    const double flops = flops_per_product * step_.batch * layer.gemm.batch * in_tiles(layer.gemm.m) * keys *
                         std::max(head, found->smallest_head) * (is_forward ? 1 : backward_products);
    const auto fits = [&](const AttentionShares& one) { return head <= one.head_dim; };
    auto shares = std::ranges::find_if(found->shares, fits);
    if (shares == found->shares.end()) shares = std::prev(found->shares.end());
    double share = is_forward ? shares->forward : shares->backward;
    if (reads_mask) share *= is_forward ? shares->masked_forward : shares->masked_backward;
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

  [[nodiscard]] bool is_compiled() const { return step_.runtime != Runtime::eager; }

  /// Launches all ops from `first` on together.
  void launch_as_graph(std::size_t first) {
    if (step_.runtime != Runtime::cuda_graph || first == ops_.size()) return;
    for (std::size_t i = first; i < ops_.size(); ++i) ops_[i].host = {};
    ops_[first].host = step_.host_times * rules_.host.graph;
  }

  /// The forward kernels of a block again.
  void recompute(std::optional<int> block) {
    if (!block) return;
    const std::size_t first = ops_.size();
    for (const TypedLayer& typed : layers_) {
      if (typed.layer.block == block) append(Phase::forward, typed);
    }
    for (std::size_t i = first; i < ops_.size(); ++i) {
      Op& op = ops_[i];
      op.phase = Phase::backward;
      op.role = OpRole::recompute;
      op.layer += ".recompute";
      launch_again(op, rules_, step_);
    }
  }

  /// In the optimizer's phase, the launches of passes over all tensors.
  void append_passes(const std::vector<TensorPass>& passes, const std::vector<double>& tensors, Bytes size) {
    for (const TensorPass& pass : passes) {
      if (pass.bytes > 0) {
        append_counters(pass, static_cast<int>(tensors.size()));
        continue;
      }
      for (const TensorLaunch& launch : tensor_launches(tensors, pass.tensors))
        append_update(pass, size == Bytes(4), launch.values * pass.passes * size);
    }
  }

  /// Kernels of a value of each tensor.
  void append_counters(const TensorPass& pass, int tensors) {
    for (int done = 0; done < tensors; done += pass.tensors)
      append_update(pass, true, std::min(pass.tensors, tensors - done) * Bytes(pass.bytes));
  }

  void append_update(const TensorPass& pass, bool is_single, Bytes each) {
    ops_.push_back(kernel(Phase::optimizer, "optimizer", class_of(pass.kernel, is_single), each, 1));
  }

  /// Gradients in fp16 autocast: scaled back, and the host waits to hear whether all are finite.
  void append_scaler(const std::vector<double>& tensors) {
    if (step_.precision != Precision::amp || rules_.scaler.empty()) return;
    const std::size_t first = ops_.size();
    append_passes(rules_.scaler, tensors, sizes_.parameter);
    if (ops_.size() > first) ops_.back().synchronises = true;
  }

  void append_optimizer(const std::vector<double>& tensors) {
    const OptimizerRules* found = rules_of(rules_, step_.optimizer, step_.optimizer_kernels);
    if (found == nullptr)
      throw InputError(
          fmt::format("{} has no rules for the optimizer {}", rules_.name, config::name_of(step_.optimizer)));
    const std::size_t first = ops_.size();
    append_passes(found->passes, tensors, sizes_.parameter);
    if (found->kernels == OptimizerKernels::loop) {
      for (std::size_t i = first; i < ops_.size(); ++i) ops_[i].host = step_.host_times * rules_.host.update;
      return;
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
  ModelTraits model_;
  std::vector<TypedLayer> layers_;
  std::vector<Op> ops_;
};

}  // namespace

Trace lowered_trace(const Model& model, const Lowering& rules, const LoweredStep& step) {
  Trace trace = lowered_passes(model, rules, step);
  std::vector<double> tensors;
  for (const Layer& layer : model.layers)
    std::ranges::copy(tensors_of(layer, rules), std::back_inserter(tensors));
  std::ranges::move(lowered_update(tensors, rules, step, weights_in_8_bits(model.layers)),
                    std::back_inserter(trace.ops));
  return trace;
}

Trace lowered_passes(const Model& model, const Lowering& rules, const LoweredStep& step) {
  return {.model = model.name,
          .batch_per_gpu = step.batch,
          .precision = step.precision,
          .sequence_length = model.sequence_length,
          .samples_per_epoch = samples_per_epoch(model),
          .host = launching_host(rules, step.host_times),
          .ops = Lowerer(model, rules, step).passes()};
}

std::vector<Op> lowered_update(const std::vector<double>& tensors, const Lowering& rules,
                               const LoweredStep& step, double narrow_weights) {
  return Lowerer({}, rules, step).update(tensors, narrow_weights);
}

std::vector<double> tensors_of(const Layer& layer, const Lowering& rules) {
  std::vector<double> tensors;
  for (const Layer& product : products_of(layer, rules)) {
    for (const Parameter& parameter : product.parameters) tensors.push_back(parameter.elements);
  }
  return tensors;
}

void launch_again(Op& op, const Lowering& rules, const LoweredStep& step) {
  if (op.host <= Seconds()) return;
  const LaunchTimes times = launch_times(rules, step);
  op.host = op.host / times.forward * times.backward;
}

LaunchingHost launching_host(const Lowering& rules, double host_times) {
  const HostCosts& costs = rules.host;
  // The gap before a kernel is part of its op's time.
  return {.places = costs.queue,
          .between_steps = host_times * costs.step,
          .collective = host_times * costs.collective,
          .synchronise = host_times * costs.synchronise + std::max(Seconds(), costs.latency - costs.gap)};
}

void lower_addition(Op& addition, int tensors, const Lowering& rules, const LoweredStep& step) {
  addition.rate = std::ranges::find(rules.kernels, rules.gradient_sum.kernel, &KernelClass::name)->rate;
  addition.launches = tensors;
  addition.host = tensors * launch_times(rules, step).backward;
  addition.gaps = tensors * rules.host.gap;
}

void lower_additions(Trace& trace, const Lowering& rules, const LoweredStep& step) {
  int tensors = 0;
  for (const Op& op : trace.ops | std::views::reverse) {
    if (is_gradient_addition(op)) break;
    tensors += static_cast<int>(op.gradients.size());
  }
  if (tensors == 0) return;
  for (Op& op : trace.ops) {
    if (is_gradient_addition(op)) lower_addition(op, tensors, rules, step);
  }
}

}  // namespace trainyard
