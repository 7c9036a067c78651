#pragma once
// Errors of meaning in platform files whose keys and values can all be read, and the meaning of their
// fabrics.

#include "config/problems.hpp"
#include "platform/platform_file.hpp"

#include <string_view>

namespace trainyard {

/// The rate of collectives on one lane of this kind from node.effective; null if the file has none.
const Sourced<Bandwidth>* effective_per_lane(const EffectiveFile& effective, LinkKind kind);

/// The factor of node.speed for links of this kind.
double LinkSpeeds::*speed_key(LinkKind kind);

/// The factors of node.speed for links that the node has; 1 for others.
LinkSpeeds used_speeds(const NodeFile& node);

/// Reports all errors and warnings about the meaning of the file, except those of link_ends() and
/// read_fabric().
void check_platform_file(const PlatformFile& file, config::Problems& problems);

/// The fabric of the file; incomplete if it has errors. Reports all errors and warnings about its meaning.
Fabric read_fabric(const PlatformFile& file, config::Problems& problems);

}  // namespace trainyard
