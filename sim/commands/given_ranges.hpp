#pragma once
// Keys that `run` is given as ranges (--set "platform.node.nics=1..8"): which value the run itself has, and
// the results at the ends.

#include "cli/options.hpp"
#include "run/input_ranges.hpp"
#include "run/simulate.hpp"

#include <string>
#include <vector>

namespace trainyard {

/// The most keys that one run may vary.
inline constexpr std::size_t most_ranges = 4;

/// The most values between the ends of a range of whole numbers that are simulated.
inline constexpr std::size_t most_between = 6;

/// A command line whose ranges are taken out.
struct GivenRanges {
  ExperimentOptions what;          ///< of the run itself
  std::vector<InputRange> inputs;  ///< without results; empty if no value is a range
};

/// A key given as a range, on the command line or in the experiment's file, has in the run the value of its
/// file, or its default, if that lies in the range, and the low end otherwise. Throws CLI::ValidationError if
/// there are more than most_ranges or a key is given twice, InputError if a range is none. `files`: those of
/// the run.
GivenRanges given_ranges(const config::Catalogue& catalogue, const ExperimentOptions& asked,
                         InputFiles& files);

/// The inputs with the speeds at their ends, for whole numbers also at powers of two between them, and the
/// speeds at all combinations of the ends of two.
struct SpeedsAtEnds {
  std::vector<InputRange> inputs;
  std::vector<StepSpeed> together;
};

/// Simulates them in child processes, which must start before this one simulates. `asked`: the overrides of
/// the run, which may be totals. Throws InputError or JobImpossible, with the key, the end and the reason, if
/// an end is refused.
SpeedsAtEnds simulate_ends(const config::Catalogue& catalogue, const std::string& experiment,
                           const Overrides& asked, std::vector<InputRange> inputs, InputFiles& files,
                           const SimulateOptions& how);

}  // namespace trainyard
