#pragma once
// A profile as a trace of one training step, and an account of what became of everything in it.

#include "imports/profile_rows.hpp"
#include "workload/trace.hpp"

#include <optional>
#include <string>
#include <vector>

namespace trainyard {

struct ImportOptions {
  std::optional<std::string> step_range =
      {};                         ///< name of the ranges that are steps, in place of ProfilerStep#N
  std::optional<int> batch = {};  ///< samples of a rank and micro-batch
  bool host_gaps = false;         ///< idle times become rows of kind host
  bool collectives = true;        ///< false: the stack makes its own buckets of the gradients
};

/// What was left out, and why.
struct LeftOut {
  int count = 0;
  std::int64_t time = 0;  ///< ns
  std::string what;       ///< "kernels outside of steps"
};

struct ImportedTrace {
  Trace trace;
  std::vector<ProfileRow> rows;  ///< of each op of the trace but those of kind host
  std::vector<int> steps;  ///< numbers of those that durations are the medians of; empty: the whole file
  int shown_step = -1;     ///< index of the step whose parts are below; -1: the whole file
  StepRows parts;          ///< the rows are those of that step
  int tensors = 0;         ///< gradients of a step
  std::vector<LeftOut> left_out;
  std::vector<std::string> warnings;
  std::int64_t beside = 0;  ///< ns of a step's rows that ran beside a collective
  int slowed_ops = 0;       ///< of the trace, whose kernels never ran without a collective beside them
  std::int64_t slowed = 0;  ///< ns of these
  int ops_timed_alone = 0;  ///< of the trace, timed by those of their runs that had no collective beside them
  int collectives = 0;      ///< of the trace
  bool leaves_collectives = false;    ///< left out by option
  int accumulation = 1;               ///< micro-batches of a step; the trace is that of one
  bool reduces_each = false;          ///< each micro-batch has as many collectives as the last
  std::int64_t adding_gradients = 0;  ///< ns of a step, to those of earlier micro-batches; not in the trace
};

/// Throws InputError if no step computes anything.
ImportedTrace trace_of(const Profile& profile, const ProfileWork& work, const ImportOptions& options = {});

}  // namespace trainyard
