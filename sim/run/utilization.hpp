#pragma once
// How busy the parts of a machine are while a job trains: averages over the measured steps.

#include "run/run.hpp"

#include <array>
#include <string_view>

namespace trainyard {

enum class Resource { gpu, cpu, host_memory, storage, network };

inline constexpr std::array all_resources{Resource::gpu, Resource::cpu, Resource::host_memory,
                                          Resource::storage, Resource::network};

/// "GPUs", "CPU cores", "host memory", "storage", "network".
std::string_view name_of(Resource resource);

/// GPUs: share of the time in which kernels run. Network: bytes over capacity x time, mean of the links used.
/// The others, of the node with the most ranks, are unknown for synthetic input and where the platform's file
/// omits a figure. That of the GPUs rests on an assumed figure if they wait for transfers or samples with
/// such a rate.
Known<Utilization> utilization(const Run& run, Resource resource);

}  // namespace trainyard
