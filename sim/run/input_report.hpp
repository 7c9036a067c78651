#pragma once
// What a result says of its input: how long GPUs wait for samples, and how busy that keeps hosts.

#include "experiment/input_pipeline.hpp"
#include "experiment/setup.hpp"
#include "run/result.hpp"

#include <string>

namespace trainyard {

/// `exposed`: of a step, in which GPUs wait for samples. The result has its throughput.
void add_input(const Inputs& inputs, const InputPipeline& pipeline, Seconds exposed, Result& result);

/// The same of a run of many updates, whose workers have been waiting; nothing with synthetic data.
void describe_input(const Inputs& inputs, const HostLoad& load, Result& result);

/// How much the GPUs of a run differ, of a profile that says so.
std::string spread_note(const GpuProfile& gpu);

}  // namespace trainyard
