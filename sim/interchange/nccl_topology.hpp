#pragma once
// NCCL's topology as XML: its output in NCCL_TOPO_DUMP_FILE, and providers' input in NCCL_TOPO_FILE.

#include "interchange/node_layout.hpp"

#include <optional>
#include <string>
#include <vector>

namespace trainyard {

/// A port of a network card.
struct NcclNet {
  std::string name;
  double megabits = 0;  ///< per second; 0: unknown
  int port = 0;         ///< of InfiniBand and RoCE from 1 on; 0: sockets
  std::string guid;
  std::optional<bool> gdr;  ///< GPUDirect
};

/// An element <nvlink>, <xgmi> or <c2c> of a GPU.
struct NcclLink {
  enum class Kind { nvlink, xgmi, c2c };
  Kind kind{};
  std::string target;        ///< bus number
  std::string target_class;  ///< "0x068000": an NVSwitch
  int count = 0;             ///< lanes
  double megabytes = 0;      ///< per second and lane, of C2C
  int line = 0;
};

struct NcclGpu {
  int sm = 0;  ///< 80; of AMD's the compute units; 0: unknown
  std::string gcn;
  std::optional<bool> gdr;
  std::vector<NcclLink> links;
};

struct NcclPci {
  std::string bus;
  std::string pci_class;  ///< "0x030200"; providers' files may have none
  std::string vendor, device;
  std::string speed;  ///< as written: "16.0 GT/s PCIe"
  int width = 0;
  std::optional<NcclGpu> gpu;
  std::vector<NcclNet> nets;
  std::vector<NcclPci> children;
  bool has_nic = false;
  int line = 0;
};

struct NcclCpu {
  int numa = -1;  ///< -1 in virtual machines
  std::string arch, vendor, host;
  int model = 0;
  std::vector<NcclPci> pci;
  std::vector<NcclNet> nets;  ///< without a PCI device: sockets, virtual machines
};

struct NcclTopology {
  std::string file;
  int version = 0;
  std::vector<NcclCpu> cpus;
};

/// By PCI class, or by the element inside. Source: PCI-SIG, Code and ID Assignment; NVIDIA/nccl
/// src/graph/xml.h.
bool is_gpu(const NcclPci& pci);
bool is_nic(const NcclPci& pci);
bool is_nvswitch(const NcclPci& pci);

/// Throws InputError with the line: elements in the wrong place, a bus number twice, a number that is none.
NcclTopology read_nccl_topology(const InputText& input);

/// The node; of several hosts, the first. Throws InputError if it has no GPU, if an NVLink has other lanes in
/// the opposite direction, or if hosts differ. Dropped links and cards are warnings.
NodeLayout layout_of(const NcclTopology& topology);

}  // namespace trainyard
