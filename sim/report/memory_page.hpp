#pragma once
// The memory of one rank as a page and as JSON: `trainyard memory`, and the object `memory` of summary.json.

#include "document/document.hpp"
#include "run/memory_verdict.hpp"
#include "run/run.hpp"

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace trainyard {

/// {"parameters": bytes, ...} with every term.
nlohmann::ordered_json memory_terms_json(const MemoryTerms& terms);

/// The largest three terms in words: "activations 10.9 GB, workspace 277 MB, ...".
std::string largest_terms(const MemoryTerms& terms);

/// The output of `memory`: the terms of the fullest of the reports with their fractions of the GPU's memory,
/// the capacity, the terms of parameter servers, the verdict if the step fits (otherwise it is the error of
/// require_fit), the assumptions, and the peak of each stage. `remark`: a line below the title.
doc::Document memory_document(const std::string& experiment, const std::vector<MemoryReport>& reports,
                              const std::string& remark = {});

/// The same for a run's page; nothing if its memory is not known.
void add_memory(doc::Document& page, const Run& run);

/// For `memory --json`: a list of the stages' names, peaks and terms.
nlohmann::ordered_json stage_memory_json(const std::vector<MemoryReport>& reports);

/// "node 0, the fullest of 4".
std::string server_place(const ServerMemory& memory);

/// The terms of the servers' memory and the place: {"place": "node 0", "places": 2, "on_gpu": false,
/// "parameters": bytes, ...}.
nlohmann::ordered_json server_memory_json(const ServerMemory& memory);

/// The report as an object with the field names of summary.json.
nlohmann::ordered_json memory_json(const std::string& experiment, const MemoryReport& report);

}  // namespace trainyard
