#include "report/unmodelled.hpp"

#include <array>
#include <utility>

namespace trainyard {

namespace {

constexpr const char* no_memory = "memory is not modelled";
constexpr const char* no_energy = "energy is not modelled";
constexpr const char* no_host = "the host and its input pipeline are not modelled";
constexpr const char* same_for_all =
    "every rank applies every update and nothing fails, so there is nothing to tell apart";

/// Fields that no result of this version has.
constexpr std::array<std::pair<const char*, const char*>, 14> never{{
    {"memory_peak_bytes", no_memory},
    {"memory_capacity_bytes", no_memory},
    {"memory_utilization", no_memory},
    {"energy_per_step_j", no_energy},
    {"average_power_w", no_energy},
    {"cost_per_epoch_usd", "cost is not modelled"},
    {"throughput_tokens_per_s", "the model does not read sequences"},
    {"cpu_utilization", no_host},
    {"storage_utilization", no_host},
    {"updates_per_s", same_for_all},
    {"staleness_mean", same_for_all},
    {"staleness_max", same_for_all},
    {"wasted_compute_s", same_for_all},
    {"goodput_samples_per_s", same_for_all},
}};

}  // namespace

std::map<std::string, std::string> unmodelled(const Result& result) {
  std::map<std::string, std::string> reasons(never.begin(), never.end());
  if (!result.epoch_time) reasons["epoch_time_s"] = "the model does not state the samples of an epoch";
  if (!result.model_flops_utilization) {
    reasons["model_flops_utilization"] = "the GPU profile does not state a peak for this precision";
  }
  if (result.busiest_link.empty()) reasons["busiest_link"] = "nothing was sent";
  for (const auto& [field, reason] : result.unmodelled) reasons[field] = reason;
  return reasons;
}

}  // namespace trainyard
