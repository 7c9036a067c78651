#pragma once
// The summary as one JSON object: the output of `run --json` and the content of summary.json. Field names
// contain SI base units.

#include "run/figures.hpp"
#include "run/run_summary.hpp"

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace trainyard {

/// Version of the summary's field names and meanings; increased when one is renamed or removed or its meaning
/// changes.
inline constexpr int summary_schema_version = 3;

/// Cost of the simulation on this machine; the only part of a report that differs from run to run.
struct ResourceUsage {
  Seconds wall;
  Seconds cpu;  ///< user and system time of the process
  Bytes peak_rss;
};

/// Every figure of the table in its order, then lists and objects. `usage`: without it its fields are null,
/// and equal runs have equal texts. Figures that were not modelled are null, with the reason under
/// "unmodelled"; json_text prints it.
nlohmann::ordered_json summary_json(const Run& run, const std::optional<ResourceUsage>& usage,
                                    std::span<const Figure> table = figures());

/// The part of the network that limits a steady step; null without collectives.
nlohmann::ordered_json network_limit_json(const Run& run);

/// The field `nccl_choice`: costly_choice() (explain/library_choice.hpp); null if there is none.
nlohmann::ordered_json nccl_choice_json(const Run& run);

/// Reads the text of a summary of this version or the one before; `file` is for messages. Throws InputError
/// if it is not JSON, of another version, or a field is missing or has another type.
RunSummary read_summary(const std::string& file, std::string_view text,
                        std::span<const Figure> table = figures());

}  // namespace trainyard
