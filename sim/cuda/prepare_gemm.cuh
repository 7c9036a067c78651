#pragma once
// A matrix product as frameworks run it, ready for launching: cuBLASLt with the first algorithm of its
// heuristic. measure_gemm.cu times it; the power measurement keeps the GPU busy with it.

#include "prepared_kernel.cuh"
#include "shapes.hpp"

#include <stdexcept>

namespace trainyard::cuda {

/// This GPU or this version of cuBLASLt cannot compute the product: rows that need it are skipped, for the
/// reason in what().
struct GemmNotPossible : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// C = A B of `shape`, operands and result in `dtype`, accumulation in fp32; fp32 never uses TF32. Chooses
/// the algorithm and runs it once as a test, so this takes some milliseconds in addition to filling the
/// operands. The check reads C of copy 0 and can be made after any number of launches. Throws
/// GemmNotPossible, OutOfMemory, MeasurementFailed, CudaError.
PreparedKernel prepare_gemm(const GemmShape& shape, Dtype dtype);

}  // namespace trainyard::cuda
