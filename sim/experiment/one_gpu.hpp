#pragma once
// A measured throughput of one GPU (key one_gpu): all kernel times of the experiment are multiplied by the
// factor with which one GPU alone is as fast.

#include "config/catalogue.hpp"
#include "experiment/resolve.hpp"
#include "units/known.hpp"

#include <string>

namespace trainyard {

/// Time of the experiment's step on one GPU: the same batch per GPU, without communication, with its samples
/// read. With parameter servers the optimizer runs on the servers.
Seconds one_rank_step(const ResolvedExperiment& resolved);

/// The measured throughput, in samples per second; unknown for tokens of a model without sequences. The
/// experiment has `one_gpu`.
Known<double> measured_on_one_gpu(const ResolvedExperiment& resolved);

/// Multiplies the kernel times by one_gpu_scale, solved first if the experiment does not state it, and adds a
/// note. Throws InputError if no factor reproduces one_gpu, or only an implausible one; it says which.
void scale_to_one_gpu(ResolvedExperiment& resolved);

/// "one GPU measured: 803 samples/s; kernels x 1.23"; empty without `one_gpu`.
std::string one_gpu_in_words(const Experiment& experiment);

/// Whether the experiment with these overrides has `one_gpu`. Reads its file only.
bool has_one_gpu(const config::Catalogue& catalogue, const std::string& experiment,
                 const Overrides& overrides, InputFiles& files);

/// The overrides with which a changed copy of `resolved` keeps its factor, in front of the changes: a
/// measurement is of the experiment as written. Empty without `one_gpu`.
Overrides kept_one_gpu(const ResolvedExperiment& resolved);

}  // namespace trainyard
