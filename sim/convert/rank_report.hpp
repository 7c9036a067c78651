#pragma once
// An account of the profiles of a job's ranks: what collectives transferred, and how long ranks waited inside
// of them.

#include "imports/joined_ranks.hpp"
#include "units/print_style.hpp"

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace trainyard {

/// For people. `traced`: index of the rank whose step became the trace.
std::string rank_text(const JoinedRanks& joined, std::size_t traced, const PrintStyle& style = {});

/// The same as JSON, times in seconds.
nlohmann::ordered_json rank_json(const JoinedRanks& joined, std::size_t traced);

}  // namespace trainyard
