#pragma once
// Replays a trace of one GPU on another: each op takes as long as recorded, times the ratio of what the two
// GPUs' profiles predict for it.

#include "compute/gpu_profile.hpp"
#include "experiment/input_files.hpp"
#include "experiment/resolved_experiment.hpp"

namespace trainyard {

/// The precision in which a GPU runs kernels that were recorded in another one: the 16-bit type that it has.
/// The precision itself if the GPU has its type, or neither.
Precision precision_on(const GpuProfile& gpu, Precision recorded);

/// What a GPU runs kernels with.
struct KernelSettings {
  const GpuProfile& gpu;
  Precision precision{};
  Layout layout{};
};

/// Predicted time of the op on one GPU over that on the other. The work is that of the op, or of its shape:
/// of values, those passes over them that its kind has, or a read and a write. Without either the op is as
/// large as the bytes that the recording GPU moves at its memory bandwidth (matrix ops: at their peak) in the
/// op's duration, and ops of kind `measured` count as element-wise. Throws InputError for ops that one of the
/// GPUs has no units for.
double time_ratio(const Op& op, const KernelSettings& recorded, const KernelSettings& on);

/// Scales the durations of one of the experiment's traces from the GPU that it names to the machine's;
/// `recorded` is the precision in which they were recorded. Kernels of the same GPU keep theirs. Adds a note,
/// and the kind of the model that the trace names.
/// Throws InputError if the trace names no GPU, or one without a profile, or has no duration.
void scale_trace(ResolvedExperiment& resolved, Trace& trace, Precision recorded,
                 const config::Catalogue& catalogue, InputFiles& files);

}  // namespace trainyard
