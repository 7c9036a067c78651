#pragma once
// Turns CUDA's status codes into exceptions that name the failed call and the reason.

#include "measurement.hpp"

#include <cuda_runtime.h>
#include <string>

namespace trainyard::cuda {

/// A call of the CUDA runtime failed.
struct CudaError : std::runtime_error {
  CudaError(cudaError_t status_, const std::string& text) : std::runtime_error(text), status(status_) {}
  cudaError_t status;
};

/// Does nothing on success. Throws OutOfMemory if memory ran out (and clears the runtime's last error, so
/// that it does not affect the next row), otherwise CudaError: "cudaMemcpy(...): invalid argument".
inline void check_cuda(cudaError_t status, const char* call) {
  if (status == cudaSuccess) return;
  (void)cudaGetLastError();
  const std::string text = std::string(call) + ": " + cudaGetErrorString(status);
  if (status == cudaErrorMemoryAllocation) throw OutOfMemory(text);
  throw CudaError(status, text);
}

}  // namespace trainyard::cuda

/// CHECK_CUDA(cudaFree(p)); after a kernel launch: CHECK_CUDA(cudaGetLastError()).
#define CHECK_CUDA(call) ::trainyard::cuda::check_cuda((call), #call)
