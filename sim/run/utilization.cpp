#include "run/utilization.hpp"

#include <cstddef>

namespace trainyard {

namespace {

/// Or decodes in kernels at one.
bool waits_at_assumed_rate(const Run& run) {
  const bool is_for_network = run.links.is_assumed && exposed_communication(run) > Seconds{};
  const bool decodes_in_kernels = run.input && run.input->loading.kernels > Seconds{};
  if (decodes_in_kernels && is_assumed(run.experiment, InputLimit::kernels)) return true;
  return is_for_network || (run.input && run.input->loading.is_assumed && run.input->exposed > Seconds{});
}

Known<Utilization> of_host(const Run& run, Known<Utilization> InputReport::*part) {
  if (!run.input) return unknown("input is synthetic: no samples are read and decoded");
  return *run.input.*part;
}

}  // namespace

std::string_view name_of(Resource resource) {
  static constexpr std::array<std::string_view, all_resources.size()> names{
      "GPUs", "CPU cores", "host memory", "storage", "network"};
  return names.at(static_cast<std::size_t>(resource));
}

Known<Utilization> utilization(const Run& run, Resource resource) {
  switch (resource) {
    case Resource::gpu:
      return Utilization{run.gpu_utilization, waits_at_assumed_rate(run)};
    case Resource::cpu: {
      Known<Utilization> use = of_host(run, &InputReport::cpu);
      // The cores of ranks on processors run the kernels, too.
      if (use && run.experiment.platform.ranks_on_processors) use->is_assumed |= waits_at_assumed_rate(run);
      return use;
    }
    case Resource::host_memory:
      return of_host(run, &InputReport::host_memory);
    case Resource::storage:
      return of_host(run, &InputReport::storage);
    case Resource::network:
      break;
  }
  return Utilization{run.links.mean, run.links.is_assumed};
}

}  // namespace trainyard
