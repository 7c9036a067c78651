#include "run/input_report.hpp"

#include "units/text.hpp"

#include <fmt/format.h>

namespace trainyard {

namespace {

template <class T>
std::string assumed_text(const Sourced<T>& figure) {
  return figure.provenance == Provenance::assumed ? " (assumed)" : "";
}

std::string decode_note(const Inputs& inputs) {
  const SampleInput& sample = *inputs.model->input;
  if (decodes_on_gpu(inputs.experiment.input)) {
    const Sourced<Seconds>& decoder = *inputs.gpu.image_decoder;
    return fmt::format("input: the hardware decoder of a GPU takes {} for a sample{}, beside the kernels",
                       human(decoder.value), assumed_text(decoder));
  }
  if (!sample.decode) return "input: samples are read, there is nothing to decode";
  return fmt::format("input: a core takes {} to decode a sample{}", human(sample.decode->value),
                     assumed_text(*sample.decode));
}

}  // namespace

void add_input(const Inputs& inputs, const InputPipeline& pipeline, Seconds exposed, Result& result) {
  InputReport report;
  report.pipeline = pipeline;
  report.is_prefetched = is_prefetched(inputs.experiment.input);
  report.exposed = exposed;
  const double samples_of_step =
      static_cast<double>(inputs.experiment.batch_per_gpu) * inputs.experiment.accumulation * result.ranks;
  const double steps_per_second = result.throughput / samples_of_step;
  if (pipeline.cores > 0) {
    report.cpu_utilization = pipeline.busy.si() * steps_per_second;
  } else {
    leave_out(result, {"cpu_utilization"}, "CPUs decode nothing, and what else they do is not modelled");
  }
  if (pipeline.storage > Seconds{}) {
    report.storage_utilization = pipeline.storage.si() * steps_per_second;
  } else {
    leave_out(result, {"storage_utilization"}, "the platform does not state its storage (node.storage)");
    result.notes.emplace_back("input: the platform does not state its storage, so reading takes no time");
  }
  if (pipeline.time <= Seconds{})
    leave_out(result, {"input_limit", "input_samples_per_s_and_node"}, "nothing is known to limit the input");
  result.notes.push_back(decode_note(inputs));
  result.input = report;
}

void describe_input(const Inputs& inputs, const HostLoad& load, Result& result) {
  const std::optional<InputPipeline> pipeline = input_pipeline(inputs, cluster_of(inputs), load);
  if (!pipeline) return;
  const TrainingReport& training = *result.training;
  Seconds loading;
  for (const WorkerRow& worker : training.workers) loading += worker.loading;
  const double steps = static_cast<double>(training.updates) * training.gradients_per_update *
                       training.settings.push_every * training.ranks_per_worker;
  add_input(inputs, *pipeline, loading / steps, result);
}

std::string spread_note(const GpuProfile& gpu) {
  const auto part = [](const char* of, const std::optional<Sourced<double>>& deviation) {
    if (!deviation) return std::string();
    return fmt::format(" {} by {:.3g} %{}", of, 100 * deviation->value, assumed_text(*deviation));
  };
  const GpuVariation& variation = gpu.variation.value();
  return fmt::format("{}: times vary{}{} (standard deviation)", gpu.name, part("GPU to GPU", variation.gpu),
                     part("step to step", variation.step));
}

}  // namespace trainyard
