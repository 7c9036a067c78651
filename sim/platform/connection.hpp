#pragma once
// What joins two devices of a node, in the words of `nvidia-smi topo -m`.

#include "platform/platform.hpp"

#include <string>

namespace trainyard {

/// "X" for a device and itself, "NV6" over six lanes of NVLink (the narrowest link of the way), "PIX", "PXB",
/// "PHB", "NODE" or "SYS" as nvidia-smi defines them, "-" when no links lead from one to the other. Passing
/// one CPU is PHB, or NODE where every port of that CPU is a host bridge of its own; passing two is SYS.
std::string connection(const Platform& platform, DeviceId one, DeviceId other);

/// Number of the CPU nearest to a device; -1 when it reaches none.
int nearest_cpu(const Platform& platform, DeviceId device);

/// Explains the words, one per line.
std::string connection_legend();

}  // namespace trainyard
