#pragma once
// The passes of a stage that take as long as they do alone.

#include "schedule/layout_collectives.hpp"
#include "schedule/task_graph.hpp"

namespace trainyard {

/// Clears Segment::is_undisturbed where anything else may use the links of the segment's collectives
/// meanwhile. `messages_overlap`: messages between stages overlap with passes.
void check_segments(const LayoutCollectives& collectives, bool messages_overlap, TaskGraph& graph);

}  // namespace trainyard
