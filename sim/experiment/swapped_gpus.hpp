#pragma once
// A machine with other GPUs than its own, or fewer: its price and power no longer hold.

#include "platform/platform.hpp"

#include <map>
#include <optional>
#include <string>

namespace trainyard {

/// Takes price and power from a platform whose GPUs are others than those of its file, unless `set`, the
/// overrides of files, gives them; and adds to `set` that they are left out, so that the resolved experiment
/// gives the same figures. `own_gpus`: those of the file, "8 a100_sxm4_40gb". Returns a note if something was
/// left out.
std::optional<std::string> leave_out_price_and_power(Platform& platform, const std::string& own_gpus,
                                                     std::map<std::string, std::string>& set);

}  // namespace trainyard
