#pragma once
// The memory of one rank as text and as JSON: `trainyard memory`, and the object `memory` of summary.json.

#include "run/memory_verdict.hpp"

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace trainyard {

/// {"parameters": bytes, ...} with every term.
nlohmann::ordered_json memory_terms_json(const MemoryTerms& terms);

/// The largest three terms in words: "activations 10.9 GB, workspace 277 MB, ...".
std::string largest_terms(const MemoryTerms& terms);

/// One line per term with its fraction of the GPU's memory, their sum, the capacity, the assumptions, and the
/// verdict if the step fits; otherwise it is the error of require_fit. `remark`: a line below the title.
std::string memory_table(const std::string& experiment, const MemoryReport& report,
                         const std::string& remark = {});

/// The same as an object with the field names of summary.json.
nlohmann::ordered_json memory_json(const std::string& experiment, const MemoryReport& report);

}  // namespace trainyard
