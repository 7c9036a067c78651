#pragma once
// Training in 8 bits (precisions fp8 and mxfp8) or 4 (nvfp4), as NVIDIA's Transformer Engine does it: the
// products of the linear layers of transformer blocks have 8-bit operands and 16-bit results; attention,
// routers, the last projection, all other ops, gradients and messages stay in 16 bits, the optimizer's state
// in 32. make_trace counts the casts, memory_per_rank the copies. Sources: NVIDIA/TransformerEngine d0067d0d,
// docs/features/low_precision_training/introduction (which ops; two copies of every operand, since Hopper
// multiplies 8-bit operands in one layout only, and blocks run along the summed dimension; weights stored in
// high precision and cast before the product); docs/examples/advanced_optimizations (weights are cast once
// per step).

#include "workload/layer.hpp"
#include "workload/trace.hpp"

#include <vector>

namespace trainyard {

/// How values in less than 16 bits are stored and made.
struct NarrowValues {
  Bytes each;                   ///< of one copy of a value, with its part of the scales; 0: there are none
  double reads = 1;             ///< of an input or a gradient in 16 bits, to write both copies
  double of_weights = 1;        ///< likewise, of weights
  bool is_always_cast = false;  ///< norms do not write them
};

/// fp8: one byte, as one scale of a tensor weighs nothing. mxfp8: a scale of 8 bits for 32 values. nvfp4:
/// half a byte and a scale of 8 bits for 16 values; a kernel finds the largest value of the tensor, also
/// after a random Hadamard transform, one writes the rows and one the transformed columns; weights are not
/// transformed. Source: OCP Microscaling Formats 1.0, table 1; NVIDIA 2025, Pretraining Large Language Models
/// with NVFP4, arXiv 2509.25149, section 3; NVIDIA/TransformerEngine, transformer_engine/pytorch/csrc/
/// quantizer.cpp, NVFP4Quantizer::quantize_impl.
NarrowValues narrow_values(Precision precision);

/// Whether the products of a layer run in 8 bits in a step of fp8, or in 4 in one of nvfp4. In a list of
/// layers a block is one of a transformer if it has attention.
bool runs_in_8_bits(const Layer& layer);

/// Whether a norm writes its values in 8 bits, so that the products after it need no cast of their input:
/// Transformer Engine's LayerNormLinear.
bool casts_output(LayerKind kind);

/// The weights of all layers that run in 8 bits.
double weights_in_8_bits(const std::vector<Layer>& layers);

/// Bytes of the values that a layer keeps of one sample for backward, without saved_fixed: in the type of the
/// activations, the input of a layer in 8 bits in one byte each, with
/// the scales of its blocks.
Bytes saved_values(const Layer& layer, Precision precision);

/// The sum over all layers, with saved_fixed.
Bytes saved_activations(const std::vector<Layer>& layers, Precision precision);

/// Throws InputError if no layer of a model would run in 8 bits.
void require_8_bits(const std::vector<Layer>& layers);

}  // namespace trainyard
