#pragma once
// A comparison of two runs as a page and as JSON: the output of `compare`.

#include "explain/comparison.hpp"
#include "units/print_style.hpp"

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace trainyard {

/// Differences of the input, the figures side by side, the parts of the step time, the expected error of the
/// change, and one sentence that sums them up. Every number has its unit.
std::string comparison_table(const Comparison& comparison, const PrintStyle& style = {});

/// The same in SI base units; null if the other value is missing.
nlohmann::ordered_json comparison_json(const Comparison& comparison);

/// "B is 1.83 times faster per sample, beyond the expected error of the comparison; its step takes 15.1 ms
/// less: compute -12.1 ms, exposed communication -3 ms (all_reduce of gradients -3 ms)".
std::string comparison_in_words(const Comparison& comparison);

}  // namespace trainyard
