#pragma once
// The groups of a layout, their nodes and links, as a document.

#include "document/document.hpp"
#include "run/group_links.hpp"

#include <string>
#include <vector>

namespace trainyard {

/// "0-7", "0, 8, 16 to 120", "0, 3, 5": ascending ranks.
std::string ranks_in_words(const std::vector<Rank>& ranks);

/// "inside a socket", "inside a node, 2 sockets", "16 nodes".
std::string place_in_words(const GroupsOfKind& kind);

/// The links that groups use.
doc::Table group_links_table(const std::vector<GroupsOfKind>& kinds);

/// Tables of groups and links, and one node of each kind with the groups of its ranks.
doc::Document group_document(const ResolvedExperiment& resolved, const std::vector<GroupsOfKind>& kinds);

}  // namespace trainyard
