#pragma once
// The matrix that `nvidia-smi topo -m` prints: how each pair of GPUs and network cards is joined.

#include "interchange/node_layout.hpp"

#include <string>
#include <vector>

namespace trainyard {

struct SmiTopology {
  std::string file;
  std::vector<std::string> devices;             ///< "GPU0", "NIC0", "mlx5_0", in the order of the columns
  std::vector<std::vector<std::string>> cells;  ///< "X", "NV12", "PIX" ..., a row for each device
  std::vector<std::string> cpu_affinity;        ///< "0-23", a text for each device; of GPUs only
  std::vector<std::string> numa_affinity;       ///< "0"; "N/A" where the driver does not know
  int rows = 0;                                 ///< of devices, with those that have no column
  std::vector<std::string> without_column;      ///< names of such rows
  std::vector<std::string> card_names;          ///< "mlx5_0" for each network card, from the legend

  [[nodiscard]] int gpus() const;
  [[nodiscard]] int nics() const;
};

/// True if a line of the text is the header of such a matrix.
bool has_smi_matrix(const InputText& input);

/// Reads the first matrix of a text, which may stand between other lines. Throws InputError if a row is
/// missing or too short, a word is not one of the program's, the matrix is not symmetric (naming the pair),
/// or it is that of `nvidia-smi topo -p2p`.
SmiTopology read_smi_topology(const InputText& input);

/// The node: sockets by NUMA or CPU affinity, PCIe switches as PIX and PXB ask for them. Where NVLinks hide
/// how two GPUs are joined over PCIe, each has a port of its socket.
NodeLayout layout_of(const SmiTopology& topology);

}  // namespace trainyard
