#pragma once
// The quantities that the forms of `validate-trace` compare: parts of a profile's step and of simulated ones,
// and tables of collectives, ops and kinds of ops.

#include "convert/trace_validation.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace trainyard {

/// A part of the step in the profile and in a simulation.
struct TracePart {
  std::string_view label, field;
  std::int64_t StepRows::*profile;  ///< null: a profile has no such part
  Seconds SimulatedStep::*simulated;
};

inline constexpr std::array trace_parts{
    TracePart{"computing", "computing_s", &StepRows::computing, &SimulatedStep::computing},
    TracePart{"exposed", "exposed_communication_s", &StepRows::exposed, &SimulatedStep::exposed},
    TracePart{"host copies", "host_copies_s", &StepRows::copying, &SimulatedStep::copying},
    TracePart{"idle", "idle_s", &StepRows::idle, &SimulatedStep::idle},
    TracePart{"other", "other_s", nullptr, &SimulatedStep::other},
    TracePart{"step", "time_s", &StepRows::period, &SimulatedStep::time}};

/// 0 for a part that a profile does not have.
Seconds of_profile(const TraceValidation& validation, const TracePart& part);

/// A simulation that is compared with the profile.
struct ComparedStep {
  std::string_view name;  ///< of its column and JSON field
  const SimulatedStep* step;
};

/// The replay, the prediction and, if there is one, the model.
std::vector<ComparedStep> compared_steps(const TraceValidation& validation);

/// Ops of a step, and the time that they take in it.
struct OpTotals {
  int ops = 0;
  Seconds measured = {}, predicted = {};
  double mean_error = 0;  ///< of the absolute errors, weighted by the profile's time
};

/// The ops whose times were computed (`computed`), or the kernels that keep the profile's times.
OpTotals totals_of(const TraceValidation& validation, bool computed);

/// Indices of the ops whose times were computed, those first that differ most from the profile's.
std::vector<std::size_t> predicted_ops(const TraceValidation& validation);

/// Tables whose rows JSON has, too; their keys are its fields.
doc::Table parts_table(const TraceValidation& validation);
doc::Table collectives_table(const TraceValidation& validation);
/// The ops whose times were computed, in the order of passes, the longest first.
doc::Table predicted_kinds_table(const TraceValidation& validation);
/// All ops of the profile, and of the model's step.
doc::Table model_kinds_table(const TraceValidation& validation);
doc::Table ops_table(const TraceValidation& validation, const std::vector<std::size_t>& ops);

}  // namespace trainyard
