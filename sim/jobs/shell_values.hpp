#pragma once
// Values as a shell expands them: sums, and the expansions ${N%%,*} and ${N:0:2}.

#include <optional>
#include <string>
#include <string_view>

namespace trainyard::jobs {

inline bool is_digits(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

/// A sum of products of integers, as $((GPUS * NODES)). Nothing if it is anything else.
std::optional<long long> integer_value(std::string_view text);

/// A value after "%PATTERN", "%%PATTERN", "#PATTERN", "##PATTERN" (POSIX, section 2.6.2; of a pattern's signs
/// one '*' at its outer end is read), or ":FROM:LENGTH" of bash with whole numbers. Nothing for other forms.
std::optional<std::string> changed_value(std::string_view value, std::string_view form);

}  // namespace trainyard::jobs
