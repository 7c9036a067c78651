#pragma once
// A timed collective in the format of nccl-tests, so that the same tools read both: header lines begin with
// #, sizes are bytes of one rank's buffer, times microseconds, bandwidths GB/s of 1e9 bytes. Two additional
// columns: the lower bound of any algorithm on this network, and the fraction of it that is reached.

#include "run/collective_sweep.hpp"
#include "units/print_style.hpp"

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace trainyard {

/// The table; a narrow page leaves out the additional columns first. Its last line is "# Avg bus bandwidth :
/// 120.17".
std::string collective_table(const CollectiveReport& report, const PrintStyle& style = {});

/// The same in SI base units; json_text prints it.
nlohmann::ordered_json collective_json(const CollectiveReport& report);

}  // namespace trainyard
