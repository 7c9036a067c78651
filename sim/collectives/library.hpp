#pragma once
// The communication library of a job: whose choices of algorithms `auto` follows, and its costs on top of the
// wire.

#include "collectives/nccl.hpp"
#include "collectives/protocol_overheads.hpp"
#include "config/keys.hpp"

#include <array>
#include <optional>
#include <string>
#include <string_view>

namespace trainyard {

enum class CommunicationLibrary { nccl, rccl, mpich, open_mpi, gloo };

/// The libraries that run on the host, and so between processors as well as between GPUs.
constexpr bool is_of_hosts(CommunicationLibrary library) { return library > CommunicationLibrary::rccl; }

/// "NCCL", "RCCL", "MPICH", "Open MPI", "Gloo".
std::string_view title_of(CommunicationLibrary library);

/// "LL128"; "none" of a library that has no protocols, as all of hosts.
std::string_view protocol_name(CommunicationLibrary library, Protocol protocol);

struct CollectiveSoftware {
  CommunicationLibrary library = CommunicationLibrary::nccl;
  NcclVersion version = NcclVersion::none;  ///< of NCCL, or that which RCCL follows
  ProtocolOverheads overheads = {};         ///< added to the wire
  int compute_capability = 70;              ///< of the GPUs, affects NCCL's choices: 75 is CUDA's 7.5
  std::optional<std::string> note = {};     ///< on how far these choices are the library's own
};

namespace config {

template <>
struct Names<CommunicationLibrary> {
  static constexpr std::string_view what = "communication library";
  static constexpr std::array table{
      Name{"nccl", CommunicationLibrary::nccl, "NVIDIA's, between GPUs; its version is the key nccl"},
      Name{"rccl", CommunicationLibrary::rccl,
           "AMD's, between its GPUs, where nccl means it: PyTorch's backend nccl is RCCL there"},
      Name{"mpich", CommunicationLibrary::mpich, "MPI in the versions made from MPICH, such as Cray's"},
      Name{"open_mpi", CommunicationLibrary::open_mpi, "Open MPI 4.0 and older"},
      Name{"gloo", CommunicationLibrary::gloo, "Gloo, as PyTorch uses it between processors"}};
};

}  // namespace config
}  // namespace trainyard
