#pragma once
// Machines for the tests of this folder.

#include "config/document.hpp"
#include "platform/load.hpp"
#include "platform/shipped_platform.hpp"

#include <string>
#include <vector>

namespace trainyard {

/// The text of a file called box.yaml.
inline Platform load_box(const std::string& text, std::vector<Diagnostic>* warnings = nullptr) {
  return load_platform(config::parse("box.yaml", text), warnings);
}

inline Platform dgx2() { return testing::shipped_platform("dgx2"); }

// NVLinks of an 8-GPU cube mesh, from `nvidia-smi topo -m` on a node of OneFlow's DLPerf cluster.
inline const std::vector<std::vector<int>>& cube_mesh() {
  static const std::vector<std::vector<int>> lanes{
      {0, 1, 1, 2, 2, 0, 0, 0}, {1, 0, 2, 1, 0, 2, 0, 0}, {1, 2, 0, 2, 0, 0, 1, 0}, {2, 1, 2, 0, 0, 0, 0, 1},
      {2, 0, 0, 0, 0, 1, 1, 2}, {0, 2, 0, 0, 1, 0, 2, 1}, {0, 0, 1, 0, 1, 2, 0, 2}, {0, 0, 0, 1, 2, 1, 2, 0}};
  return lanes;
}

/// Eight GPUs joined as the cube mesh, a PCIe switch and a NIC for every two of them, two sockets, a fabric.
inline std::string cube_mesh_text() {
  std::string text = R"(name: box
node:
  gpus: {count: 8, profile: some_gpu}
  devices: {cpu: {count: 2}, pcie_switch: {count: 4}, nic: {count: 4}}
  links:
    - {between: ["gpu[0-7]", "pcie_switch[0-3]"], pairing: in_order, kind: pcie3, lanes: 16, bandwidth: 15.75 GB/s, latency: 0.2 us}
    - {between: ["nic[0-3]", "pcie_switch[0-3]"], pairing: in_order, kind: pcie3, lanes: 16, bandwidth: 15.75 GB/s, latency: 0.2 us}
    - {between: ["pcie_switch[0-3]", "cpu[0-1]"], pairing: in_order, kind: pcie3, lanes: 16, bandwidth: 15.75 GB/s, latency: 0.2 us}
    - {between: [cpu0, cpu1], kind: qpi, bandwidth: 19.2 GB/s, latency: 0.3 us}
)";
  for (std::size_t one = 0; one < 8; ++one) {
    for (std::size_t other = one + 1; other < 8; ++other) {
      const int lanes = cube_mesh()[one][other];
      if (lanes == 0) continue;
      text += "    - {between: [gpu" + std::to_string(one) + ", gpu" + std::to_string(other) +
              "], kind: nvlink2, lanes: " + std::to_string(lanes) +
              ", bandwidth: " + std::to_string(25 * lanes) + " GB/s, latency: 1.2 us}\n";
    }
  }
  return text + R"(  effective: {nvlink2: 22.6 GB/s}
fabric: {kind: fat_tree, nic: 100 Gbps, latency: 2 us}
)";
}

/// Four GPUs on two PCIe switches below one CPU, without NVLink.
inline const char* const pcie_box_text = R"(name: box
node:
  gpus: {count: 4, profile: some_gpu}
  devices: {cpu: {count: 1}, pcie_switch: {count: 2}}
  links:
    - {between: ["gpu[0,2]", pcie_switch0], kind: pcie3, lanes: 16, bandwidth: 15.75 GB/s, latency: 0.2 us}
    - {between: ["gpu[1,3]", pcie_switch1], kind: pcie3, lanes: 16, bandwidth: 15.75 GB/s, latency: 0.2 us}
    - {between: ["pcie_switch[0-1]", cpu], kind: pcie3, lanes: 16, bandwidth: 15.75 GB/s, latency: 0.2 us}
)";

}  // namespace trainyard
