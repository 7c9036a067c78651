#pragma once
// JSON in the reports' format: two blanks per level, numbers with twelve significant digits.

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>

namespace trainyard {

/// The value as indented text with a newline at its end. Throws std::logic_error on a number that is not
/// finite: no quantity of a result may be one.
std::string json_text(const nlohmann::ordered_json& value);

/// The number; null if there is none.
nlohmann::ordered_json number_or_null(std::optional<double> number);

/// The text in quotes, escaped; bytes that are not UTF-8 become U+FFFD.
std::string json_quoted(std::string_view text);

}  // namespace trainyard
