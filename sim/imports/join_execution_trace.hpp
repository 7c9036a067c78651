#pragma once
// Adds facts from the execution trace of the same run to the operators of a profile: shapes, process groups
// and sizes of collectives.

#include "imports/execution_trace.hpp"
#include "imports/profile.hpp"

#include <optional>
#include <string>

namespace trainyard {

struct TraceJoin {
  std::size_t joined = 0;   ///< operators
  std::size_t missing = 0;  ///< of the execution trace that the profile does not have
  bool by_number = false;   ///< else by the order of names on each thread
  std::optional<std::string> step_range =
      {};  ///< if only a part of the profile was traced: the range that is added
};

/// Joins by the numbers of calls ("Record function id", since 2024), else by the order of names on each
/// thread; there, ranges of which one side has more than the other are passed over. Steps that were not
/// traced are no longer steps of the profile. Throws InputError if both are not of one run: no number in
/// common, another name at a number, a number twice, or threads whose operators differ. `step_range`: the
/// name of the ranges that are steps, as join_launches takes it.
TraceJoin join_execution_trace(const ExecutionTrace& trace, Profile& profile,
                               const std::optional<std::string>& step_range = {});

}  // namespace trainyard
