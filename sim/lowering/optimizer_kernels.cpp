#include "lowering/optimizer_kernels.hpp"

#include <algorithm>
#include <cmath>

namespace trainyard {

std::vector<TensorLaunch> tensor_launches(const std::vector<double>& tensors, int most_tensors) {
  constexpr double chunk = 65536;
  constexpr int most_chunks = 320;
  std::vector<TensorLaunch> launches;
  TensorLaunch open;
  int chunks = 0;
  const auto close = [&](int continued) {
    launches.push_back(open);
    open = {.tensors = continued, .values = 0};
    chunks = 0;
  };
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    ++open.tensors;
    const auto count = static_cast<long>(std::ceil(tensors[i] / chunk));
    for (long c = 0; c < count; ++c) {
      const bool is_last = c + 1 == count;
      open.values += std::min(chunk, tensors[i] - static_cast<double>(c) * chunk);
      ++chunks;
      const bool is_full =
          (chunks == most_chunks && most_tensors > 1) || (is_last && open.tensors == most_tensors);
      if (is_full || (is_last && i + 1 == tensors.size())) close(is_last ? 0 : 1);
    }
  }
  return launches;
}

}  // namespace trainyard
