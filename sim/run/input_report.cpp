#include "run/input_report.hpp"

#include "experiment/decoding.hpp"
#include "units/text.hpp"

#include <algorithm>
#include <fmt/format.h>

namespace trainyard {

namespace {

template <class T>
std::string assumed_text(const Sourced<T>& figure) {
  return figure.is_assumed() ? " (assumed)" : "";
}

std::string decode_note(const ResolvedExperiment& resolved) {
  const DecodingCost cost = decoding_cost(resolved);
  std::string note;
  if (cost.decoder != nullptr) {
    note = fmt::format("input: the hardware decoder of a GPU takes {} per sample{}, in parallel with kernels",
                       human(cost.decoder->value), assumed_text(*cost.decoder));
  } else if (cost.core != nullptr) {
    note = fmt::format("input: a core takes {} to decode {}a sample{}", human(cost.core->value),
                       cost.kernels != nullptr ? "the Huffman codes of " : "", assumed_text(*cost.core));
  } else {
    return "input: samples are read but not decoded";
  }
  if (cost.kernels == nullptr) return note;
  return fmt::format("{}; kernels of its GPU move {} for it{} and delay the step", note,
                     human(cost.kernels->value), assumed_text(*cost.kernels));
}

}  // namespace

InputReport input_report(const ResolvedExperiment& resolved, const DataLoading& loading,
                         const InputUse& use) {
  InputReport report;
  report.loading = loading;
  report.is_prefetched = is_prefetched(resolved.settings.input);
  report.exposed = use.exposed;
  const double samples_of_step = static_cast<double>(resolved.settings.batch_per_gpu) *
                                 resolved.settings.accumulation * resolved.cluster->ranks();
  const double steps_per_second = use.throughput / samples_of_step;
  const auto of = [&](Seconds busy, InputLimit part) {
    return Utilization{busy.si() * steps_per_second, busy > Seconds{} && is_assumed(resolved, part)};
  };
  const Platform& platform = resolved.platform;
  report.cpu = unknown(fmt::format("{} states no cores (node.devices.cpu.cores)", platform.name));
  if (platform.cores_per_cpu && !platform.cpus.empty()) report.cpu = of(loading.busy, InputLimit::cores);
  // Kernels of ranks on processors run on the same cores; sums of servers are not taken from them.
  if (report.cpu && platform.ranks_on_processors)
    report.cpu->share = std::min(1.0, report.cpu->share + use.computing);
  report.host_memory = unknown(
      fmt::format("{} states no memory bandwidth (node.devices.cpu.memory_bandwidth)", platform.name));
  if (loading.busy_memory > Seconds{}) report.host_memory = of(loading.busy_memory, InputLimit::memory);
  report.storage = unknown(fmt::format("{} states no storage (node.storage)", platform.name));
  if (loading.storage > Seconds{}) report.storage = of(loading.storage, InputLimit::storage);
  report.samples_per_s_and_node = unknown("no limit of the input is known");
  if (loading.time > Seconds{}) report.samples_per_s_and_node = loading.samples / loading.time.si();
  return report;
}

std::vector<std::string> input_notes(const ResolvedExperiment& resolved, const InputReport& report) {
  std::vector<std::string> notes;
  if (!report.storage)
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
