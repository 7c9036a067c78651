#pragma once
// The host that launches the kernels of a step, in a series of equal steps on one GPU. launch_program.hpp has
// the same rules for the engine.

#include "compute/op_time.hpp"
#include "strategy/rank_class.hpp"
#include "strategy/shared_host.hpp"
#include "workload/trace.hpp"

#include <span>
#include <vector>

namespace trainyard {

/// An op as its host and its GPU see it.
struct LaunchedOp {
  Seconds duration;           ///< on the GPU
  Seconds host = {};          ///< time of the host to launch it
  Seconds then = {};          ///< time of the host afterwards, for collectives
  int launches = 1;           ///< number of kernels
  bool synchronises = false;  ///< the host waits for its end
  bool awaits_start = false;  ///< the host waits until it begins
};

struct SteadyLaunches {
  Seconds step;   ///< from the end of one to that of the next
  Seconds waits;  ///< the part in which the GPU waits for the host
  Seconds lead;   ///< the host's work for a step that is done when the GPU begins it
};

/// Whether a host launches the ops of a trace.
bool has_host(const Trace& trace);

/// The ops of a trace that take these times.
std::vector<LaunchedOp> launched_ops(const Trace& trace, std::span<const OpTime> times);

/// The host launches ops in order and works between steps, each for the time stated; a kernel starts when the
/// one before has ended and its launch has reached the GPU; the host waits for the end of ops that
/// synchronise, and while the queue has no place. Steps overlap otherwise. The dates of the host are those at
/// which its launches reach the GPU.
SteadyLaunches steady_launches(std::span<const LaunchedOp> ops, const LaunchingHost& host);

/// steady_launches() of all ops that a GPU of the class runs in a step, one micro-batch after the other,
/// alone and at mean speed: ops of steps of several ranks take no time. `times`: of the ops of its trace;
/// `shared`: the factors that its trace has for ranks that share their host.
SteadyLaunches steady_launches_alone(const RankClass& one, std::span<const OpTime> times, int micro_batches,
                                     const SharedHost& shared);

/// For each op, the op that must have begun before it is launched, so that the queue has a place for it: an
/// index in a series of equal steps, negative in earlier steps. An op of more launches than places waits for
/// the op before it. Empty if any number may wait.
std::vector<int> ops_before_launch(std::span<const LaunchedOp> ops, const LaunchingHost& host);

}  // namespace trainyard
