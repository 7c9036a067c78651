#pragma once
// Why a run takes as long as it does and what would help, as a page and as JSON: the output of `explain`.

#include "document/document.hpp"
#include "explain/explanation.hpp"
#include "explain/what_would_help.hpp"
#include "run/run.hpp"
#include "run/step_parts.hpp"

#include <cstddef>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace trainyard {

/// Smaller gains are ignored.
inline constexpr double least_gain = 5e-3;

struct ExplainedRun {
  Run run;
  std::optional<Explanation> explanation;  ///< for a steady step
  std::vector<WhatIfRow> changes;
  std::optional<Seconds> saved_step_time;  ///< in the summary.json from which the run was read
  std::string arguments;                   ///< arguments of `trainyard run` for the same run
};

/// In words the causes of the step time, the critical path, the lower bound and the parts above it, and the
/// most useful changes; for runs of many updates, which have no single path, how their ranks spend the time.
/// Every number has its unit.
doc::Document explanation_document(const ExplainedRun& explained);

/// The same in SI base units.
nlohmann::ordered_json explanation_json(const ExplainedRun& explained);

/// The parts of the critical path and their limits, in a few sentences.
std::string path_in_words(const Run& run, const Explanation& why);

/// Whether ranks spend most of a collective on adding received data to their own.
bool is_held_by_sums(const CollectivePace& pace);

/// The limit of a collective: "node0.nic0->fabric (2.969 GB/s; 3 other links are equally slow)".
std::string limit_in_words(const CollectivePace& pace, const std::string& protocol);

/// Why a collective takes longer than alone, as far as the run shows it: " (changing links)"; otherwise
/// empty.
std::string why_longer(const Run& run, const CollectiveRow& row);

/// How a part of the step time was obtained; for the network, with the details of this run.
std::string how_obtained(const Run& run, GapPart part);

/// How the ranks of a run of many updates spend their time, which of them is slow, and how busy the servers
/// are.
std::string updates_in_words(const Run& run);

/// A rank's activity in that part of an update: "computing".
std::string_view activity_in_words(StepPart part);

/// A layer's name without its casts' suffix: under autocast they are the ops that complete its gradients.
std::string layer_shown(const std::string& layer);

/// The changes with the largest gains, in one sentence.
std::string help_in_words(const Run& run, const std::vector<WhatIfRow>& changes);

/// All changes that were tried, those that were not, and how to repeat one. `arguments`: of `trainyard run`.
void add_changes(doc::Document& page, const Run& run, const std::vector<WhatIfRow>& changes,
                 const std::string& arguments);

/// Throughput with a change divided by that of the unchanged run, minus 1; none if the change is impossible.
std::optional<double> gain(const Run& run, const WhatIfRow& row);

/// "+92.1 %", or "3.4 times".
std::string gain_in_words(double gain);

/// Up to `most` changes with the largest gains, of at least least_gain; only the best of several changes to
/// one key.
std::vector<const WhatIfRow*> largest_gains(const Run& run, const std::vector<WhatIfRow>& rows,
                                            std::size_t most);

/// Whether the step time in summary.json differs from the current result beyond its digits.
bool differs_from_saved(const ExplainedRun& explained);

}  // namespace trainyard
