#pragma once
// The summary as one JSON object: what `run --json` prints and summary.json holds. Field names carry SI base
// units.

#include "run/figures.hpp"

#include <cstdint>
#include <nlohmann/json_fwd.hpp>

namespace trainyard {

/// Version of the summary's field names and meanings; raised when one is renamed, removed or means something
/// else.
inline constexpr int summary_schema_version = 2;

/// What simulating cost on this machine; the only part of a report that differs from run to run.
struct ResourceUsage {
  Seconds wall;
  Seconds cpu;  ///< user and system time of the process
  Bytes peak_rss;
};

/// Every figure of the table in its order, then lists and objects. One that was not modelled is null and has
/// its reason under "unmodelled"; json_text prints it.
nlohmann::ordered_json summary_json(const Run& run, const ResourceUsage& usage,
                                    std::span<const Figure> table = figures());

}  // namespace trainyard
