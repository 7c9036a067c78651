#pragma once
// How the closed choices of platform.hpp are spelt in platform files and reports.

#include "config/keys.hpp"
#include "platform/platform.hpp"

#include <array>
#include <string_view>

namespace trainyard::config {

template <>
struct Names<DeviceKind> {
  static constexpr std::string_view what = "device kind";
  static constexpr std::array table{Name{"gpu", DeviceKind::gpu, "a GPU, one rank each"},
                                    Name{"cpu", DeviceKind::cpu, "a CPU socket with its memory"},
                                    Name{"nvswitch", DeviceKind::nvswitch, "a crossbar of NVLinks"},
                                    Name{"pcie_switch", DeviceKind::pcie_switch, "a PCIe switch"},
                                    Name{"nic", DeviceKind::nic, "a network card on the fabric"}};
};

template <>
struct Names<LinkKind> {
  static constexpr std::string_view what = "link kind";
  static constexpr std::array table{
      Name{"nvlink1", LinkKind::nvlink1, "20 GB/s per lane and direction (P100)"},
      Name{"nvlink2", LinkKind::nvlink2, "25 GB/s per lane and direction (V100)"},
      Name{"nvlink3", LinkKind::nvlink3, "25 GB/s per lane and direction (A100)"},
      Name{"nvlink4", LinkKind::nvlink4, "25 GB/s per lane and direction (H100)"},
      Name{"pcie3", LinkKind::pcie3, "15.75 GB/s per direction with 16 lanes"},
      Name{"pcie4", LinkKind::pcie4, "31.5 GB/s per direction with 16 lanes"},
      Name{"pcie5", LinkKind::pcie5, "63 GB/s per direction with 16 lanes"},
      Name{"qpi", LinkKind::qpi, "between Xeon sockets until 2017"},
      Name{"upi", LinkKind::upi, "between Xeon sockets since 2017"},
      Name{"xbus", LinkKind::xbus, "between POWER sockets"},
      Name{"infinity_fabric", LinkKind::infinity_fabric, "between EPYC sockets"}};
};

template <>
struct Names<FabricKind> {
  static constexpr std::string_view what = "fabric kind";
  static constexpr std::array table{
      Name{"none", FabricKind::none, "nothing: one node only"},
      Name{"fat_tree", FabricKind::fat_tree, "leaf switches below a core that joins them"}};
};

}  // namespace trainyard::config
