#pragma once
// A run repeated message by message on SimGrid: what `run --verify` does, and how far the two may differ.

#include "config/catalogue.hpp"
#include "experiment/resolve.hpp"
#include "schedule/task_graph.hpp"
#include "units/known.hpp"
#include "units/quantity.hpp"

#include <string>
#include <vector>

namespace trainyard {

/// Jobs up to here are repeated as a whole: some 20 to 60 s of CPU at the limits (0.5 to 1 million messages a
/// second on 64 ranks, 0.07 million on 256).
inline constexpr int most_verified_ranks = 256;
inline constexpr int many_verified_ranks = 64;
inline constexpr double most_messages = 20e6;
inline constexpr double most_messages_of_many_ranks = 4e6;  ///< above many_verified_ranks
inline constexpr double most_messages_at_once = 16'384;  ///< of a collective, such as all to all on 128 ranks
/// Between workers and servers, where every flow changes the rates of many: up to 70 us of CPU each.
inline constexpr double most_server_messages = 1e6;
/// Steps of workers with servers, warm-up and measured: where nobody waits, rounding errors grow some five
/// times from step to step, as they change who comes first.
inline constexpr int verified_warmup = 2, verified_steps = 6;

/// How far a run and its messages may be apart, as parts of the step: the first two. The others are parts of
/// the time in collectives, which cannot add more to a step. sim/engine/README.md has the sources.
inline constexpr double rounding_limit = 1e-9;
inline constexpr double server_limit = 1e-6;
inline constexpr double sharing_limit = 0.12;
inline constexpr double uneven_limit = 0.43;

/// Both simulations of a job, or of a part of it. Differences are parts of the step time by messages.
struct Verification {
  Overrides part = {};  ///< keys that make the job smaller; empty: it was simulated whole
  int nodes = 0, ranks = 0;
  double messages = 0;
  Seconds step_time;              ///< as the run simulates it
  Seconds step_time_by_messages;  ///< on SimGrid
  /// The largest difference of the step time, of the end of a collective, and of the end of a rank that is
  /// later by messages; with servers of the time of an update and of how long a worker communicates.
  double difference = 0;
  std::string where;  ///< "end of bucket 3"
  /// By how much a rank ends earlier by messages, at most: it leaves a tree once its own messages have
  /// arrived, in `flow` with all others.
  double early_rank = 0;
  std::vector<std::string> causes;  ///< why the two may differ by more than rounding; empty: they may not
  double limit = 0;

  [[nodiscard]] bool is_within() const { return difference <= limit; }
};

/// Whether edges of a pattern that all send at once get different rates. `capacities`: of the links.
bool shares_links_unevenly(const Pattern& pattern, const LinkValues<Bandwidth>& capacities);

/// The algorithms of a step whose rounds wait for their slowest edge in `flow`, but not message by message.
std::vector<std::string> uneven_algorithms(const TaskGraph& graph);

/// Simulates `resolved`, or the largest part of it within the limits above, in fidelities `flow` and
/// `messages`, each in a child process: before this process has simulated anything. `experiment` and
/// `overrides` (without totals) are the source of `resolved`, `files` the files read for it. Faults, the job
/// around the steps and learning are left out, since they change no step. Unknown, with the reason, if
/// nothing is sent or no part fits. Throws as simulate().
Known<Verification> verify(const config::Catalogue& catalogue, const std::string& experiment,
                           const Overrides& overrides, const ResolvedExperiment& resolved, InputFiles& files);

}  // namespace trainyard
