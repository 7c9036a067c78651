#pragma once
// What hwloc writes with `lstopo --of xml`: sockets, PCIe bridges, GPUs, network cards and NVLinks. Versions
// 2 and 3 of its XML.

#include "interchange/node_layout.hpp"
#include "interchange/xml.hpp"

#include <string>
#include <vector>

namespace trainyard {

/// A device of the operating system: hwloc names a GPU several times, as CUDA, NVML and OpenCL see it.
struct LstopoDevice {
  long long id = 0;  ///< gp_index
  std::string name;
  std::string model;  ///< of GPUs
  bool is_gpu = false, is_coprocessor = false, is_network = false, is_openfabrics = false;
};

struct LstopoPci {
  long long id = 0;
  std::string bus, pci_class;  ///< "0302"
  std::string pci_device;      ///< "10de:1db8"
  double speed = 0;            ///< GB/s, all lanes together; 0: unknown
  bool is_bridge = false;
  std::vector<LstopoDevice> devices;
  std::vector<LstopoPci> children;
};

struct LstopoPackage {
  long long id = 0;
  std::string model;
  std::vector<LstopoPci> pci;
};

/// Bandwidths between devices by gp_index, MB/s.
struct LstopoDistances {
  std::string name;
  std::vector<long long> ids;
  std::vector<double> values;  ///< row by row
};

struct Lstopo {
  std::string file;
  std::string version;                  ///< "2.0", "3.0"; "1" if not stated
  std::vector<LstopoPackage> packages;  ///< one without PCI devices of its own if the file has none
  std::vector<LstopoDistances> distances;

  /// Number of devices of the operating system of a kind.
  [[nodiscard]] int count(bool LstopoDevice::*is_kind) const;
};

/// Throws InputError with the line.
Lstopo read_lstopo(const InputText& input);

/// The node. Bridges with one device below are left out. Throws InputError if there is no GPU.
NodeLayout layout_of(const Lstopo& topology);

/// Adds products and the CPU to a layout with the same number of GPUs. Throws InputError if it has others.
void add_facts(NodeLayout& layout, const Lstopo& topology);

}  // namespace trainyard
