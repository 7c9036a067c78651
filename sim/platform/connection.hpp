#pragma once
// The connection between two devices of a node, in the terms of `nvidia-smi topo -m`.

#include "platform/platform.hpp"

#include <string>

namespace trainyard {

/// "X" for a device and itself, "NV6" over six lanes of NVLink (the narrowest link of the path), "XGMI" as
/// rocm-smi has it, "PIX",
/// "PXB", "PHB", "NODE" or "SYS" as nvidia-smi defines them, "-" if there is no path. A path through one CPU
/// is PHB, or NODE if every port of that CPU is a separate host bridge; through two CPUs it is SYS.
std::string connection(const Platform& platform, DeviceId one, DeviceId other);

/// Number of the CPU nearest to a device; -1 if it reaches none.
int nearest_cpu(const Platform& platform, DeviceId device);

/// Explains these terms, one per line; `has_xgmi`: those of a node with such links, which has no NVLinks.
std::string connection_legend(bool has_xgmi);

}  // namespace trainyard
