#pragma once
// The part of a command line that uses a file, for hints.

#include "config/catalogue.hpp"

#include <string>
#include <string_view>

namespace trainyard::config {

/// "--platform dgx2", or another command where no option takes files of this kind. `is_whole`: with all that
/// a run needs.
std::string command_with(Kind kind, std::string_view file, bool is_whole);

}  // namespace trainyard::config
