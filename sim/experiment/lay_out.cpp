#include "experiment/lay_out.hpp"

#include "strategy/vocabulary.hpp"

#include <utility>

namespace trainyard {

std::vector<Op> lay_out(ResolvedExperiment& resolved, const Model& model, const Parallelism& parallelism,
                        int micro_batch, int micro_batches) {
  resolved.model = model;
  pad_vocabulary(resolved.model->layers, parallelism.tensor);
  resolved.settings.batch_per_gpu = micro_batch;
  resolved.settings.accumulation = micro_batches;
  LayoutRequest request = layout_request(resolved, parallelism);
  request.merge_stages = true;
  LaidOut laid = laid_out(request);
  resolved.layout = std::move(laid.layout);
  resolved.classes = std::move(laid.classes);
  return std::move(laid.updates);
}

void share_state(ResolvedExperiment& resolved, std::span<const Op> updates, Sharded shard) {
  Parallelism parallelism = resolved.layout->parallelism;
  parallelism.shard = shard;
  share_state(layout_request(resolved, parallelism), updates, *resolved.layout, resolved.classes);
}

}  // namespace trainyard
