#pragma once
// How fast a node reads and decodes the samples of its ranks: cores, storage, memory, and what parameter
// servers on the same hosts leave of them. The study lets a step wait for it.

#include "experiment/input_settings.hpp"
#include "experiment/resolve.hpp"
#include "platform/cluster.hpp"
#include "units/quantity.hpp"

#include <optional>
#include <string_view>

namespace trainyard {

/// What makes samples ready last.
enum class InputLimit { cores, storage, memory, decoder };

/// "cores", "storage", "memory"; "decoder" is that of the GPUs.
std::string_view name_of(InputLimit limit);

/// How long what else runs on a host keeps all of its CPUs busy, for each step.
struct HostLoad {
  Seconds cores;
  Seconds memory;
};

/// Of one node and a step of the ranks on it.
struct InputPipeline {
  double samples = 0;
  int cores = 0;          ///< that decode; 0 where none does
  int cores_of_node = 0;  ///< 0: not known
  Seconds decode;         ///< of these cores, with what servers take of the node's
  Seconds storage;        ///< nothing where the storage is not known
  Seconds memory;         ///< of the CPUs, with what servers take; nothing where it is not known
  Seconds decoder;        ///< of a GPU
  Seconds time;           ///< the longest of these
  InputLimit limit{};     ///< which that is
  Seconds busy;           ///< of all the node's cores, decoding and adding up
};

/// Throws InputError where the experiment reads real data and its files do not say enough, or what it asks
/// for cannot be.
void check_input(const ResolvedExperiment& resolved);

/// Of a node with `ranks` of them, one of `nodes` that read at the same time; nothing with synthetic data.
/// All its cores but what `load` takes decode for all ranks, or `workers` for each; a core decodes one sample
/// at a time. Cores and memory that servers use come first: they are on the way of the step, the loader is
/// beside it.
std::optional<InputPipeline> input_pipeline(const ResolvedExperiment& resolved, int ranks, int nodes,
                                            const HostLoad& load = {});

/// Of the whole job: its nodes with the most ranks.
std::optional<InputPipeline> input_pipeline(const ResolvedExperiment& resolved, const Cluster& cluster,
                                            const HostLoad& load = {});

/// How long a step takes that would take `step` if samples were always there: with a loader that prefetches
/// the longer of both, otherwise both together.
Seconds with_input(Seconds step, const std::optional<InputPipeline>& input, const InputSettings& settings);

}  // namespace trainyard
