#pragma once
// A machine as a document: the output of `trainyard topology`.

#include "document/document.hpp"
#include "platform/platform.hpp"

#include <string>

namespace trainyard {

/// The devices of a node, their connections, the links with their sources, the minimum cut between the two
/// halves of the GPUs, and the ring channels of one node and between nodes. GPUs that cannot reach each other
/// are reported, not an error. `changed`: keys set on the command line.
doc::Document topology_document(const Platform& platform, const std::string& changed = {});

}  // namespace trainyard
