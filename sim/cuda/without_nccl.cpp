// Replaces measure_nccl.cpp if the program is built without NCCL.

#include "library_versions.hpp"
#include "measure.hpp"

namespace trainyard::cuda {

Outcome measure_all_reduce(const Request&) {
  return Skipped{"this program was built without NCCL (README.md says how to name its folder)"};
}

std::optional<std::string> nccl_version() { return std::nullopt; }

}  // namespace trainyard::cuda
