#pragma once
// summary.json (summary_json.hpp) back to values, for `compare`.

#include "run/figures.hpp"
#include "run/run_summary.hpp"

#include <span>
#include <string>
#include <string_view>

namespace trainyard {

/// Reads the text of a summary; `file` is for messages. Throws InputError if it is not JSON, not of this
/// version, or a field is missing or has another type.
RunSummary read_summary(const std::string& file, std::string_view text,
                        std::span<const Figure> table = figures());

}  // namespace trainyard
