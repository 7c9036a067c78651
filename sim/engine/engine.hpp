#pragma once
// Replays a task graph on a network: the discrete-event engine. README.md in this folder says how it uses
// SimGrid and which errors were measured.

#include "config/diagnostic.hpp"
#include "config/keys.hpp"
#include "experiment/fidelity.hpp"
#include "schedule/task_graph.hpp"

#include <array>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace trainyard {

struct EngineOptions {
  Fidelity fidelity = Fidelity::flow;
  StepVariant variant = {};  ///< for fidelity `closed` alone
  /// Simulate one of each set of ranks proved identical, and undisturbed segments once. Results are the same
  /// to the bit, with segments to rounding; off only in tests.
  bool fold = true;
  /// In `flow`, take the closed form of collectives that turn out to have their links to themselves: the same
  /// results to rounding, without SimGrid. Off only in tests.
  bool formulas = true;
  /// Ranks whose compute ops and collectives go into the timeline.
  std::vector<Rank> recorded;
};

/// When an op of a recorded rank ran.
struct TaskSpan {
  Rank rank{};
  Stream stream{};
  int task = -1;  ///< index in the rank's program and stream: a Compute, a Join or a RunSegment
  Seconds start;
  Seconds end;
  Seconds begun = {};  ///< of a collective: when its last rank had arrived
  Seconds busy = {};   ///< the whole time of a kernel; for a segment the time of its kernels
};

/// The source of the times on the network: closed forms, SimGrid, or the solver for parameter servers.
enum class NetworkEngine { formulas, simgrid, fair_shares };

struct CollectiveSpan {
  Seconds first_arrival;
  Seconds start;  ///< when the last rank had arrived
  Seconds end;
};

struct RankSpan {
  Seconds compute;        ///< busy time of the compute stream
  Seconds communication;  ///< busy time of the communication stream, from the arrival of the last rank
  Seconds end;
};

/// The spans of all ranks, of which many are the same.
class RankSpans {
public:
  RankSpans() = default;
  /// One for each rank.
  RankSpans(std::vector<RankSpan> spans) : spans_(std::move(spans)) {}  // NOLINT(google-explicit-constructor)
  /// `which`: by rank, the index of its span.
  RankSpans(std::vector<RankSpan> spans, std::vector<int> which)
      : spans_(std::move(spans)), which_(std::move(which)) {}

  [[nodiscard]] std::size_t size() const { return which_.empty() ? spans_.size() : which_.size(); }
  [[nodiscard]] bool empty() const { return size() == 0; }
  [[nodiscard]] const RankSpan& operator[](std::size_t rank) const {
    return spans_[which_.empty() ? rank : at(which_[rank])];
  }
  [[nodiscard]] const RankSpan& front() const { return (*this)[0]; }

private:
  std::vector<RankSpan> spans_;
  std::vector<int> which_;  ///< empty: each rank has its own
};

/// For a job that repeats, and for collectives with several rounds in a step, ranks and collectives show the
/// first round.
struct Timeline {
  Seconds makespan;  ///< of job 0
  RankSpans ranks;
  std::vector<CollectiveSpan> collectives;
  std::vector<TaskSpan> spans;
  /// By segment: the tasks of its first run on a recorded rank, with dates from the segment's beginning.
  std::vector<std::vector<TaskSpan>> segments;
  /// By LinkId, until job 0 has ended; empty if the times of collectives were given. A collective of another
  /// job that is still running then counts as 0 in `closed`, otherwise with the bytes its flows have
  /// delivered.
  LinkValues<double> link_bytes;
  NetworkEngine network = NetworkEngine::formulas;
  std::uint64_t events = 0;
};

/// The program's own fault: a deadlock, a broken invariant. Exit code 70.
class EngineError : public std::logic_error {
  using std::logic_error::logic_error;
};

/// Replays the graph. One call per process for the fidelities that use SimGrid (its clock and settings are
/// global); `closed` may be called any number of times. Throws EngineError naming the waiting ranks and tasks
/// on a deadlock, JobImpossible if a failed link is the reason, and InputError if the fidelity does not
/// support the graph: link events in `closed`, patterns without edges in `messages`, a repeating job that
/// takes no time.
Timeline run(const TaskGraph& graph, const EngineOptions& options);

}  // namespace trainyard

namespace trainyard::config {

template <>
struct Names<NetworkEngine> {
  static constexpr std::string_view what = "network engine";
  static constexpr std::array table{
      Name{"formulas", NetworkEngine::formulas, "closed forms"},
      Name{"simgrid", NetworkEngine::simgrid, "flows on SimGrid"},
      Name{"fair_shares", NetworkEngine::fair_shares, "flows between workers and servers"}};
};

}  // namespace trainyard::config
