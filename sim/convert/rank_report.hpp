#pragma once
// An account of the profiles of a job's ranks: the data that collectives transferred, and how long ranks
// waited inside of them.

#include "document/document.hpp"
#include "imports/joined_ranks.hpp"

#include <cstddef>
#include <nlohmann/json_fwd.hpp>

namespace trainyard {

/// Adds it to the page of an import. `traced`: index of the rank whose step became the trace.
void add_ranks(doc::Document& page, const JoinedRanks& joined, std::size_t traced);

/// The account as JSON, times in seconds.
nlohmann::ordered_json rank_json(const JoinedRanks& joined, std::size_t traced);

}  // namespace trainyard
