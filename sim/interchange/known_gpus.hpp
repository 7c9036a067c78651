#pragma once
// The GPUs of the catalogue by PCI device, with the links that a platform needs to know. Drivers' names for
// them are those of config/other_names.hpp.

#include "platform/platform.hpp"

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace trainyard {

struct KnownGpu {
  std::string_view profile;  ///< in platforms/gpus; empty: none is shipped
  /// Only of GPUs without a profile of their own: as drivers write them, without "NVIDIA" and the like.
  std::vector<std::string_view> products;
  std::vector<std::string_view> pci_devices;  ///< "10de:20b5"
  std::optional<LinkKind> nvlink = {};
  int nvlink_lanes = 0;  ///< of a GPU; 0: none
  int pcie_generation = 0;
  bool has_peer_to_peer = true;  ///< over PCIe
  double nvlink_lane = 0;        ///< GB/s and direction, if it is not that of its kind
  std::string_view remark = {};  ///< how it differs from the profile
  /// Of a GPU whose board joins each pair of its GPUs by one xGMI link: AMD's name of its kind ("gfx942").
  std::string_view xgmi = {};
};

/// In no particular order. Source of the device numbers: Debian's pci.ids; of the H200 and L40S
/// NVIDIA/gpu-admin-tools gpu/devid_names.py; of the B200, GB200, H100 and MI300X also topology dumps of NCCL
/// and RCCL. Links and generations of PCIe: NVIDIA's and AMD's data sheets. A number that two products share
/// is left out.
std::span<const KnownGpu> known_gpus();

/// By product ("NVIDIA A100-SXM4-80GB") or, without one, by PCI device; null if unknown or ambiguous.
const KnownGpu* known_gpu(std::string_view product, std::string_view pci_device);

/// Whether the NVLinks are on its board (SXM and superchips); PCIe cards have them with bridges alone.
bool has_fixed_nvlinks(const KnownGpu& gpu);

/// Whether the GPU is one of a rack whose trays share an NVLink domain.
bool is_in_nvl72(const KnownGpu& gpu);

/// By the name of a profile; null if none is listed.
const KnownGpu* gpu_of_profile(std::string_view profile);

}  // namespace trainyard
