#pragma once
// A recording: times of kernels on one GPU, as trainyard_gpu_kernels writes it (sim/cuda/README.md) or copied
// from published tables. A profile's kernel table is read from it and `calibrate gpu` fits to it.

#include "compute/dtype.hpp"
#include "units/quantity.hpp"
#include "workload/trace.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace trainyard {

/// The GPU and software of the kernels: the "# key: value" lines before the table. Unknown values are empty.
struct RecordingFacts {
  std::string gpu;
  std::string driver, cuda, cublaslt, cudnn, nccl;  ///< versions
  std::string date;
  std::string source;
  std::optional<double> compute_capability;
  std::optional<double> sm_count;
  std::optional<double> sm_clock_mhz;
  std::optional<Bytes> memory_capacity;
  std::optional<Bandwidth> memory_bandwidth;
  std::optional<Watts> power_limit;
  /// "# timing: framework": every time includes the framework's dispatch, some tens of microseconds, so times
  /// show growth with size but not the duration of a kernel.
  bool is_framework_timing = false;
};

/// The variant of a product in fp8 that is a whole call of a linear layer: it casts its input from 16 bits.
inline constexpr std::string_view variant_with_cast = "with_cast";

struct RecordedKernel {
  std::string op;              ///< a kind of op in a trace, or another measurement
  std::optional<OpKind> kind;  ///< its kind in a trace
  std::string variant;         ///< "nhwc", "relu", "forward w1024"
  std::optional<Dtype> dtype;
  Shape shape;
  Bytes bytes;  ///< counted for it in a trace, or copied
  Seconds time;
  std::optional<Watts> power;
  bool is_derived = false;  ///< `time` is that of a longer call, less a part that was fitted
  int line = 0;
};

struct Recording {
  std::string name;  ///< file name without folder
  RecordingFacts facts;
  std::vector<RecordedKernel> rows;
};

/// Reads a recording: columns op, dtype, shape and time_us in any order, and optionally variant, bytes,
/// spread_us, repetitions, error, power_w, clock_mhz and derived. Without `bytes`, the bytes of a convolution
/// or matrix product follow from its shape. Throws InputError with every problem found.
Recording read_recording(std::string name, std::string_view text);

/// The recording as CSV: its facts, then op, variant, dtype, shape, bytes and time_us of each row, and
/// derived if any is; times with six significant digits. Reads back to the same rows.
std::string recording_text(const Recording& recording);

}  // namespace trainyard
