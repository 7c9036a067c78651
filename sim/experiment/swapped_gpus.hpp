#pragma once
// A machine with other GPUs than its own: its price and power no longer hold.

#include "platform/platform.hpp"

#include <map>
#include <optional>
#include <string>

namespace trainyard {

/// Takes price and power from a platform whose GPUs were swapped for those of its profile, unless `set`, the
/// overrides of files, gives them; and adds to `set` that they are left out, so that the resolved experiment
/// gives the same figures. `own_gpus`: the profile in the platform's file. Returns a note if something was
/// left out.
std::optional<std::string> leave_out_price_and_power(Platform& platform, const std::string& own_gpus,
                                                     std::map<std::string, std::string>& set);

}  // namespace trainyard
