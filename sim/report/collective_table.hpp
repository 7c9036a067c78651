#pragma once
// A timed collective as nccl-tests prints it, so that tools which read one read the other: header lines begin
// with #, sizes are bytes of one rank's buffer, times microseconds, bandwidths GB/s of 1e9 bytes. Two columns
// more: the lower bound of any algorithm on this network, and the share of it that is reached.

#include "run/collective_sweep.hpp"

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace trainyard {

/// The table; its last line is "# Avg bus bandwidth    : 120.17".
std::string collective_table(const CollectiveReport& report);

/// The same in SI base units; json_text prints it.
nlohmann::ordered_json collective_json(const CollectiveReport& report);

}  // namespace trainyard
