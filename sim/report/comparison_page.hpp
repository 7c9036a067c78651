#pragma once
// A comparison of runs as a document and as JSON: the output of `compare`. All functions take the comparisons
// of the first run with each of the others, at least one.

#include "document/document.hpp"
#include "explain/comparison.hpp"

#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace trainyard {

/// Differences of the input, the figures side by side, the parts of the step time, the expected error of the
/// change, and a sentence for each run that sums them up; more than two runs are ranked. Two runs have
/// columns for both, the difference and the ratio; more runs a column for the first, and two for each other:
/// value and ratio.
doc::Document comparison_document(std::span<const Comparison> comparisons);

/// The same in SI base units; null if the other value is missing.
nlohmann::ordered_json comparison_json(const Comparison& comparison);

/// More than two runs: {schema_version, trainyard_version, runs, ranking, comparisons}; each comparison is
/// as that of two runs, and names its `run`.
nlohmann::ordered_json comparisons_json(std::span<const Comparison> comparisons);

/// "B has 1.83x A's throughput, beyond the expected error of the comparison; its step takes
/// 15.1 ms less: compute -12.1 ms, exposed collectives -3 ms (all_reduce of gradients -3 ms)".
std::string comparison_in_words(const Comparison& comparison);

/// Whether runs of many updates are compared.
bool is_of_updates(const Comparison& comparison);

/// The name of the part StepPart::communication. Exposed communication, a figure of runs, is this part and,
/// in a steady step, the framework's work around collectives.
std::string_view communication_word(bool of_updates);

/// The parts of that sentence, largest change first: "exposed collectives", B - A. Kernels are one part,
/// "compute", except recomputation.
struct PartChange {
  std::string_view what;
  Seconds time;
};
std::vector<PartChange> part_changes(const Comparison& comparison);

}  // namespace trainyard
