#pragma once
// Spelling of the choices of platform.hpp in platform files and reports.

#include "config/keys.hpp"
#include "platform/path_type.hpp"
#include "platform/platform.hpp"

#include <array>
#include <string_view>

namespace trainyard::config {

template <>
struct Names<DeviceKind> {
  static constexpr std::string_view what = "device kind";
  static constexpr std::array table{Name{"gpu", DeviceKind::gpu, "a GPU, for one rank"},
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
      Name{"nvlink5", LinkKind::nvlink5, "50 GB/s per lane and direction (B200)"},
      Name{"xgmi", LinkKind::xgmi, "between AMD's GPUs: 64 GB/s per link and direction (MI300X)"},
      Name{"pcie3", LinkKind::pcie3, "15.75 GB/s per direction with 16 lanes"},
      Name{"pcie4", LinkKind::pcie4, "31.5 GB/s per direction with 16 lanes"},
      Name{"pcie5", LinkKind::pcie5, "63 GB/s per direction with 16 lanes"},
      Name{"qpi", LinkKind::qpi, "between Xeon sockets until 2017"},
      Name{"upi", LinkKind::upi, "between Xeon sockets since 2017"},
      Name{"xbus", LinkKind::xbus, "between POWER sockets"},
      Name{"infinity_fabric", LinkKind::infinity_fabric, "between EPYC sockets"}};
};

template <>
struct Names<PathType> {
  static constexpr std::string_view what = "path type";
  static constexpr std::array table{Name{"nvlink1", PathType::nvlink1, "NVLinks of the P100"},
                                    Name{"nvlink2", PathType::nvlink2, "NVLinks of the V100"},
                                    Name{"nvlink3", PathType::nvlink3, "NVLinks of the A100"},
                                    Name{"nvlink4", PathType::nvlink4, "NVLinks of the H100"},
                                    Name{"nvlink5", PathType::nvlink5, "NVLinks of the B200"},
                                    Name{"xgmi", PathType::xgmi, "xGMI links of AMD's GPUs"},
                                    Name{"pix", PathType::pix, "at most one PCIe switch"},
                                    Name{"pxb", PathType::pxb, "several PCIe switches"},
                                    Name{"phb", PathType::phb, "one CPU"},
                                    Name{"sys", PathType::sys, "several CPUs"},
                                    Name{"staged", PathType::staged, "host memory, without peer-to-peer"},
                                    Name{"network", PathType::network, "NICs and the fabric"}};
};

}  // namespace trainyard::config
