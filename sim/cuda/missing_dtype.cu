#include "device_memory.cuh"
#include "missing_dtype.cuh"

namespace trainyard::cuda {
namespace {

std::string capability_text(int capability) {
  return std::to_string(capability / 10) + "." + std::to_string(capability % 10);
}

}  // namespace

std::optional<std::string> missing_dtype(Dtype dtype) {
  const int needed = capability_needed(dtype);
  const int have = compute_capability();
  if (have >= needed) return std::nullopt;
  return std::string(name_of(dtype)) + " needs compute capability " + capability_text(needed) +
         ", this GPU has " + capability_text(have);
}

}  // namespace trainyard::cuda
