#pragma once
// A profile's step compared with simulations of it, op by op: its own durations replayed, kernel times
// computed from the operands, and a model's step (`validate-trace`).

#include "document/document.hpp"
#include "imports/profile_trace.hpp"
#include "run/run.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace trainyard {

/// An op of a simulated step.
struct SimulatedOp {
  Phase phase{};
  OpKind kind{};
  Seconds duration;  ///< alone
  Seconds start;
  ComputeSource source{};
};

/// The collectives of one operation in a step.
struct SentCollectives {
  Operation operation{};
  int count = 0;
  Bytes size;  ///< in all
  Seconds time;
};

/// A simulated step; its parts, told apart as a profile's are, add up to it.
struct SimulatedStep {
  Seconds time;
  Seconds computing;  ///< kernels, including the time that concurrent communication costs them
  Seconds slowed;     ///< that time
  Seconds exposed;    ///< collectives while no kernel runs
  Seconds copying;    ///< a profile's copies from and to the host while neither runs
  Seconds other;      ///< the framework's work around collectives, samples
  Seconds idle;       ///< the rest
  std::vector<SimulatedOp> ops;
  std::vector<SentCollectives> collectives;  ///< by operation
};

/// The step of a run, as the rank that ends last saw it.
SimulatedStep simulated_step(const Run& run);

/// The experiment of the simulations.
struct ReplayMachine {
  std::string platform, gpu, stack;
  int ranks = 1, nodes = 1;
  Precision precision{};
  Layout layout{};
};

struct TraceValidation {
  std::vector<std::string> files;  ///< without folders
  ReplayMachine machine;
  ImportedTrace imported;
  std::string gpu;  ///< as the profile names it
  std::optional<int> rank = {}, ranks = {}, step = {};
  std::vector<bool> is_computed;  ///< of each op: `predicted` has its time from the profile of the GPU
  int of_other_type = 0;          ///< matrix ops that keep their time because of their type
  SimulatedStep replay;           ///< the profile's durations
  SimulatedStep predicted;        ///< computed durations where there are any
  /// Transfer of collectives by the name of their operation, from the profiles of all ranks; ns of a step.
  std::vector<std::pair<std::string, std::int64_t>> transfers = {};
  std::optional<Seconds> waiting = {};  ///< in the rank's collectives, for other ranks; from all profiles
  std::string model_name = {};
  std::optional<SimulatedStep> model = {};
};

/// The difference of a simulated step from the profile's, as a ratio of that.
double step_error(const TraceValidation& validation, const SimulatedStep& step);

/// The page, with the `most` ops whose computed times differ most from the profile's.
doc::Document trace_validation_document(const TraceValidation& validation, std::size_t most);

/// The comparison as JSON with every op; times in seconds.
nlohmann::ordered_json trace_validation_json(const TraceValidation& validation);

/// Every op of the trace: profile, replay, computed time.
std::string trace_validation_csv(const TraceValidation& validation);

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
