#pragma once
// A machine with other GPUs than its own, or fewer: its price and power no longer hold.

#include "config/document.hpp"
#include "experiment/overrides.hpp"
#include "platform/platform.hpp"

#include <map>
#include <optional>
#include <string>

namespace trainyard {

/// Where the experiment or the command line names other GPUs than the platform's file `own`: takes price and
/// power from the platform, unless `set`, the overrides of files, gives them; and adds to `set` that they are
/// left out, so that the resolved experiment gives the same figures. Returns a note if something was left
/// out.
std::optional<std::string> leave_out_price_of_other_gpus(const config::Document& own,
                                                         const FileOverrides& given, Platform& platform,
                                                         std::map<std::string, std::string>& set);

/// An override of a GPU's or processor's profile, of which the platform's ranks have the other kind.
Diagnostic unused_profile_key(const Platform& platform, const std::string& key, const FileOverride& item);

}  // namespace trainyard
