#include "strategy/layer_work.hpp"

#include "workload/fuse_elementwise.hpp"
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
        forward_up_to(find(op, ahead_, static_cast<int>(layers_.size()), ahead_));
      } else {
        forward_up_to(static_cast<int>(layers_.size()));
        back_down_to(op.phase == Phase::backward ? find(op, 0, back_, back_) : 0);
      }
      result_.push_back(std::move(op));
    }
    forward_up_to(static_cast<int>(layers_.size()));
    back_down_to(0);
    return std::move(result_);
  }

private:
  /// Index of the op's layer among first ... end - 1, otherwise `missing`: casts have no layer.
  [[nodiscard]] int find(const Op& op, int first, int end, int missing) const {
    for (int i = first; i < end; ++i) {
      if (layers_[static_cast<std::size_t>(i)].name == first_layer(op.layer)) return i;
    }
    return missing;
  }

  void forward_up_to(int layer) {
    for (; ahead_ < layer; ++ahead_) append(Phase::forward, layers_[static_cast<std::size_t>(ahead_)]);
  }

  void back_down_to(int layer) {
    while (back_ > layer) append(Phase::backward, layers_[static_cast<std::size_t>(--back_)]);
  }

  void append(Phase phase, const Layer& layer) {
    for (const LayerWork& work : work_) {
      const double passes = phase == Phase::forward ? work.forward : work.backward;
      if (work.layer != layer.kind || passes <= 0) continue;
      if (!work.only.empty() && std::ranges::find(work.only, precision_) == work.only.end()) continue;
      const double values = batch_ * values_of(layer);
      const Bytes value = work.of == WorkDtype::fp32 ? Bytes(4) : element_sizes(precision_).activation;
      Op op;
      op.phase = phase;
      op.layer = layer.name + "." + work.name;
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
