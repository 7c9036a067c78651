#pragma once
// The facts of `nvidia-smi -q` about each GPU, as XML (-x) or as text: its product, memory and PCIe link,
// which `nvidia-smi topo -m` does not.

#include "interchange/node_layout.hpp"
#include "units/quantity.hpp"

#include <optional>
#include <string>
#include <vector>

namespace trainyard {

struct SmiGpu {
  std::string bus;  ///< "00000000:01:00.0"
  std::string product;
  std::string pci_device;       ///< "10de:20b2"; empty if unknown
  std::optional<Bytes> memory;  ///< that the driver leaves
  int pcie_generation = 0;      ///< the highest of its link; 0: unknown
  int pcie_lanes = 0;           ///< the most of its link
  int pcie_lanes_now = 0;       ///< used at present
  std::string power_limit;      ///< "500.00 W"
  std::string sm_clock;         ///< the highest, "1410 MHz"
  bool is_divided = false;      ///< MIG: parts of the GPU are devices
};

struct SmiQuery {
  std::string file;
  std::string driver;
  int attached = 0;  ///< GPUs that the program counted
  std::vector<SmiGpu> gpus;
};

bool is_smi_query_text(const InputText& input);

/// Throws InputError if the text has no GPU.
SmiQuery read_smi_query(const InputText& input);

/// Adds products, memory and PCIe links to a layout with the same GPUs in the same order. Throws InputError
/// if there are not as many, or if one is divided (MIG).
void add_facts(NodeLayout& layout, const SmiQuery& query);

/// The GPUs below one socket: the output has no topology. Throws InputError if some are not described.
NodeLayout layout_of(const SmiQuery& query);

}  // namespace trainyard
