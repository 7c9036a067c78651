#pragma once
// A machine as software sees it that sends everything between the GPUs of a node through host memory: NCCL
// with NCCL_P2P_DISABLE=1, or a framework without peer-to-peer access.

#include "platform/platform.hpp"

namespace trainyard {

/// The same machine without the links between GPUs (NVSwitches too) and without peer-to-peer access.
/// Everything else stays, NVLinks to a CPU too.
Platform staged_through_host(Platform platform);

/// True if that is another machine for jobs with several GPUs on a node.
bool has_gpu_links(const Platform& platform);

}  // namespace trainyard
