#include "experiment/lay_out.hpp"

#include "strategy/vocabulary.hpp"

namespace trainyard {

void lay_out(ResolvedExperiment& resolved, const Model& model, const Parallelism& parallelism,
             int micro_batch, int micro_batches) {
  resolved.model = model;
  pad_vocabulary(resolved.model->layers, parallelism.tensor);
  resolved.settings.batch_per_gpu = micro_batch;
  resolved.settings.accumulation = micro_batches;
  const LayoutRequest request = layout_request(resolved, parallelism);
  resolved.layout = make_layout(request);
  resolved.classes = classes_of(request, *resolved.layout);
}

}  // namespace trainyard
