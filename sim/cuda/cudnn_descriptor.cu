#include "cudnn_descriptor.hpp"
#include "library_versions.hpp"

#include <algorithm>
#include <array>

namespace trainyard::cuda {
namespace {

/// ", why" for the last error, on one line; empty if cuDNN gives no reason.
std::string reason() {
  std::array<char, 512> text{};
  cudnnGetLastErrorString(text.data(), text.size());
  std::string line(text.data());
  std::replace(line.begin(), line.end(), '\n', ' ');
  return line.empty() ? "" : ", " + line;
}

}  // namespace

bool is_not_supported(const CudnnError& error) {
  return CUDNN_STATUS_CATEGORY(error.status) == CUDNN_STATUS_NOT_SUPPORTED;
}

void check_cudnn(cudnnStatus_t status, const char* call) {
  if (status == CUDNN_STATUS_SUCCESS) return;
  const std::string text = std::string(call) + ": " + cudnnGetErrorString(status) + reason();
  if (status == CUDNN_STATUS_INTERNAL_ERROR_DEVICE_ALLOCATION_FAILED) throw OutOfMemory(text);
  throw CudnnError(status, text);
}

cudnnHandle_t cudnn_handle() {
  static const cudnnHandle_t instance = [] {
    cudnnHandle_t created = nullptr;
    CHECK_CUDNN(cudnnCreate(&created));
    return created;
  }();
  return instance;
}

std::optional<std::string> cudnn_version() {
  const std::size_t version = cudnnGetVersion();  // 10000 x major + 100 x minor + patch since cuDNN 9
  return std::to_string(version / 10000) + "." + std::to_string(version / 100 % 100) + "." +
         std::to_string(version % 100);
}

}  // namespace trainyard::cuda
