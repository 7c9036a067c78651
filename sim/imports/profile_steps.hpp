#pragma once
// The steps of a profile that its trace is made of, and how long each of the trace's rows took in them.

#include "imports/profile_rows.hpp"

#include <limits>
#include <optional>
#include <string>
#include <vector>

namespace trainyard {

/// One run of a row.
struct RowTime {
  std::int64_t time = 0, beside = 0;  ///< ns, as of ProfileRow
};

inline constexpr Interval always{std::numeric_limits<std::int64_t>::min(),
                                 std::numeric_limits<std::int64_t>::max()};

struct ChosenSteps {
  StepRows parts;            ///< of the usual step: its parts, and all of its rows
  int shown = -1;            ///< its index; -1: the whole file is one step
  std::vector<int> numbers;  ///< of the steps that do the same as that one
  StepRows rows;  ///< that become ops: the step's, or those of its last micro-batch and of the optimizer
  std::vector<std::vector<RowTime>> times;  ///< of each of these rows, one for each run of it
  int accumulation = 1;                     ///< micro-batches of a step
  Interval window = always;                 ///< launches of the rows but the optimizer's
  std::int64_t adding = 0;                  ///< ns of the step in which gradients are added to earlier ones
  int earlier_collectives = 0;              ///< of the micro-batches before the last
  std::vector<std::string> warnings;
};

/// Throws InputError if no step computes anything, or if steps have passes that do not repeat.
ChosenSteps choose_steps(const Profile& profile, const ProfileWork& work);

}  // namespace trainyard
