#pragma once
// A machine as used by software that sends all data between the GPUs of a node through host memory: NCCL with
// NCCL_P2P_DISABLE=1, or a framework without peer-to-peer access.

#include "platform/platform.hpp"

namespace trainyard {

/// The machine without the links between GPUs (also NVSwitches) and without peer-to-peer access.
/// Everything else stays, including NVLinks to a CPU.
Platform staged_through_host(Platform platform);

/// Whether that differs for jobs with several GPUs on a node.
bool has_gpu_links(const Platform& platform);

}  // namespace trainyard
