#pragma once
// The memory of one rank as text and as JSON: `trainyard memory`, and the object `memory` of summary.json.

#include "run/memory_verdict.hpp"
#include "units/print_style.hpp"

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace trainyard {

/// {"parameters": bytes, ...} with every term.
nlohmann::ordered_json memory_terms_json(const MemoryTerms& terms);

/// The largest three terms in words: "activations 10.9 GB, workspace 277 MB, ...".
std::string largest_terms(const MemoryTerms& terms);

/// One line per term with its fraction of the GPU's memory, their sum, the capacity, the assumptions, and the
/// verdict if the step fits; otherwise it is the error of require_fit. With parameter servers also the terms
/// of their memory. `remark`: a line below the title.
std::string memory_table(const std::string& experiment, const MemoryReport& report,
                         const std::string& remark = {}, const PrintStyle& style = {});

/// The largest terms and the peak of each stage, one line each; empty if there is only one.
std::string stage_memory_table(const std::vector<MemoryReport>& reports, const PrintStyle& style = {});

/// The same for `memory --json`: a list of the stages' names, peaks and terms.
nlohmann::ordered_json stage_memory_json(const std::vector<MemoryReport>& reports);

/// "node 0, the fullest of 4".
std::string server_place(const ServerMemory& memory);

/// The terms of the servers' memory and the place: {"place": "node 0", "places": 2, "on_gpu": false,
/// "parameters": bytes, ...}.
nlohmann::ordered_json server_memory_json(const ServerMemory& memory);

/// memory_table() as an object with the field names of summary.json.
nlohmann::ordered_json memory_json(const std::string& experiment, const MemoryReport& report);

}  // namespace trainyard
