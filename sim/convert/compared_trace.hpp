#pragma once
// What the reports of `validate-trace` compare: parts of a profile's step and of simulated ones, ops, kinds
// of ops, collectives.

#include "convert/trace_validation.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace trainyard {

Seconds seconds_of_ns(std::int64_t ns);

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

/// b / a - 1; nothing if a is 0.
std::optional<double> change(Seconds a, Seconds b);

/// The first run of an op of the trace in a simulated step, whose micro-batches repeat the trace's; null if
/// the step has other ops.
const SimulatedOp* simulated_op(const TraceValidation& validation, const SimulatedStep& step, std::size_t op);

/// How often a step runs an op of the trace.
int runs_of_op(const TraceValidation& validation, const Op& op);

/// The time that was computed for an op; null if it keeps the profile's.
const SimulatedOp* computed_op(const TraceValidation& validation, std::size_t op);

/// When an op begins in the profile's step; nothing for gaps, and where one micro-batch stands for all.
std::optional<Seconds> start_in_profile(const TraceValidation& validation, std::size_t op);

/// An op whose time was computed.
struct PredictedOp {
  std::size_t op = 0;
  Seconds measured, predicted;
  ComputeSource source{};
};

std::vector<PredictedOp> predicted_ops(const TraceValidation& validation);

/// Ops of one pass and kind, over a step.
struct KindOfOps {
  Phase phase{};
  OpKind kind{};
  int ops = 0;
  Seconds measured, predicted;
};

/// Those whose times were computed, in the order of passes, the longest first.
std::vector<KindOfOps> predicted_kinds(const TraceValidation& validation,
                                       const std::vector<PredictedOp>& predicted);

/// All ops of the profile by pass and kind, and in `predicted` those of the model's step.
std::vector<KindOfOps> kinds_beside_model(const TraceValidation& validation);

struct OpTotals {
  int ops = 0;
  Seconds measured, predicted;
  double mean_error = 0;  ///< of the absolute errors, weighted by the profile's time
};

OpTotals totals_of(const TraceValidation& validation, const std::vector<PredictedOp>& predicted);

/// The profile's time of a step's kernels whose times are not computed.
OpTotals rest_of(const TraceValidation& validation);

/// The kernels of the trace's collectives in the profile's step.
SentCollectives profiled(const TraceValidation& validation, Operation operation);

/// Their transfer, if the profiles of all ranks say it.
std::optional<Seconds> transfer_of(const TraceValidation& validation, Operation operation);

}  // namespace trainyard
