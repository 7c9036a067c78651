// Describes the row-major products of the plan to cuBLASLt. A row-major matrix is, byte for byte, the
// column-major one of its transpose, so C = A B is requested as C' = B' A' in column-major order: cuBLASLt's
// first operand is B here, its rows are columns here. CUBLASLT_ORDER_ROW would be equivalent, but frameworks
// swap, and the measurement should use the same algorithm as they do.

#include "library_versions.hpp"
#include "missing_dtype.cuh"
#include "prepare_gemm.cuh"
#include "reference.hpp"
#include "rotation.cuh"
#include "stream.cuh"

#include <algorithm>
#include <array>
#include <cmath>
#include <cublasLt.h>
#include <memory>
#include <string>

namespace trainyard::cuda {
namespace {

constexpr std::uint64_t seed_a = 1;
constexpr std::uint64_t seed_b = 2;
constexpr std::uint64_t seed_c = 3;  // of the previous content of C: detects a product that is not written

void check_cublas(cublasStatus_t status, const char* call) {
  if (status == CUBLAS_STATUS_SUCCESS) return;
  const std::string text = std::string(call) + ": " + cublasLtGetStatusString(status);
  if (status == CUBLAS_STATUS_ALLOC_FAILED) throw OutOfMemory(text);
  throw MeasurementFailed(text);
}

#define CHECK_CUBLAS(call) check_cublas((call), #call)

/// One per process, never destroyed: when static objects end, the CUDA context may no longer exist.
cublasLtHandle_t handle() {
  static const cublasLtHandle_t instance = [] {
    cublasLtHandle_t created = nullptr;
    CHECK_CUBLAS(cublasLtCreate(&created));
    return created;
  }();
  return instance;
}

/// PyTorch's workspace for cuBLAS: 32 MiB from Hopper on, as cuBLAS's documentation of cublasSetWorkspace
/// recommends, before that 2 buffers of 4 MiB and 8 of 16 KiB. Source:
/// aten/src/ATen/cuda/CublasHandlePool.cpp, the default of CUBLAS_WORKSPACE_CONFIG (PyTorch 2.x).
std::size_t workspace_bytes() {
  constexpr std::size_t kib = 1024;
  return compute_capability() >= 90 ? 32 * kib * kib : 2 * 4096 * kib + 8 * 16 * kib;
}

cudaDataType_t type_of(Dtype dtype) {
  if (dtype == Dtype::fp16) return CUDA_R_16F;
  return dtype == Dtype::bf16 ? CUDA_R_16BF : CUDA_R_32F;
}

/// CUBLAS_COMPUTE_32F multiplies fp32 operands in fp32: TF32 must be requested.
cublasComputeType_t compute_type_of(Dtype dtype) {
  return dtype == Dtype::tf32 ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F;
}

/// A matrix in its stored form, row-major.
struct Stored {
  int rows = 0;
  int columns = 0;

  [[nodiscard]] std::size_t elements() const {
    return static_cast<std::size_t>(rows) * static_cast<std::size_t>(columns);
  }
};

Stored stored(int rows, int columns, bool transposed) {
  return transposed ? Stored{columns, rows} : Stored{rows, columns};
}

/// cuBLASLt's description of `batch` row-major matrices, stored without gaps: column-major ones with rows and
/// columns swapped.
cublasLtMatrixLayoutOpaque_t layout_of(const Stored& matrix, int batch, cudaDataType_t type) {
  cublasLtMatrixLayoutOpaque_t layout{};
  CHECK_CUBLAS(cublasLtMatrixLayoutInit(&layout, type, static_cast<std::uint64_t>(matrix.columns),
                                        static_cast<std::uint64_t>(matrix.rows), matrix.columns));
  if (batch > 1) {
    const std::int32_t count = batch;
    const auto offset = static_cast<std::int64_t>(matrix.elements());
    CHECK_CUBLAS(
        cublasLtMatrixLayoutSetAttribute(&layout, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &count, sizeof count));
    CHECK_CUBLAS(cublasLtMatrixLayoutSetAttribute(&layout, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET,
                                                  &offset, sizeof offset));
  }
  return layout;
}

cublasLtMatmulDescOpaque_t operation_of(const GemmShape& shape, Dtype dtype) {
  cublasLtMatmulDescOpaque_t operation{};
  CHECK_CUBLAS(cublasLtMatmulDescInit(&operation, compute_type_of(dtype), CUDA_R_32F));
  const std::int32_t first = shape.transpose_b ? CUBLAS_OP_T : CUBLAS_OP_N;
  const std::int32_t second = shape.transpose_a ? CUBLAS_OP_T : CUBLAS_OP_N;
  CHECK_CUBLAS(cublasLtMatmulDescSetAttribute(&operation, CUBLASLT_MATMUL_DESC_TRANSA, &first, sizeof first));
  CHECK_CUBLAS(
      cublasLtMatmulDescSetAttribute(&operation, CUBLASLT_MATMUL_DESC_TRANSB, &second, sizeof second));
  return operation;
}

/// The product's descriptions, operands and algorithm.
class Gemm {
public:
  Gemm(const GemmShape& shape, Dtype dtype);

