#pragma once
// The table of steps that were measured and replayed, which the build embeds into the program.

#include <string_view>

namespace trainyard {

extern const std::string_view replays_csv;

}  // namespace trainyard
