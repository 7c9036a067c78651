#pragma once
// Runs work on another GPU than the current one, for measurements that need several.

#include "check_cuda.cuh"

namespace trainyard::cuda {

/// Makes another GPU current as long as it exists.
class OnDevice {
public:
  explicit OnDevice(int device) {
    CHECK_CUDA(cudaGetDevice(&before_));
    CHECK_CUDA(cudaSetDevice(device));
  }
  ~OnDevice() { (void)cudaSetDevice(before_); }
  OnDevice(const OnDevice&) = delete;
  OnDevice& operator=(const OnDevice&) = delete;

private:
  int before_ = 0;
};

}  // namespace trainyard::cuda
