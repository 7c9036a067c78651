#pragma once
// The layers of a model as a framework computes them, with the types of the tensors between them.

#include "lowering/lowering_rules.hpp"
#include "lowering/model_traits.hpp"
#include "workload/layer.hpp"
#include "workload/make_trace.hpp"

#include <optional>
#include <vector>

namespace trainyard {

struct TypedLayer {
  Layer layer;
  int of_layer = -1;    ///< index in the model's layers
  Bytes input, result;  ///< bytes per value
  Bytes other;          ///< of a sum: of the tensor that an earlier layer wrote
  bool is_after_product = false, is_before_sum = false;
  bool is_after_writer = false;  ///< the layer before is a norm or an activation
  /// Whether the layer before, or a projection before of the same layer, keeps the tensor that it reads.
  bool keeps_before = false;
};

/// The layers, product by product (products_of()): each reads the input. `before`: of the tensors that the
/// layers get, if they are a part of a model.
std::vector<TypedLayer> typed_layers(const std::vector<Layer>& layers, const ModelTraits& model,
                                     const Lowering& rules, const ElementSizes& sizes,
                                     const std::optional<StreamSizes>& before = {});

/// The products that a layer is: its projections one by one, or all in one, as the rules say; any other layer
/// as it is.
std::vector<Layer> products_of(const Layer& layer, const Lowering& rules);

/// The rules for a layer; nullptr if there are none.
const LayerRules* rules_of(const Lowering& rules, const Layer& layer);

/// The rules for an update; nullptr if there are none.
const OptimizerRules* rules_of(const Lowering& rules, Optimizer optimizer, OptimizerKernels kernels);

}  // namespace trainyard
