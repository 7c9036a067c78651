#include "run/input_report.hpp"

#include "units/text.hpp"

#include <fmt/format.h>

namespace trainyard {

namespace {

template <class T>
std::string assumed_text(const Sourced<T>& figure) {
  return figure.is_assumed() ? " (assumed)" : "";
}

std::string decode_note(const ResolvedExperiment& resolved) {
  const SampleInput& sample = *resolved.model->input;
  if (decodes_on_gpu(resolved.settings.input)) {
    const Sourced<Seconds>& decoder = *resolved.gpu.image_decoder;
    return fmt::format("input: the hardware decoder of a GPU takes {} per sample{}, in parallel with kernels",
                       human(decoder.value), assumed_text(decoder));
  }
  if (!sample.decode) return "input: samples are read but not decoded";
  return fmt::format("input: a core takes {} to decode a sample{}", human(sample.decode->value),
                     assumed_text(*sample.decode));
}

}  // namespace

InputReport input_report(const ResolvedExperiment& resolved, const DataLoading& loading, Seconds exposed,
                         double throughput) {
  InputReport report;
  report.loading = loading;
  report.is_prefetched = is_prefetched(resolved.settings.input);
  report.exposed = exposed;
  const double samples_of_step = static_cast<double>(resolved.settings.batch_per_gpu) *
                                 resolved.settings.accumulation * resolved.cluster->ranks();
  const double steps_per_second = throughput / samples_of_step;
  report.cpu_utilization = unknown("CPUs decode nothing, and their other work is not modelled");
  if (resolved.platform.ranks_on_processors)
    report.cpu_utilization = unknown("the same cores run kernels");
  else if (loading.cores > 0)
    report.cpu_utilization = loading.busy.si() * steps_per_second;
  report.storage_utilization = unknown("the platform does not state its storage (node.storage)");
  if (loading.storage > Seconds{}) report.storage_utilization = loading.storage.si() * steps_per_second;
  report.samples_per_s_and_node = unknown("no limit of the input is known");
  if (loading.time > Seconds{}) report.samples_per_s_and_node = loading.samples / loading.time.si();
  return report;
}

std::vector<std::string> input_notes(const ResolvedExperiment& resolved, const InputReport& report) {
  std::vector<std::string> notes;
  if (!report.storage_utilization)
    notes.emplace_back("input: the platform does not state its storage, so reading takes no time");
  notes.push_back(decode_note(resolved));
  return notes;
}

std::string spread_note(const GpuProfile& gpu) {
  std::vector<std::string> parts;
  const auto add = [&](const char* between, const std::optional<Sourced<double>>& deviation) {
    if (!deviation) return;
    parts.push_back(
        fmt::format("by {:.3g} % between {}{}", 100 * deviation->value, between, assumed_text(*deviation)));
  };
  const GpuVariation& variation = gpu.variation.value();
  add("GPUs", variation.gpu);
  add("steps", variation.step);
  return fmt::format("{}: times vary {} (standard deviation)", gpu.name, fmt::join(parts, " and "));
}

}  // namespace trainyard
