#pragma once
// The input of a run that reads real data: how long GPUs wait for samples, and how busy hosts and storage
// are.

#include "experiment/data_loading.hpp"
#include "experiment/resolve.hpp"
#include "units/known.hpp"

#include <string>
#include <vector>

namespace trainyard {

struct InputReport {
  DataLoading loading;  ///< for the nodes with the most ranks
  bool is_prefetched = true;
  Seconds exposed;                              ///< average time of a step for which GPUs wait for samples
  Known<double> cpu_utilization = unknown({});  ///< use of a node's cores for decoding and for summing
                                                ///< gradients
  Known<double> storage_utilization = unknown({});     ///< relative to the storage's bandwidth
  Known<double> samples_per_s_and_node = unknown({});  ///< that can be prepared
};

/// `exposed`: time of a step for which GPUs wait for samples; `throughput`: samples per second of the run.
InputReport input_report(const ResolvedExperiment& resolved, const DataLoading& loading, Seconds exposed,
                         double throughput);

/// The assumptions and sources of the report, for the reader.
std::vector<std::string> input_notes(const ResolvedExperiment& resolved, const InputReport& report);

/// How much the GPUs of a run differ, for a profile that says so.
std::string spread_note(const GpuProfile& gpu);

}  // namespace trainyard
