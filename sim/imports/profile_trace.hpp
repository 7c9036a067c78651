#pragma once
// A profile as a trace of one training step, and an account of everything in it.

#include "imports/profile_rows.hpp"
#include "strategy/parallelism.hpp"
#include "workload/trace.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace trainyard {

/// The layers of ops that stand for copies from and to the host begin with it.
inline constexpr std::string_view host_copy_layer = "host_copy.";

struct ImportOptions {
  std::optional<std::string> step_range =
      {};                         ///< name of the ranges that are steps, in place of ProfilerStep#N
  std::optional<int> batch = {};  ///< samples of a rank and micro-batch
  bool host_gaps = false;         ///< idle times and copies become rows of kind host
  std::vector<std::vector<int>> groups_of_others =
      {};                   ///< groups of ranks in the profiles of the job's other ranks
  bool collectives = true;  ///< false: the stack makes its own buckets of the gradients
};

/// Work that was left out, and the reason.
struct LeftOut {
  int count = 0;
  std::int64_t time = 0;  ///< ns
  std::string what;       ///< "kernels outside of steps"
};

/// A collective of the trace, as the profile timed it.
struct TracedCollective {
  Operation operation{};
  Bytes size;
  std::int64_t time = 0;  ///< ns of its kernel, with the waiting for slower ranks
};

struct ImportedTrace {
  Trace trace;
  std::vector<ProfileRow> rows;        ///< of each op; of one that stands for a gap all is empty
  std::vector<TracedCollective> sent;  ///< the collectives, in the order of their launches
  std::vector<int> steps;  ///< numbers of those that durations are the medians of; empty: the whole file
  int shown_step = -1;     ///< index of the step whose parts are below; -1: the whole file
  StepRows parts;          ///< the rows are those of that step
  int tensors = 0;         ///< gradients of a step
  std::vector<LeftOut> left_out;
  std::vector<std::string> warnings;
  std::int64_t beside = 0;  ///< ns of a step's rows that overlap with a collective
  int slowed_ops = 0;       ///< of the trace, whose kernels never ran without a concurrent collective
  std::int64_t slowed = 0;  ///< ns of these
  int ops_timed_alone = 0;  ///< of the trace, timed by those runs that had no concurrent collective
  int collectives = 0;      ///< of the trace
  std::optional<Parallelism> layout = {};  ///< whose groups the collectives name; none: all ranks take part
  bool leaves_collectives = false;         ///< left out by option
  int accumulation = 1;                    ///< micro-batches of a step; the trace is that of one
  bool reduces_each = false;               ///< each micro-batch has as many collectives as the last
  std::int64_t adding_gradients = 0;  ///< ns of a step, to those of earlier micro-batches; not in the trace
};

/// Throws InputError if no step computes anything.
ImportedTrace trace_of(const Profile& profile, const ProfileWork& work, const ImportOptions& options = {});

}  // namespace trainyard
