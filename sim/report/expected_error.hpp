#pragma once
// The expected error of a run in words and as JSON.

#include "run/run.hpp"

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

namespace trainyard {

/// "-9 to +6 %": measured over predicted throughput of 80 % of comparable runs.
std::string error_range(const ExpectedError& expected);
std::string error_range(const ErrorBounds& bounds);

/// "slower" or "faster": relative to their predictions, nearly all runs behind an interval that, as printed,
/// does not contain 0; empty if it does.
std::string_view one_side_of(const ErrorBounds& throughput);

/// The meaning of the range, the number of runs it comes from, and the nearest published run, or the
/// published run of the very job.
std::string expected_error_in_words(const ExpectedError& expected);

/// "16 GPUs of dgx2, resnet50 in fp32, apex_ddp, batch 128 (nvidia_dle.csv:52)".
std::string published_run_in_words(const PublishedError& run);
nlohmann::ordered_json published_run_json(const PublishedError& run);

/// low, high, share, runs, families (if ranks share the model), nearest and published (null: this job is not
/// published).
nlohmann::ordered_json expected_error_json(const ExpectedError& expected);

/// "7.2 GB to 12.9 GB expected": the interval of a figure of summary.json; empty if it has none.
std::string bounds_in_words(const Run& run, std::string_view field);

/// field -> {low, high} of every figure with an interval.
nlohmann::ordered_json expected_bounds_json(const Run& run);

}  // namespace trainyard
