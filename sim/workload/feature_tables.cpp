#include "workload/feature_tables.hpp"

#include <fmt/format.h>
#include <utility>

namespace trainyard {

Layer tables_layer(std::string name, const FeatureTables& tables) {
  const auto count = static_cast<int>(tables.entries.size());
  const int lookups = tables.samples * count * tables.lookups;
  const int rows = tables.is_summed ? tables.samples * count : lookups;
  Layer layer = shaped_layer(std::move(name), LayerKind::embedding, {lookups}, {rows, tables.features});
  for (int i = 0; i < count; ++i) {
    const std::string tensor =
        count == 1 ? layer.name + ".weight" : fmt::format("{}.{}.weight", layer.name, i);
    layer.parameters.push_back({tensor, tables.entries[static_cast<std::size_t>(i)] * tables.features});
  }
  const double values = static_cast<double>(lookups) * tables.features;
  layer.forward_flops = Flops(values - layer.out_elements);
  layer.backward_flops = Flops(values);
  layer.forward_rw_elements = values + layer.out_elements;
  layer.backward_rw_elements = parameter_elements(layer);
  layer.repeated_rows = tables.samples * tables.most_frequent;
  if (tables.is_sparse) {
    layer.sparse_elements = static_cast<double>(tables.samples) * tables.lookups * tables.features;
    layer.backward_rw_elements = values;
  }
  return layer;
}

FeatureTables tables_of(const Layer& layer) {
  const auto count = static_cast<int>(layer.parameters.size());
  FeatureTables tables{.features = layer.out_shape.back(),
                       .lookups = layer.in_shape.front() / count,
                       .is_summed = layer.out_shape.front() < layer.in_shape.front(),
                       .is_sparse = layer.sparse_elements > 0,
                       .most_frequent = layer.repeated_rows};
  for (const Parameter& parameter : layer.parameters)
    tables.entries.push_back(parameter.elements / tables.features);
  return tables;
}

Layer pair_products_layer(std::string name, int vectors, int features) {
  Layer layer =
      shaped_layer(std::move(name), LayerKind::batched_matmul, {vectors, features}, {vectors, vectors});
  layer.gemm = {1, vectors, vectors, features, true};
  set_macs(layer, layer.out_elements * features);
  layer.saved_elements = layer.in_elements;
  layer.forward_rw_elements = 2 * layer.in_elements + layer.out_elements;
  layer.backward_rw_elements = 2 * layer.forward_rw_elements;
  return layer;
}

Layer pairs_layer(std::string name, int vectors) {
  Layer layer =
      shaped_layer(std::move(name), LayerKind::pairs, {vectors, vectors}, {vectors * (vectors - 1) / 2});
  layer.forward_rw_elements = 2 * layer.out_elements;
  layer.backward_rw_elements = layer.out_elements + layer.in_elements;
  return layer;
}

}  // namespace trainyard
