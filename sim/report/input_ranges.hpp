#pragma once
// Inputs given as ranges, and the range of results, in words and as JSON.

#include "run/run.hpp"

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace trainyard {

/// Requires ranges. The range of throughput and step time, the same with the expected error of the run, how
/// the inputs were combined, and each input with the results at its ends, the one that decides first.
std::string ranges_in_words(const Run& run);

/// Requires assumed inputs. "the expected error includes that the step rests on an assumed 10 GB/s of
/// platform.node.effective.qpi: 9.33 samples/s at 5 GB/s, 21.9 at 20 GB/s".
std::string assumed_in_words(const Run& run);

/// The field `assumed_inputs`: a list of the inputs.
nlohmann::ordered_json assumed_json(const InputRanges& assumed);

/// Requires ranges. Adds `ranges`, a list of the inputs, and `range_of_results`.
void add_ranges(nlohmann::ordered_json& json, const Run& run);

}  // namespace trainyard