  void launch(int repetition, cudaStream_t stream) { CHECK_CUBLAS(enqueue(algorithm_, repetition, stream)); }
  [[nodiscard]] double check() const;

private:
  cublasLtMatmulAlgo_t choose_algorithm();
  cublasStatus_t enqueue(const cublasLtMatmulAlgo_t& algorithm, int repetition, cudaStream_t stream);
  void compare(ReferenceCheck& check, std::uint64_t position) const;

  GemmShape shape_;
  Dtype dtype_;
  Stored stored_a_;
  Stored stored_b_;
  Stored stored_c_;
  cublasLtMatmulDescOpaque_t operation_;
  cublasLtMatrixLayoutOpaque_t layout_a_;
  cublasLtMatrixLayoutOpaque_t layout_b_;
  cublasLtMatrixLayoutOpaque_t layout_c_;
  DeviceBuffer workspace_;
  ColdBuffers a_;
  ColdBuffers b_;
  ColdBuffers c_;
  cublasLtMatmulAlgo_t algorithm_{};
};

Gemm::Gemm(const GemmShape& shape, Dtype dtype)
    : shape_(shape),
      dtype_(dtype),
      stored_a_(stored(shape.m, shape.k, shape.transpose_a)),
      stored_b_(stored(shape.k, shape.n, shape.transpose_b)),
      stored_c_{shape.m, shape.n},
      operation_(operation_of(shape, dtype)),
      layout_a_(layout_of(stored_a_, shape.batch, type_of(dtype))),
      layout_b_(layout_of(stored_b_, shape.batch, type_of(dtype))),
      layout_c_(layout_of(stored_c_, shape.batch, type_of(dtype))),
      workspace_(workspace_bytes()) {
  const auto bytes = [&](const Stored& matrix) {
    return static_cast<std::size_t>(shape.batch) * matrix.elements() * size_of(dtype);
  };
  const int copies = cold_copies(bytes(stored_a_) + bytes(stored_b_) + bytes(stored_c_));
  a_ = ColdBuffers(bytes(stored_a_), copies);
  b_ = ColdBuffers(bytes(stored_b_), copies);
  c_ = ColdBuffers(bytes(stored_c_), copies);
  fill_random(a_, dtype, seed_a);
  fill_random(b_, dtype, seed_b);
  fill_random(c_, dtype, seed_c);
  algorithm_ = choose_algorithm();
}

cublasStatus_t Gemm::enqueue(const cublasLtMatmulAlgo_t& algorithm, int repetition, cudaStream_t stream) {
  const float alpha = 1;
  const float beta = 0;
  void* const c = c_[repetition];
  return cublasLtMatmul(handle(), &operation_, &alpha, b_[repetition], &layout_b_, a_[repetition], &layout_a_,
                        &beta, c, &layout_c_, c, &layout_c_, &algorithm, workspace_.data(),
                        workspace_.bytes(), stream);
}

/// The heuristic's first algorithm, which frameworks use; a later one only if the first does not run. The
/// operands are aligned to 256 bytes, as the heuristic assumes; it reads leading dimensions and strides from
/// the layouts.
cublasLtMatmulAlgo_t Gemm::choose_algorithm() {
  cublasLtMatmulPreferenceOpaque_t preference{};
  CHECK_CUBLAS(cublasLtMatmulPreferenceInit(&preference));
  const std::uint64_t most = workspace_.bytes();
  CHECK_CUBLAS(cublasLtMatmulPreferenceSetAttribute(&preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES,
                                                    &most, sizeof most));
  std::array<cublasLtMatmulHeuristicResult_t, 8> found{};
  int count = 0;
  cublasStatus_t status =
      cublasLtMatmulAlgoGetHeuristic(handle(), &operation_, &layout_b_, &layout_a_, &layout_c_, &layout_c_,
                                     &preference, static_cast<int>(found.size()), found.data(), &count);
  if (status != CUBLAS_STATUS_NOT_SUPPORTED) check_cublas(status, "cublasLtMatmulAlgoGetHeuristic");

  const Stream stream;
  for (int i = 0; i < count; ++i) {
    const cublasLtMatmulHeuristicResult_t& candidate = found.at(static_cast<std::size_t>(i));
    status = candidate.state;
    if (status == CUBLAS_STATUS_SUCCESS) status = enqueue(candidate.algo, 0, stream.get());
    if (status != CUBLAS_STATUS_SUCCESS) continue;
    stream.synchronize();
    return candidate.algo;
  }
  throw GemmNotPossible("cuBLASLt " + cublaslt_version() + " has no algorithm for it on this GPU" +
                        (count > 0 ? std::string(" that runs: ") + cublasLtGetStatusString(status) : ""));
}

/// Compares `position` in all products of C, row by row.
void Gemm::compare(ReferenceCheck& check, std::uint64_t position) const {
  const std::uint64_t product = position / stored_c_.elements();
  const std::uint64_t row = position % stored_c_.elements() / static_cast<std::uint64_t>(shape_.n);
  const std::uint64_t column = position % static_cast<std::uint64_t>(shape_.n);
  const auto step = [](const Stored& matrix, bool by_row) {
    return by_row ? static_cast<std::uint64_t>(matrix.columns) : 1;
  };
  const std::uint64_t first_a = product * stored_a_.elements() + row * step(stored_a_, !shape_.transpose_a);
  const std::uint64_t first_b = product * stored_b_.elements() + column * step(stored_b_, shape_.transpose_b);
  const std::uint64_t step_a = step(stored_a_, shape_.transpose_a);
  const std::uint64_t step_b = step(stored_b_, !shape_.transpose_b);

  double sum = 0;
  double magnitude = 0;
  for (std::uint64_t i = 0; i < static_cast<std::uint64_t>(shape_.k); ++i) {
    const double term = stored_value(dtype_, seed_a, first_a + i * step_a) *
                        stored_value(dtype_, seed_b, first_b + i * step_b);
    sum += term;
    magnitude += std::abs(term);
  }
  check.compare(position, value_at(c_[0], position, dtype_), sum, magnitude);
}

double Gemm::check() const {
  constexpr int most_terms = 2'000'000;  // for all samples: about 20 ms
  const int samples = std::clamp(most_terms / shape_.k, 16, 64);
  ReferenceCheck check("gemm in " + std::string(name_of(dtype_)), dtype_);
  const std::uint64_t elements = static_cast<std::uint64_t>(shape_.batch) * stored_c_.elements();
  for (const std::uint64_t position : sample_positions(elements, samples)) compare(check, position);
  return check.error();
}

}  // namespace

PreparedKernel prepare_gemm(const GemmShape& shape, Dtype dtype) {
  if (const auto reason = missing_dtype(dtype)) throw GemmNotPossible(*reason);
  const auto gemm = std::make_shared<Gemm>(shape, dtype);
  return {.launch = [gemm](int repetition, cudaStream_t stream) { gemm->launch(repetition, stream); },
          .check = [gemm] { return gemm->check(); }};
}

std::string cublaslt_version() {
  const auto part = [](libraryPropertyType which) {
    int value = 0;
    CHECK_CUBLAS(cublasLtGetProperty(which, &value));
    return std::to_string(value);
  };
  return part(MAJOR_VERSION) + "." + part(MINOR_VERSION) + "." + part(PATCH_LEVEL);
}

}  // namespace trainyard::cuda
