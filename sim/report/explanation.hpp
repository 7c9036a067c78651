#pragma once
// Why a run takes as long as it does and what would help, as a page and as JSON: what `explain` prints.

#include "explain/explanation.hpp"
#include "explain/what_would_help.hpp"
#include "run/run.hpp"
#include "run/step_parts.hpp"

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace trainyard {

/// A gain below this is none.
inline constexpr double least_gain = 5e-3;

struct ExplainedRun {
  Run run;
  std::optional<Explanation> explanation;  ///< of a steady step
  std::vector<WhatIfRow> changes;
  std::optional<Seconds> saved_step_time;  ///< that of the summary.json the run was read from
  std::string arguments;                   ///< what to write behind `trainyard run` for the same run
};

/// In words what holds it up, the critical path, the lower bound and where the rest went, and what would help
/// most; of runs of many updates, which have no one path, how their ranks spend the time. Every number has
/// its unit.
std::string explanation_page(const ExplainedRun& explained, bool colour);

/// The same in SI base units.
nlohmann::ordered_json explanation_json(const ExplainedRun& explained);

/// What the critical path is made of and what limits it, a few sentences.
std::string path_in_words(const Run& run, const Explanation& why);

/// What limits a collective: "node0.nic0->fabric, which lets 2.969 GB/s through".
std::string limit_in_words(const CollectivePace& pace, const std::string& protocol);

/// Why a collective takes longer than alone, as far as the run shows it: ", while links change"; else
/// nothing.
std::string why_longer(const Run& run, const CollectiveRow& row);

/// How a part of the step time was obtained, of the network with what there is of it in this run.
std::string how_obtained(const Run& run, GapPart part);

/// How the ranks of a run of many updates spend their time, which of them is slow, and how busy the servers
/// are.
std::string updates_in_words(const Run& run);

/// What a rank does in that part of an update: "computing".
std::string_view activity_in_words(StepPart part);

/// A layer without what its casts are called: they are the op that completes its gradients under autocast.
std::string layer_shown(const std::string& layer);

/// Which changes bring most, in one sentence.
std::string help_in_words(const ExplainedRun& explained);

/// Throughput with a change over that without, less 1; none where it cannot be had.
std::optional<double> gain(const ExplainedRun& explained, const WhatIfRow& row);

/// Whether summary.json has another step time than what comes out now, beyond its digits.
bool differs_from_saved(const ExplainedRun& explained);

}  // namespace trainyard
