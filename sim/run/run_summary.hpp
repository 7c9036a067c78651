#pragma once
// Of a run what `compare` needs, whether it comes from a summary.json or was simulated just now: figures with
// their units, the parts of the step time, and the experiment as it was resolved.

#include "run/step_parts.hpp"
#include "units/quantity.hpp"

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace trainyard {

enum class FigureUnit {
  time,
  samples_per_s,
  tokens_per_s,
  times,
  share,
  samples,
  gpus,
  bytes,
  flop_rate,
  energy,
  power,
  usd
};

/// A number of summary.json that two runs are compared by.
struct FigureField {
  std::string_view field;  ///< of summary.json
  std::string_view label;
  FigureUnit unit{};
};

inline constexpr std::array figure_fields{
    FigureField{"step_time_s", "step time", FigureUnit::time},
    FigureField{"throughput_samples_per_s", "throughput", FigureUnit::samples_per_s},
    FigureField{"throughput_tokens_per_s", "", FigureUnit::tokens_per_s},
    FigureField{"goodput_samples_per_s", "goodput", FigureUnit::samples_per_s},
    FigureField{"global_batch", "global batch", FigureUnit::samples},
    FigureField{"ranks", "ranks", FigureUnit::gpus},
    FigureField{"speedup", "speedup", FigureUnit::times},
    FigureField{"scaling_efficiency", "scaling efficiency", FigureUnit::share},
    FigureField{"one_rank_step_time_s", "one GPU alone", FigureUnit::time},
    FigureField{"communication_time_s", "communication", FigureUnit::time},
    FigureField{"exposed_communication_s", "exposed communication", FigureUnit::time},
    FigureField{"gpu_utilization", "GPUs computing", FigureUnit::share},
    FigureField{"link_utilization_max", "busiest link", FigureUnit::share},
    FigureField{"achieved_flops_per_gpu", "matrix FLOPs", FigureUnit::flop_rate},
    FigureField{"model_flops_utilization", "MFU", FigureUnit::share},
    FigureField{"memory_peak_bytes", "memory of a GPU", FigureUnit::bytes},
    FigureField{"energy_per_step_j", "energy of a step", FigureUnit::energy},
    FigureField{"average_power_w", "power", FigureUnit::power},
    FigureField{"epoch_time_s", "an epoch", FigureUnit::time},
    FigureField{"cost_per_epoch_usd", "cost of an epoch", FigureUnit::usd}};

/// A collective with what it exposed.
struct NamedExposure {
  std::string collective;  ///< "bucket 0"
  std::string operation;   ///< "all_reduce"
  Seconds exposed;
};

struct RunSummary {
  std::string experiment, platform, model, stack, precision, optimizer, fidelity;
  std::int64_t ranks = 0, nodes = 0, batch_per_gpu = 0, accumulation = 1;
  std::array<std::optional<double>, figure_fields.size()> figures;  ///< as figure_fields; none: not known
  std::vector<PartTime> parts;
  std::vector<NamedExposure> collectives;
  std::map<std::string, std::string>
      experiment_keys;  ///< path -> value, as experiment.resolved.yaml has them
};

/// The step time and the samples per second: always there.
Seconds step_time(const RunSummary& run);
double throughput(const RunSummary& run);

}  // namespace trainyard
