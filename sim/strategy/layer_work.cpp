#include "strategy/layer_work.hpp"

#include "workload/make_trace.hpp"

#include <algorithm>
#include <utility>

namespace trainyard {
namespace {

double values_of(const Layer& layer) {
  if (layer.kind == LayerKind::linear) return layer.out_elements;
  if (layer.kind != LayerKind::batched_matmul) return layer.in_elements;
  return layer.gemm.transpose_b ? layer.in_elements : layer.out_elements;  // the other tensor holds scores
}

/// Copies the ops of a trace and inserts the work of layers between them.
class WorkInserter {
public:
  WorkInserter(const Trace& trace, const std::vector<Layer>& layers, const std::vector<LayerWork>& work)
      : layers_(layers),
        work_(work),
        batch_(trace.batch_per_gpu),
        precision_(trace.precision.value_or(Precision::fp32)),
        back_(static_cast<int>(layers.size())) {}

  std::vector<Op> insert(std::vector<Op> ops) {
    for (Op& op : ops) {
      if (op.phase == Phase::forward) {
        if (!is_cast_of_weights(op)) forward_up_to(op.of_layer);
      } else {
        forward_up_to(static_cast<int>(layers_.size()));
        if (op.phase == Phase::optimizer || op.of_layer >= 0) back_down_to(op.of_layer);
      }
      result_.push_back(std::move(op));
    }
    forward_up_to(static_cast<int>(layers_.size()));
    back_down_to(0);
    return std::move(result_);
  }

private:
  /// Weights are cast before the work of the layer before.
  [[nodiscard]] bool is_cast_of_weights(const Op& op) const {
    return op.of_layer >= 0 && !casts_inputs(precision_) &&
           is_cast(op, layers_[static_cast<std::size_t>(op.of_layer)]);
  }

  void forward_up_to(int layer) {
    for (; ahead_ < layer; ++ahead_) append(Phase::forward, ahead_);
  }

  void back_down_to(int layer) {
    while (back_ > std::max(layer, 0)) append(Phase::backward, --back_);
  }

  void append(Phase phase, int number) {
    const Layer& layer = layers_[static_cast<std::size_t>(number)];
    for (const LayerWork& work : work_) {
      const double passes = phase == Phase::forward ? work.forward : work.backward;
      if (work.layer != layer.kind || passes <= 0) continue;
      if (!work.only.empty() && std::ranges::find(work.only, precision_) == work.only.end()) continue;
      const double values = batch_ * values_of(layer);
      const Bytes value = work.of == WorkDtype::fp32 ? Bytes(4) : element_sizes(precision_).activation;
      Op op;
      op.phase = phase;
      op.layer = layer.name + "." + work.name;
      op.of_layer = number;
      op.kind = OpKind::elementwise;
      op.shape = VectorShape{values};
      op.flops = Flops(values);
      op.bytes = passes * values * value;
      result_.push_back(std::move(op));
    }
  }

  const std::vector<Layer>& layers_;
  const std::vector<LayerWork>& work_;
  double batch_;
  Precision precision_;
  int ahead_ = 0;  ///< the first layer whose forward work has not been inserted
  int back_;       ///< one past the last layer whose backward work has not been inserted
  std::vector<Op> result_;
};

}  // namespace

void add_layer_work(Trace& trace, const std::vector<Layer>& layers, const std::vector<LayerWork>& work) {
  if (work.empty()) return;
  trace.ops = WorkInserter(trace, layers, work).insert(std::move(trace.ops));
}

}  // namespace trainyard
