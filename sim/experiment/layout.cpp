#include "experiment/layout.hpp"

#include "config/diagnostic.hpp"
#include "strategy/layer_work.hpp"
#include "strategy/layout_checks.hpp"
#include "strategy/stack_ops.hpp"
#include "strategy/stages.hpp"
#include "workload/accumulate.hpp"
#include "workload/fuse_elementwise.hpp"
#include "workload/make_trace.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <iterator>
#include <span>
#include <utility>

namespace trainyard {

namespace {

/// One chunk of the model: the ops of its passes and of its update.
struct ChunkTrace {
  std::vector<Op> forward, backward, weights, update;
};

/// The last projection's copy of the word embedding, if another rank has the embedding.
void own_tied_table(std::vector<Layer>& layers) {
  const auto is_table = [](const Layer& layer) { return layer.kind == LayerKind::embedding; };
  if (std::ranges::any_of(layers, is_table)) return;
  for (Layer& layer : layers) {
    if (layer.tied_elements <= 0) continue;
    const double elements = std::exchange(layer.tied_elements, 0);
    layer.parameters.insert(layer.parameters.begin(), {layer.name + ".weight", elements});
    layer.weight_rw_elements = elements;
    layer.forward_rw_elements += elements;
    layer.backward_rw_elements += 2 * elements;
  }
}

/// The op adds the gradient of a weight of a matrix product or a convolution.
bool is_weight_gradient(const Op& op) {
  return op.phase == Phase::backward && !op.gradients.empty() && op.role == OpRole::layer;
}

/// Moves the ops that compute the gradients of weights out of a backward pass.
void split_weights(ChunkTrace& chunk) {
  std::vector<Op> backward;
  for (Op& op : chunk.backward) (is_weight_gradient(op) ? chunk.weights : backward).push_back(std::move(op));
  chunk.backward = std::move(backward);
}

class LayoutTraces {
public:
  LayoutTraces(const LayoutRequest& request, const Layout& layout)
      : request_(request),
        layout_(layout),
        layers_(request.model.layers),
        ranges_(cut(layers_, layout.grid.pipeline * layout.parallelism.virtual_stages,
                    layout.parallelism.stages)) {}

  [[nodiscard]] std::vector<Bytes> boundaries() const {
    std::vector<Bytes> all;
    const Bytes value = element_sizes(request_.precision).activation;
    for (std::size_t i = 0; i + 1 < ranges_.size(); ++i)
      all.push_back(request_.micro_batch * boundary_elements(layers_, ranges_[i]) * value);
    return all;
  }

  [[nodiscard]] RankClass stage(int stage) const {
    RankClass made{.name = layout_.grid.pipeline == 1 ? "all ranks" : fmt::format("stage {}", stage),
                   .ranks = ranks_of_stage(layout_.grid, stage),
                   .trace = {.model = request_.model.name,
                             .batch_per_gpu = request_.micro_batch,
                             .precision = request_.precision,
                             .sequence_length = request_.model.sequence_length,
                             .ops = {}},
                   .stage = stage};
    std::vector<ChunkTrace> chunks;
    for (int k = 0; k < layout_.parallelism.virtual_stages; ++k) chunks.push_back(chunk(stage, k, made));
    const auto add = [&](PassKind kind, std::vector<Op> ChunkTrace::*ops) {
      for (int k = 0; at(k) < chunks.size(); ++k) {
        const auto first = static_cast<int>(made.trace.ops.size());
        std::ranges::move(chunks[at(k)].*ops, std::back_inserter(made.trace.ops));
        made.passes.push_back({kind, k, first, static_cast<int>(made.trace.ops.size())});
      }
    };
    add(PassKind::forward, &ChunkTrace::forward);
    add(PassKind::backward, &ChunkTrace::backward);
    if (layout_.schedule == PipelineSchedule::zb_h1) add(PassKind::weights, &ChunkTrace::weights);
    add_end(chunks, made.trace);
    return made;
  }

private:
  /// The trace of a chunk; its layers join those of the class.
  [[nodiscard]] ChunkTrace chunk(int stage, int number, RankClass& made) const {
    const LayerRange range = ranges_[at(global_chunk(layout_.grid.pipeline, stage, number))];
    Model part{.name = request_.model.name, .title = {}, .layers = {}, .samples_per_epoch = {}};
    part.layers.assign(layers_.begin() + range.first, layers_.begin() + range.end);
    own_tied_table(part.layers);
    Trace trace = make_trace(part, request_.micro_batch, request_.precision, request_.optimizer);
    if (request_.stack.fused_elementwise) fuse_elementwise(trace, part.layers);
    add_layer_work(trace, part.layers, request_.stack.layer_work);
    ChunkTrace ops;
    const auto offset = static_cast<int>(made.layers.size());
    for (Op& op : trace.ops) {
      if (op.of_layer >= 0) op.of_layer += offset;
      std::vector<Op>& pass = op.phase == Phase::forward    ? ops.forward
                              : op.phase == Phase::backward ? ops.backward
                                                            : ops.update;
      pass.push_back(std::move(op));
    }
    if (layout_.schedule == PipelineSchedule::zb_h1) split_weights(ops);
    if (layout_.micro_batches > 1) {
      const bool is_split = layout_.schedule == PipelineSchedule::zb_h1;
      std::vector<Op>& last = is_split ? ops.weights : ops.backward;
      if (auto addition = gradient_addition(last, element_sizes(request_.precision).gradient))
        last.push_back(*std::move(addition));
    }
    std::ranges::move(part.layers, std::back_inserter(made.layers));
    return ops;
  }

  /// One update of all chunks.
  void add_end(std::span<ChunkTrace> chunks, Trace& trace) const {
    Op update = std::move(chunks.front().update.front());
    double parameters = std::get<VectorShape>(update.shape).elements;
    for (const ChunkTrace& chunk : chunks.subspan(1)) {
      update.flops += chunk.update.front().flops;
      update.bytes += chunk.update.front().bytes;
      parameters += std::get<VectorShape>(chunk.update.front().shape).elements;
    }
    const int shards = layout_.parallelism.shard == Sharded::none ? 1 : layout_.grid.data * layout_.grid.context;
    update.shape = VectorShape{parameters / shards};
    update.flops = update.flops / shards;
    update.bytes = update.bytes / shards;
    trace.ops.push_back(std::move(update));
    trace.accumulation = layout_.micro_batches;
    add_stack_ops(trace, request_.stack);
  }

  const LayoutRequest& request_;
  const Layout& layout_;
  std::vector<Layer> layers_;
  std::vector<LayerRange> ranges_;
};

}  // namespace

Layout make_layout(const LayoutRequest& request) {
  std::vector<Diagnostic> errors = layout_errors(request.parallelism, request.ranks, request.micro_batches);
  if (!errors.empty()) throw InputError(std::move(errors));
  Layout layout{.parallelism = request.parallelism,
                .grid = make_grid(request.parallelism, request.ranks),
                .schedule = schedule_of(request.parallelism),
                .micro_batches = request.micro_batches,
                .boundaries = {}};
  layout.boundaries = LayoutTraces(request, layout).boundaries();
  return layout;
}

std::vector<RankClass> classes_of(const LayoutRequest& request, const Layout& layout) {
  const LayoutTraces traces(request, layout);
  std::vector<RankClass> classes;
  for (int stage = 0; stage < layout.grid.pipeline; ++stage) classes.push_back(traces.stage(stage));
  std::ranges::sort(classes, {}, [](const RankClass& one) { return one.ranks.front(); });
  return classes;
}

}  // namespace trainyard
