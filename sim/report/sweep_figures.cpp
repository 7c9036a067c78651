#include "report/sweep_figures.hpp"

#include "report/summary_json.hpp"

#include <array>
#include <nlohmann/json.hpp>

namespace trainyard {
namespace {

constexpr const char* rent = "rent_usd_per_h";

constexpr std::array figure_names{"ranks",
                                  "nodes",
                                  "global_batch",
                                  "step_time_s",
                                  "throughput_samples_per_s",
                                  "throughput_tokens_per_s",
                                  "speedup",
                                  "scaling_efficiency",
                                  "communication_overhead_s",
                                  "compute_time_s",
                                  "communication_time_s",
                                  "exposed_communication_s",
                                  "exposed_input_s",
                                  "one_rank_step_time_s",
                                  "lower_bound_s",
                                  "gpu_utilization",
                                  "network_utilization",
                                  "link_utilization_max",
                                  "cpu_utilization",
                                  "storage_utilization",
                                  "achieved_flops_per_gpu",
                                  "model_flops_utilization",
                                  "memory_peak_bytes",
                                  "memory_utilization",
                                  "energy_per_step_j",
                                  "average_power_w",
                                  rent,
                                  "epoch_time_s",
                                  "cost_per_epoch_usd",
                                  "updates_per_s",
                                  "staleness_mean",
                                  "staleness_max",
                                  "wasted_compute_s",
                                  "goodput_samples_per_s"};

std::optional<double> rent_per_hour(const Inputs& inputs, const Result& result) {
  if (!inputs.platform.price_per_hour) return std::nullopt;
  return result.nodes * inputs.platform.price_per_hour->value.si();
}

}  // namespace

std::vector<std::string> sweep_figure_names() { return {figure_names.begin(), figure_names.end()}; }

std::vector<std::optional<double>> sweep_figures(const Inputs& inputs, const Result& result) {
  const nlohmann::ordered_json summary = figures_json(result);
  std::vector<std::optional<double>> figures;
  for (const std::string_view name : figure_names) {
    std::optional<double>& figure = figures.emplace_back();
    if (name == rent) figure = rent_per_hour(inputs, result);
    const auto field = summary.find(name);
    if (field != summary.end() && field->is_number()) figure = field->get<double>();
  }
  return figures;
}

}  // namespace trainyard
