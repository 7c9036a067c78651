#pragma once
// A timed collective as a document, as text in the format of nccl-tests, and as JSON.

#include "document/document.hpp"
#include "run/collective_sweep.hpp"
#include "units/print_style.hpp"

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace trainyard {

/// The columns of nccl-tests, then the lower bound of any algorithm on this network and the fraction of it
/// that is reached: sizes are bytes of one rank's buffer, times microseconds, bandwidths GB/s of 1e9 bytes.
doc::Document collective_document(const CollectiveReport& report);

/// The document in the format of nccl-tests, so that the same tools read both: lines besides the rows begin
/// with #. A narrow page leaves out the additional columns first. The last line is "# Avg bus bandwidth    :
/// 120.17".
std::string nccl_tests_text(const doc::Document& page, const PrintStyle& style = {});

/// The same in SI base units; json_text prints it.
nlohmann::ordered_json collective_json(const CollectiveReport& report);

}  // namespace trainyard
