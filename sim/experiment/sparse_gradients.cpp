#include "experiment/sparse_gradients.hpp"

#include "config/diagnostic.hpp"

#include <fmt/format.h>

namespace trainyard {
namespace {

/// Ranks that sum the gradients of a layer.
int copies_of(const Layer& layer, const Grid& grid) {
  return layer.summed_over ? group_size(grid, *layer.summed_over) : 1;
}

}  // namespace

void require_reducible_gradients(const std::vector<Layer>& layers, const Grid& grid) {
  for (const Layer& layer : layers) {
    const int copies = layer.sparse_elements > 0 ? copies_of(layer, grid) : 1;
    if (copies == 1) continue;
    throw InputError(
        fmt::format(
            "{} ranks have copies of the tables '{}', whose gradients are sparse and cannot be reduced",
            copies, layer.name),
        fmt::format("let the ranks divide them, 'parallelism: {{layers: [{{match: {}}}]}}', or use tables "
                    "without 'sparse'",
                    layer.name));
  }
}

void check_sparse_gradients(const ResolvedExperiment& resolved) {
  if (!resolved.model) return;
  if (!resolved.settings.parallelism) {
    Grid replicas;
    replicas.data = resolved.cluster->ranks();
    require_reducible_gradients(resolved.model->layers, replicas);
  } else if (resolved.layout) {
    for (const RankClass& one : resolved.classes)
      require_reducible_gradients(one.layers, resolved.layout->grid);
  }
}

}  // namespace trainyard
