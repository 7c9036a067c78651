#pragma once
// The host of a rank in its program: a stream that launches kernels and collectives in the order in which the
// program gets them. steady_launches.hpp has the same rules for a series of steps on one GPU.

#include "schedule/program_writer.hpp"
#include "schedule/steady_launches.hpp"

#include <vector>

namespace trainyard {

/// Adds the work of the host to the program of `writer`; without a host only collectives. A part of a step's
/// launches is done before the step begins: the lead of steady_launches().
class LaunchProgram {
public:
  /// No host.
  explicit LaunchProgram(ProgramWriter& writer) : writer_(writer) {}

  /// `ops`: of the whole step, in the order in which they are written.
  LaunchProgram(std::vector<LaunchedOp> ops, const LaunchingHost& host, ProgramWriter& writer);

  /// The next op, number `op` of the trace, comes next on the compute stream, which waits for its launch.
  void before(int op);

  /// The op is on the compute stream.
  void after();

  /// The host launches a collective; the stream waits for that, then takes part.
  void join(Stream stream, const Join& collective);

  /// The host launches a kernel next to a collective, in the time of one.
  void launch(Stream stream, const Compute& kernel);

  /// The host waits for an event of this step, so that no later work of it is done before the step begins.
  void wait(int event);

  [[nodiscard]] bool has_host() const { return !ops_.empty(); }

private:
  /// The host launches something that a collective needs, or the collective; the stream waits for that.
  void launch_for(Stream stream, int collective);

  /// The host's work in this step, without its work before the step began.
  void add_work(const Compute& work);

  ProgramWriter& writer_;
  std::vector<LaunchedOp> ops_;
  LaunchingHost host_ = {};
  Seconds lead_ = {};                    ///< of the host: work of this step that it has done before
  std::vector<int> before_launch_ = {};  ///< ops_before_launch()
  std::vector<bool> is_awaited_ = {};    ///< by op: whether a launch of this step waits for its begin
  std::vector<int> begun_ = {};          ///< by op: the event of its begin, if one does
  std::size_t next_ = 0;                 ///< the op that comes next
  int start_ = -1;                       ///< the event of its begin, if the host waits for that
  int number_ = 0;                       ///< of the last op in the trace
};

}  // namespace trainyard
