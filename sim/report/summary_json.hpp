#pragma once
// The summary as one JSON object: what `run --json` prints and summary.json holds. Field names carry SI base
// units.

#include "run/result.hpp"

#include <cstdint>
#include <nlohmann/json_fwd.hpp>

namespace trainyard {

/// Version of the summary's field names and meanings; raised when one is renamed, removed or means something
/// else.
inline constexpr int summary_schema_version = 1;

/// What simulating cost on this machine; the only part of a report that differs from run to run.
struct SimulationCost {
  Seconds wall;
  Seconds cpu;  ///< user and system time of the process
  Bytes peak_rss;
};

/// Of the summary what ran, its figures and servers: all that a result without a timeline tells too. What was
/// not modelled is null.
nlohmann::ordered_json figures_json(const Result& result);

/// Every field of the summary in a fixed order. One that was not modelled is null and has its reason under
/// "unmodelled"; json_text prints it.
nlohmann::ordered_json summary_json(const Result& result, const SimulationCost& cost);

}  // namespace trainyard
