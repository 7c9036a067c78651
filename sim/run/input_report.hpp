#pragma once
// The input of a run that reads real data: how long GPUs wait for samples, and how busy that keeps hosts.

#include "experiment/input_pipeline.hpp"
#include "experiment/resolve.hpp"
#include "units/known.hpp"

#include <string>
#include <vector>

namespace trainyard {

struct InputReport {
  InputPipeline pipeline;  ///< of the nodes with the most ranks
  bool is_prefetched = true;
  Seconds exposed;                                     ///< of a step, on average: GPUs wait for samples
  Known<double> cpu_utilization = unknown({});         ///< of a node's cores, decoding and adding up
  Known<double> storage_utilization = unknown({});     ///< of what it lets through
  Known<double> samples_per_s_and_node = unknown({});  ///< that can be made ready
};

/// `exposed`: of a step, in which GPUs wait for samples; `throughput`: samples per second of the run.
InputReport input_report(const ResolvedExperiment& resolved, const InputPipeline& pipeline, Seconds exposed,
                         double throughput);

/// What the report rests on, for the reader.
std::vector<std::string> input_notes(const ResolvedExperiment& resolved, const InputReport& report);

/// How much the GPUs of a run differ, for a profile that says so.
std::string spread_note(const GpuProfile& gpu);

}  // namespace trainyard
