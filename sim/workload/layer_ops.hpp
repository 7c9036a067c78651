#pragma once
// The ops of single layers, of which make_trace makes a step and a lowering takes those of matrix units.

#include "workload/eight_bits.hpp"
#include "workload/make_trace.hpp"

#include <vector>

namespace trainyard {

/// The result of a layer's matrix work.
enum class LayerPass { output, input_gradient, weight_gradient };

/// The product, convolution or fused attention of a layer of matrix work for a whole batch; the gradients of
/// fused attention are one op. `narrow`: of a linear layer whose product has operands in 8 or 4 bits. Throws
/// InputError as make_trace.
Op matrix_op(LayerPass pass, const Layer& layer, int batch, const ElementSizes& sizes,
             const NarrowValues& narrow = {});

/// The ops of a layer in make_trace, without those of products in 8 bits.
std::vector<Op> layer_ops(Phase phase, const Layer& layer, int batch, Precision precision);

/// The gradients of a layer's parameters in the order in which backward completes them.
std::vector<Gradient> gradients_of(const Layer& layer, int batch);

}  // namespace trainyard
