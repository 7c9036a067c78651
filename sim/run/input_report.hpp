#pragma once
// The input of a run that reads real data: how long GPUs wait for samples, and how busy cores and memory of
// hosts and their storage are, on average over the measured steps.

#include "experiment/data_loading.hpp"
#include "experiment/resolve.hpp"
#include "units/known.hpp"

#include <string>
#include <vector>

namespace trainyard {

/// Use of a part of the machine, as a share of the time or of a bandwidth.
struct Utilization {
  double share = 0;
  bool is_assumed = false;  ///< a figure behind it is assumed
};

/// Figures of a run that the report needs: averages over its measured steps.
struct InputUse {
  Seconds exposed;        ///< of a step, for which GPUs wait for samples
  double throughput = 0;  ///< samples per second
  double computing = 0;   ///< share of the time in which kernels run
};

/// Utilizations are those of the node with the most ranks.
struct InputReport {
  DataLoading loading;  ///< for the nodes with the most ranks
  bool is_prefetched = true;
  Seconds exposed;  ///< average time of a step for which GPUs wait for samples
  /// Cores that decode or sum gradients for servers or between nodes; ranks on processors: or run kernels.
  Known<Utilization> cpu = unknown({});
  Known<Utilization> host_memory = unknown({});  ///< traffic of samples and of these sums over the bandwidth
  Known<Utilization> storage = unknown({});      ///< relative to the storage's bandwidth
  Known<double> samples_per_s_and_node = unknown({});  ///< that can be prepared
};

InputReport input_report(const ResolvedExperiment& resolved, const DataLoading& loading, const InputUse& use);

/// The assumptions and sources of the report, for the reader.
std::vector<std::string> input_notes(const ResolvedExperiment& resolved, const InputReport& report);

/// How much the GPUs of a run differ, for a profile that says so.
std::string spread_note(const GpuProfile& gpu);

}  // namespace trainyard
