#pragma once
// A comparison of two runs as a page and as JSON: what `compare` prints.

#include "explain/comparison.hpp"

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace trainyard {

/// What differs in the input, the figures side by side, the parts of the step time, and in a sentence what
/// they come to. Every number has its unit.
std::string comparison_table(const Comparison& comparison, bool colour);

/// The same in SI base units; null where there is nothing to compare with.
nlohmann::ordered_json comparison_json(const Comparison& comparison);

/// "B is 1.83x faster per sample; its step takes 15.1 ms less: compute -12.1 ms, exposed communication -3 ms
/// (all_reduce of gradients -3 ms)".
std::string comparison_in_words(const Comparison& comparison);

}  // namespace trainyard
