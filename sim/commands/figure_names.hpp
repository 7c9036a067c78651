#pragma once
// The names by which the command line takes figures of summary.json: --assert and --fail-above.

#include <array>
#include <string_view>

namespace trainyard {

struct ShortName {
  std::string_view name;  ///< "step" for step_time_s
  std::string_view field;
  bool is_worse_if_lower = false;
};

/// Figures that say whether a change is for the worse.
inline constexpr std::array short_names{ShortName{"step", "step_time_s"},
                                        ShortName{"memory", "memory_peak_bytes"},
                                        ShortName{"throughput", "throughput_samples_per_s", true},
                                        ShortName{"efficiency", "scaling_efficiency", true},
                                        ShortName{"communication", "exposed_communication_s"},
                                        ShortName{"epoch", "epoch_time_s"},
                                        ShortName{"energy", "energy_per_step_j"},
                                        ShortName{"cost", "cost_per_epoch_usd"},
                                        ShortName{"job_time", "job_time_s"},
                                        ShortName{"job_energy", "job_energy_j"},
                                        ShortName{"job_cost", "job_cost_usd"}};

/// "step_time" for step_time_s.
std::string_view without_unit(std::string_view field);

/// Whether `name` is the field, the field without its unit, or its short name.
bool is_name_of(std::string_view name, std::string_view field);

}  // namespace trainyard
