#pragma once
// Replays a task graph on a network: the discrete-event engine. Everything before this is values; everything
// after reads the Timeline. README.md in this folder says how it uses SimGrid and what was measured.

#include "config/keys.hpp"
#include "schedule/task_graph.hpp"

#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace trainyard {

/// How exactly collectives are simulated; cheapest first.
enum class Fidelity {
  closed,  ///< every collective takes its closed-form time, as if it had the network for itself
  flow,    ///< 16 macro rounds sharing links with everything else; the default
  rounds,  ///< every round, all edges of a round in lock-step
  steps,   ///< every message; the reference
};

struct EngineOptions {
  Fidelity fidelity = Fidelity::flow;
  int flow_rounds = 16;
  /// Simulate one of each set of ranks proved identical. Same bits as without; off only in tests.
  bool fold = true;
  /// Ranks whose compute ops and collectives are written into the timeline.
  std::vector<Rank> recorded;
};

/// When an op of a recorded rank ran.
struct TaskSpan {
  Rank rank{};
  Stream stream{};
  int task = -1;  ///< index in the rank's program and stream: a Compute or a Join
  Seconds start;
  Seconds end;
};

struct CollectiveSpan {
  Seconds first_arrival;
  Seconds start;  ///< when the last rank had arrived
  Seconds end;
};

struct RankSpan {
  Seconds compute;        ///< busy time of the compute stream
  Seconds communication;  ///< busy time of the communication stream, from arrival of the last rank
  Seconds end;
};

struct Timeline {
  Seconds makespan;
  std::vector<RankSpan> ranks;
  std::vector<CollectiveSpan> collectives;
  std::vector<TaskSpan> spans;
  std::vector<double> link_bytes;  ///< by LinkId
  std::uint64_t events = 0;
};

/// The program's own fault: a deadlock, a broken invariant. Exit code 70.
class EngineError : public std::logic_error {
  using std::logic_error::logic_error;
};

/// Replays the graph. One call per process for the fidelities that use SimGrid (its clock and settings are
/// global); `closed` may be called any number of times. Throws EngineError naming the waiting ranks and tasks
/// on a deadlock.
Timeline run(const TaskGraph& graph, const EngineOptions& options);

}  // namespace trainyard

template <>
struct trainyard::config::Names<trainyard::Fidelity> {
  static constexpr std::string_view what = "fidelity";
  static constexpr std::array table{
      Name{"closed", Fidelity::closed, "the formula: every collective alone on the network"},
      Name{"flow", Fidelity::flow, "16 macro rounds per collective, sharing links with everything else"},
      Name{"rounds", Fidelity::rounds, "every round, its edges in lock-step"},
      Name{"steps", Fidelity::steps, "every message: the slow reference"}};
};
