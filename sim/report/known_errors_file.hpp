#pragma once
// The table of known errors, which the build embeds into the program.

#include <string_view>

namespace trainyard {

extern const std::string_view known_errors_csv;

}  // namespace trainyard
