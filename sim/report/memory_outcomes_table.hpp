#pragma once
// Output of `trainyard validate` about memory: verdicts against published outcomes.

#include "published/memory_outcomes.hpp"
#include "units/print_style.hpp"

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace trainyard {

/// A line for each framework and precision, the totals, and every wrong verdict.
std::string memory_outcomes_table(const MemoryValidation& validation, const PrintStyle& style = {});

/// The same: ran and failed with their shares of right verdicts, by_framework, wrong.
nlohmann::ordered_json memory_outcomes_json(const MemoryValidation& validation);

}  // namespace trainyard
