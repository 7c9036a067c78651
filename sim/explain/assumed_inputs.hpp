#pragma once
// Assumed numbers in the files of a run that can change its step: part of the expected error.

#include "config/catalogue.hpp"
#include "experiment/resolve.hpp"
#include "run/run.hpp"

#include <optional>
#include <string>
#include <string_view>

namespace trainyard {

/// The least change of the step time for which an assumed input counts.
inline constexpr double least_effect_of_assumed = 0.02;

/// The most assumed inputs whose effect is part of the expected error: those with the largest.
inline constexpr std::size_t most_assumed_inputs = 2;

/// Where a page has room for each.
inline constexpr std::size_t all_assumed_inputs = static_cast<std::size_t>(-1);

/// Keys of hypothetical speeds of parts.
constexpr bool is_hypothetical_speed(std::string_view key) {
  return key == "gpu.speed" || key.starts_with("platform.node.speed.");
}

/// Whether closed forms give its step at every value of its inputs, as assumed_inputs() needs: steady steps
/// of a model, alone on the network.
bool has_closed_steps(const ResolvedExperiment& resolved);

/// The assumed inputs on which a steady step rests, with the results at the ends of their ranges, combined in
/// quadrature; nothing if there are none. Looks at the files of the platform, its GPU or processor, the model
/// and the stack. A file with which published runs with known errors were predicted does not count: its error
/// is part of theirs. For a job on several nodes those of the platform must be on several, too. Speeds of
/// hypothetical parts that the job sets (gpu.speed, platform.node.speed) count as well.
///
/// The range is the one that the file states, otherwise a factor of two for rates and times, and 30 % for
/// ratios and counts. The results are those of closed_pace() relative to that of the run: first with all
/// inputs at the end that makes the step slower, then, if that changes it by least_effect_of_assumed, with
/// parts of them, so that no simulation is needed for inputs that do not matter. `experiment` and `overrides`
/// are the source of the run, without totals.
std::optional<InputRanges> assumed_inputs(const config::Catalogue& catalogue, const std::string& experiment,
                                          const Overrides& overrides, const Run& run, InputFiles& files,
                                          std::size_t most = most_assumed_inputs);

/// Adds them to the run, whose expected error they widen: their effect adds up with both sides of its
/// middle in squares. The error becomes unknown if the job has a hypothetical speed and no closed steps.
void add_assumed_inputs(const config::Catalogue& catalogue, const std::string& experiment,
                        const Overrides& overrides, Run& run, InputFiles& files,
                        std::size_t most = most_assumed_inputs);

/// Widens the expected error of a run by inputs of another run, relative to whose `throughput` they are.
void widen_by(const InputRanges& inputs, double throughput, Run& run);

}  // namespace trainyard
