#pragma once
// From a model's layers to the trace of one training step: forward ops in order, backward ops in reverse
// order with the gradients they complete, one optimizer op. Described in docs/traces.md ("How a trace is
// made").

#include "workload/model.hpp"
#include "workload/trace.hpp"

namespace trainyard {

/// Bytes per value in memory.
struct ElementSizes {
  Bytes activation;          ///< also its gradient
  Bytes compute_weight;      ///< weights read by matrix ops
  Bytes parameter;           ///< weights kept by the optimizer, and each value of its state
  Bytes gradient;            ///< gradients read by the optimizer
  bool casts = false;        ///< weights are cast for matrix ops and their gradients cast back (autocast)
  bool writes_copy = false;  ///< the optimizer also writes the weights in the compute type (master weights)
};

/// fp32, tf32: 4 bytes throughout. fp16, bf16: 2-byte activations, weights and gradients, 4-byte master
/// weights and optimizer state. fp8, mxfp8, nvfp4: as bf16; narrow_values() says the bytes of operands. amp,
/// amp_bf16: 2-byte activations and casted weights, 4-byte parameters and gradients. pure_bf16: 2 bytes
/// throughout: torch.optim makes its state of the parameters' type (PyTorch torch/optim/adam.py, zeros_like).
ElementSizes element_sizes(Precision precision);

/// Bytes moved by the optimizer per parameter. In one pass, sgd reads w, g and writes w; momentum also reads
/// and writes one state value, adam two (m, v). lars makes two: the norms of each tensor's weights and
/// gradients (reads w, g; You et al. 2017, arXiv 1708.03888, algorithm 1), then momentum's. lamb makes five
/// passes: the norm of all gradients (reads g), of each tensor (w), stage 1 (reads g, w, m, v; writes m, v
/// and the update), the norm of each update, stage 2 (reads the update and w, writes w). Source: NVIDIA apex,
/// csrc/multi_tensor_lamb.cu (multi_tensor_lamb_cuda) and apex/optimizers/fused_lamb.py.
Bytes optimizer_bytes_per_parameter(Optimizer optimizer, Precision precision);

/// The trace of one step. Gradients become ready in exactly the reverse of registration order, as PyTorch's
/// reducer expects: within a layer the bias before the weight. No durations and no communication yet. In fp8,
/// mxfp8 and nvfp4, casts LAYER.cast come before the products of a layer in forward and backward, and the op
/// weights.cast once per step after the optimizer (eight_bits.hpp). Throws InputError if batch_per_gpu < 1,
/// or so large that a matrix product has 2^31 rows.
Trace make_trace(const Model& model, int batch_per_gpu, Precision precision, Optimizer optimizer);

/// Whether the casts of a step in forward are of a layer's input, to 8 bits. Others are of its weights: they
/// come before the input is there.
constexpr bool casts_inputs(Precision precision) { return is_narrow(precision); }

/// Whether an op that make_trace made for a layer casts weights or their gradients, scales them
/// (LAYER.normalise), or casts operands to 8 bits. The layer's other ops of matrix work compute its output or
/// a gradient.
bool is_cast(const Op& op, const Layer& layer);

}  // namespace trainyard
