#pragma once
// cuDNN's "backend descriptors", the elements of its graph API, as values that release themselves; and its
// status codes as exceptions.

#include "measurement.hpp"

#include <cstdint>
#include <cudnn_graph.h>
#include <string>
#include <utility>

namespace trainyard::cuda {

/// A call of cuDNN failed.
struct CudnnError : MeasurementFailed {
  CudnnError(cudnnStatus_t status_, const std::string& text) : MeasurementFailed(text), status(status_) {}
  cudnnStatus_t status;
};

/// True if this GPU or this version of cuDNN does not support the row, which is not an error of this program.
bool is_not_supported(const CudnnError& error);

/// Does nothing on success. Throws OutOfMemory if cuDNN found no memory on the GPU, otherwise CudnnError:
/// "cudnnCreate(...): CUDNN_STATUS_NOT_INITIALIZED, why".
void check_cudnn(cudnnStatus_t status, const char* call);

/// CHECK_CUDNN(cudnnSetStream(handle, stream));
#define CHECK_CUDNN(call) ::trainyard::cuda::check_cudnn((call), #call)

/// One per process, for the GPU that was current at the first call; never destroyed: when static objects end,
/// the CUDA context may no longer exist. Throws CudnnError.
cudnnHandle_t cudnn_handle();

/// A descriptor: created, given its attributes, finalised, then used. Objects to which it refers must exist
/// as long as it does.
class Descriptor {
public:
  explicit Descriptor(cudnnBackendDescriptorType_t type) {
    CHECK_CUDNN(cudnnBackendCreateDescriptor(type, &raw_));
  }
  ~Descriptor() {
    if (raw_ != nullptr) (void)cudnnBackendDestroyDescriptor(raw_);
  }
  Descriptor(Descriptor&& other) noexcept : raw_(std::exchange(other.raw_, nullptr)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(raw_, other.raw_);
    return *this;
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;

  /// `count` values of `type`, listed in cuDNN's reference for the attribute. Throws CudnnError.
  void set(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, std::int64_t count,
           const void* values) {
    CHECK_CUDNN(cudnnBackendSetAttribute(raw_, name, type, count, values));
  }
  void set(cudnnBackendAttributeName_t name, std::int64_t value) { set(name, CUDNN_TYPE_INT64, 1, &value); }
  void set(cudnnBackendAttributeName_t name, cudnnDataType_t value) {
    set(name, CUDNN_TYPE_DATA_TYPE, 1, &value);
  }
  void set(cudnnBackendAttributeName_t name, const Descriptor& value) {
    set(name, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &value.raw_);
  }

  void finalize() { CHECK_CUDNN(cudnnBackendFinalize(raw_)); }

  [[nodiscard]] cudnnBackendDescriptor_t get() const { return raw_; }

private:
  cudnnBackendDescriptor_t raw_ = nullptr;
};

}  // namespace trainyard::cuda
