#pragma once
// A platform from ASTRA-sim's network configuration: its first dimension is a node, the others are the
// fabric.

#include "interchange/astra_network.hpp"
#include "interchange/make_platform.hpp"

namespace trainyard {

/// Nodes that the fabric joins. Throws InputError if a platform cannot have as many.
int nodes_of(const AstraNetwork& network);

/// Rates and latencies are those of the file. Each NPU is a GPU with a network card of its own. Behind the
/// first dimension one Switch becomes rails, one per GPU; up to three equally fast Rings become a torus; any
/// other dimensions become a custom fabric with a router per node, in which the links of a node's GPUs in a
/// dimension are one. `answers.gpu` must name a profile. Throws InputError if the file has more GPUs in a
/// node, more nodes or more links than a platform may have.
PlatformDraft make_platform(const AstraNetwork& network, const PlatformAnswers& answers);

}  // namespace trainyard
