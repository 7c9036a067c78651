#pragma once
// A profile's step compared with simulations of it, op by op: its own durations replayed, kernel times
// computed from the operands, and a model's step (`validate-trace`).

#include "document/document.hpp"
#include "imports/profile_trace.hpp"
#include "run/run.hpp"

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
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

}  // namespace trainyard
