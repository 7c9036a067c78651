#pragma once
// Training in 8 bits (precision fp8), as NVIDIA's Transformer Engine does it: the products of the linear
// layers of transformer blocks have 8-bit operands and 16-bit results; attention, routers, the last
// projection, all other ops, gradients and messages stay in 16 bits, the optimizer's state in 32. make_trace
// counts the casts, memory_per_rank the copies. Sources: NVIDIA/TransformerEngine d0067d0d, docs/features/
// low_precision_training/introduction (which ops; two copies of every operand, since Hopper multiplies 8-bit
// operands in one layout only; weights stored in high precision and cast before the product);
// docs/examples/advanced_optimizations (weights are cast once per step).

#include "workload/layer.hpp"
#include "workload/trace.hpp"

#include <vector>

namespace trainyard {

/// Whether the products of a layer run in 8 bits in a step of fp8. In a list of layers a block is one of a
/// transformer if it has attention.
bool runs_in_8_bits(const Layer& layer);

/// Whether a norm writes its values in 8 bits, so that the products after it need no cast of their input:
/// Transformer Engine's LayerNormLinear.
bool casts_output(LayerKind kind);

/// The weights of all layers that run in 8 bits.
double weights_in_8_bits(const std::vector<Layer>& layers);

/// Bytes of the two 8-bit copies of a value.
inline constexpr Bytes two_casts{2};

/// Bytes of the values that a layer keeps of one sample for backward, without saved_fixed: in the type of the
/// activations, the input of a layer in 8 bits in one byte each.
Bytes saved_values(const Layer& layer, Precision precision);

/// The sum over all layers, with saved_fixed.
Bytes saved_activations(const std::vector<Layer>& layers, Precision precision);

/// Throws InputError if no layer of a model would run in 8 bits.
void require_8_bits(const std::vector<Layer>& layers);

}  // namespace trainyard
