// Replaces the convolutions if the program is built without cuDNN.

#include "library_versions.hpp"
#include "measure.hpp"

namespace trainyard::cuda {

Outcome measure_conv(const Request&) {
  return Skipped{"this program was built without cuDNN (README.md says how to name its folder)"};
}

std::optional<std::string> cudnn_version() { return std::nullopt; }

}  // namespace trainyard::cuda
