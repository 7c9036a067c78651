#pragma once
// The expected error of a comparison in words and as JSON.

#include "explain/comparison.hpp"

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace trainyard {

/// "beyond" or "within" the expected error of the comparison; empty if that is unknown.
std::string verdict_word(const Comparison& comparison);

/// "B is faster beyond the expected error of the comparison", or what is uncertain. The error must be known.
std::string verdict_in_words(const Comparison& comparison);

/// "number of GPUs and precision".
std::string changes_in_words(const std::vector<RunChange>& changes);

/// The pairs that the interval comes from, and the nearest.
std::string ratio_source_in_words(const RatioError& error);

/// low, high, share, pairs, kind, differ, throughput_ratio_low and _high, verdict, nearest, assumed; where
/// the error is unknown, those are null and `reason` says why.
nlohmann::ordered_json ratio_error_json(const Comparison& comparison);

}  // namespace trainyard
