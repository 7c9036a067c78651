#pragma once
// Where a setting stands in its file, for messages.

#include "config/diagnostic.hpp"
#include "config/document.hpp"
#include "jobs/setting.hpp"

#include <string>
#include <string_view>

namespace trainyard::jobs {

/// A line of a text, without its end; empty if there is none of this number (from 1).
std::string line_of(std::string_view text, int number);

/// The place of a setting's value in its line; of its key if the value is not in the same line.
config::Mark mark_of(const Setting& setting, std::string_view line);

/// A message at a setting; `text`: that of its file.
Diagnostic diagnostic_at(const Setting& setting, std::string_view text, std::string message);

}  // namespace trainyard::jobs
