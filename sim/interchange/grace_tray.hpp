#pragma once
// The tray of a GB200 or GB300: two Grace CPUs with GPUs on NVLink-C2C, parts of which node files leave out.

#include "interchange/node_layout.hpp"

namespace trainyard {

/// Sockets without GPUs become ports of those with GPUs, in equal numbers: nvidia-smi joins the network cards
/// of a tray with no socket. False if there is nothing to do.
bool give_cards_to_sockets_with_gpus(NodeLayout& layout);

/// GPUs reach their CPU over NVLink-C2C. True if the layout has no such links, so that usual ones are added.
bool join_gpus_to_grace(NodeLayout& layout);

}  // namespace trainyard
