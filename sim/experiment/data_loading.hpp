#pragma once
// How fast a node reads and decodes the samples of its ranks: limited by cores, storage and memory, of which
// parameter servers and threads that launch kernels on the same hosts use a part. The step waits for it.

#include "experiment/input_settings.hpp"
#include "experiment/resolved_experiment.hpp"
#include "platform/cluster.hpp"
#include "units/quantity.hpp"

#include <optional>
#include <string_view>

namespace trainyard {

/// The slowest part of the preparation of samples.
enum class InputLimit { cores, storage, memory, decoder, kernels };

/// "cores", "storage", "memory"; "decoder" is the GPUs' own, "kernels" are those that decode on GPUs.
std::string_view name_of(InputLimit limit);

/// Time per step for which other work on a host keeps all of its CPUs busy.
struct HostLoad {
  Seconds cores;
  Seconds memory;
};

/// The load of one core of each node that sums gradients for this time of a step. Nothing if the platform
/// does not say how many cores a node has.
HostLoad load_of_sums(const Platform& platform, Seconds sums);

/// Values for one node and one step of its ranks.
struct DataLoading {
  double samples = 0;
  int cores = 0;            ///< that decode; 0 if none does
  int cores_of_node = 0;    ///< 0: not known
  Seconds decode;           ///< time on these cores, including servers and sums of gradients on the node
  Seconds storage;          ///< nothing if the storage is not known
  Seconds memory;           ///< memory of the CPUs, including servers; nothing if not known
  Seconds decoder;          ///< decoder of a GPU
  Seconds kernels;          ///< that decode, of a GPU
  Seconds time;             ///< the longest of these times
  InputLimit limit{};       ///< the part with that time
  bool is_assumed = false;  ///< a figure behind that time is assumed
  Seconds busy;             ///< time of all the node's cores for decoding, summing gradients and launches
  Seconds busy_memory;      ///< time of all the CPUs' memory for samples and for summing gradients
  Seconds taken;            ///< by how much decoding delays a step: on the cores of ranks, in kernels
};

/// Whether this time of loading rests on an assumed figure of the platform, the model or the GPU.
bool is_assumed(const ResolvedExperiment& resolved, InputLimit limit);

/// Throws InputError if the experiment reads real data and its files lack necessary values, or asks for
/// something impossible.
void check_input(const ResolvedExperiment& resolved);

/// Loading on a node with this number of ranks, one of `nodes` that read at the same time; nothing with
/// synthetic data. All its cores except those used by `load` decode for all ranks, or `workers` for each; a
/// core decodes one sample at a time. Servers take precedence in the use of cores and memory: the step waits
/// for them, while the loader works in parallel. So do the ranks' launches (node_host.hpp).
std::optional<DataLoading> data_loading(const ResolvedExperiment& resolved, int ranks, int nodes,
                                        const HostLoad& load = {});

/// Loading of the whole job, on its nodes with the most ranks.
std::optional<DataLoading> data_loading(const ResolvedExperiment& resolved, const Cluster& cluster,
                                        const HostLoad& load = {});

/// Step time with input, given the time `step` without it: the longer of both times with a loader that
/// prefetches, otherwise their sum. Ranks on processors share their cores with the loader, GPUs their
/// multiprocessors with kernels that decode: a step takes longer by the time that all cores, or these
/// kernels, need for its samples. That no gap in a step takes such a kernel is assumed.
Seconds with_input(Seconds step, const std::optional<DataLoading>& input, const InputSettings& settings);

}  // namespace trainyard
