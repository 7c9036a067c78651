#include "strategy/space_division.hpp"

#include <algorithm>
#include <utility>

namespace trainyard {

namespace {

int part_of(int count, int parts) { return (count + parts - 1) / parts; }

/// One dimension of a map in parts: the largest values of a part.
struct Reach {
  int held = 0;    ///< inputs that it has
  int needed = 0;  ///< inputs of its windows, with padding between parts
  int inside = 0;  ///< without padding
  int halo = 0;    ///< of those, inputs that other parts have
  int padding = 0;
};

/// Part r of n has the places from r count/n to (r + 1) count/n, rounded down.
Reach reach_of(int in, int out, int kernel, int stride, int padding, int parts) {
  if (parts == 1) return {in, in, in, 0, padding};
  Reach reach{.held = part_of(in, parts), .needed = (part_of(out, parts) - 1) * stride + kernel};
  const auto begin = [parts](int count, int part) {
    return static_cast<int>(static_cast<long long>(part) * count / parts);
  };
  for (int part = 0; part < parts; ++part) {
    const int first = begin(out, part), last = begin(out, part + 1) - 1;
    if (last < first) continue;  // waits for the others
    const int low = std::max(0, first * stride - padding);
    const int high = std::min(in, last * stride - padding + kernel);
    const int own = std::min(high, begin(in, part + 1)) - std::max(low, begin(in, part));
    reach.inside = std::max(reach.inside, high - low);
    reach.halo = std::max(reach.halo, high - low - std::max(0, own));
  }
  return reach;
}

Layer windowed(const Layer& layer, FeatureMap in, const Window& window) {
  const bool has_bias = layer.parameters.size() > 1;
  const int out = layer.out_shape.front();
  if (layer.kind == LayerKind::conv)
    return grouped_conv_layer(layer.name, in, out, window, layer.groups, has_bias);
  if (layer.kind == LayerKind::local) return local_layer(layer.name, in, out, window, has_bias);
  return layer.kind == LayerKind::max_pool ? max_pool_layer(layer.name, in, window)
                                           : average_pool_layer(layer.name, in, window);
}

/// Multiplies everything that a layer does for a sample.
void multiply(Layer& layer, double factor) {
  const double weights = layer.weight_rw_elements;
  const double backward_weights = layer.forward_macs > 0 ? 2 * weights : weights;
  layer.forward_macs *= factor;
  layer.forward_flops = factor * layer.forward_flops;
  layer.backward_flops = factor * layer.backward_flops;
  layer.in_elements *= factor;
  layer.out_elements *= factor;
  layer.saved_elements *= factor;
  layer.saved_fixed = factor * layer.saved_fixed;
  layer.forward_rw_elements = factor * (layer.forward_rw_elements - weights) + weights;
  layer.backward_rw_elements = factor * (layer.backward_rw_elements - backward_weights) + backward_weights;
}

}  // namespace

SpaceGrid space_grid(int ranks, int height, int width) {
  int most = 1;
  while ((most + 1) * (most + 1) <= ranks) ++most;
  for (int few = most; few > 0; --few) {
    if (ranks % few != 0) continue;
    for (const SpaceGrid grid : {SpaceGrid{few, ranks / few}, SpaceGrid{ranks / few, few}})
      if (grid.rows <= height && grid.columns <= width) return grid;
  }
  return {1, ranks};
}

bool has_space(const Layer& layer) {
  if (layer.window == no_window) return false;
  return layer.kind == LayerKind::conv || layer.kind == LayerKind::local ||
         layer.kind == LayerKind::max_pool || layer.kind == LayerKind::average_pool;
}

SpacePart space_part(const Layer& layer, SpaceGrid grid) {
  const int ranks = grid.rows * grid.columns;
  const std::vector<int>& in = layer.in_shape;
  if (!has_space(layer)) {
    Layer made = layer;
    const int height = part_of(in[1], grid.rows);
    const int width = part_of(in[2], grid.columns);
    multiply(made, 1.0 * ranks * height * width / (1.0 * in[1] * in[2]));
    made.in_shape = made.out_shape = {in[0], height, width};
    made.samples = ranks;
    return {.layer = std::move(made), .reads = 1.0 * ranks * in[0] * height * width};
  }
  const Window& w = layer.window;
  const Reach rows = reach_of(in[1], layer.out_shape[1], w.kernel_h, w.stride, w.pad_h, grid.rows);
  const Reach columns = reach_of(in[2], layer.out_shape[2], w.kernel_w, w.stride, w.pad_w, grid.columns);
  Window window = w;
  window.pad_h = rows.padding;
  window.pad_w = columns.padding;
  Layer made = windowed(layer, {in[0], rows.needed, columns.needed}, window);
  made.saved_elements =
      layer.in_elements > 0 ? layer.saved_elements / layer.in_elements * made.in_elements : 0;
  if (!layer.has_input_gradient) set_reads_data(made);
  multiply(made, ranks);
  made.samples = ranks;
  if (layer.kind == LayerKind::local) made.gemm.m = ranks;
  const double channels = 1.0 * ranks * in[0];
  return {.layer = std::move(made),
          .reads = channels * rows.inside * columns.inside,
          .rows_halo = channels * rows.halo * columns.held,
          .columns_halo = channels * columns.halo * rows.inside};
}

}  // namespace trainyard
