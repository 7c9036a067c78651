#pragma once
// The cost of decoding a sample: time of a core, of a hardware decoder and of the kernels of a GPU, by the
// loader and the place of decoding. Part of data loading (data_loading.hpp).

#include "experiment/resolved_experiment.hpp"
#include "units/quantity.hpp"
#include "units/sourced.hpp"

namespace trainyard {

/// The cost of one sample; null where there is no such part.
struct DecodingCost {
  const Sourced<Seconds>* core = nullptr;        ///< time of one CPU core
  const Sourced<Seconds>* decoder = nullptr;     ///< time of a GPU's hardware decoder
  const Sourced<Bytes>* coefficients = nullptr;  ///< that the core writes, for kernels on a GPU
  const Sourced<Bytes>* kernels = nullptr;       ///< memory traffic of kernels on its GPU
};

/// Whether Huffman codes are decoded by CPUs and the rest by kernels of GPUs, as nvJPEG does without a
/// hardware decoder.
bool is_hybrid(const ResolvedExperiment& resolved);

/// The cost for a job that reads real data and has passed check_decoding().
DecodingCost decoding_cost(const ResolvedExperiment& resolved);

/// Time of the kernels that decode the samples of one GPU and step, on an otherwise idle GPU: each
/// micro-batch is one element-wise kernel with their memory traffic. Nothing without such kernels.
Seconds decoding_kernels(const ResolvedExperiment& resolved);

/// Throws InputError if samples are decoded in a way that this model, loader or GPU does not have.
void check_decoding(const ResolvedExperiment& resolved);

}  // namespace trainyard
