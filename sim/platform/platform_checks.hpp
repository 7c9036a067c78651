#pragma once
// What a platform file can say wrong although every key and value of it reads well.

#include "config/problems.hpp"
#include "platform/platform_file.hpp"

#include <string_view>

namespace trainyard {

/// What collectives reach on one lane of this kind, as node.effective says; null when it says nothing.
const Sourced<Bandwidth>* effective_per_lane(const EffectiveFile& effective, LinkKind kind);

/// Reports every error and doubt about the meaning of the file but those of link_ends(). `file_stem` is the
/// file's name without folder and .yaml.
void check_platform_file(const PlatformFile& file, config::Problems& problems);

}  // namespace trainyard
