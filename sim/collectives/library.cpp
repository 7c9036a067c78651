#include "collectives/library.hpp"

namespace trainyard {

std::string_view title_of(CommunicationLibrary library) {
  switch (library) {
    case CommunicationLibrary::nccl:
      return "NCCL";
    case CommunicationLibrary::rccl:
      return "RCCL";
    case CommunicationLibrary::mpich:
      return "MPICH";
    case CommunicationLibrary::open_mpi:
      return "Open MPI";
    case CommunicationLibrary::gloo:
      return "Gloo";
  }
  return {};
}

std::string_view protocol_name(CommunicationLibrary library, Protocol protocol) {
  return is_of_hosts(library) ? "none" : config::name_of(protocol);
}

}  // namespace trainyard
