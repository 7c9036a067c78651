#pragma once
// A recording: what kernels took on one GPU, as trainyard_gpu_kernels writes it (sim/cuda/README.md) or as
// published tables are put down. A profile's kernel table is read from it and `calibrate gpu` fits to it.

#include "compute/dtype.hpp"
#include "units/quantity.hpp"
#include "workload/trace.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace trainyard {

/// Where and with what the kernels ran: the "# key: value" lines before the table. What is not known is
/// empty.
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
  /// "# timing: framework": each time holds the framework's dispatch, some tens of microseconds, so that it
  /// says how times grow but not what a kernel takes.
  bool is_framework_timing = false;
};

struct RecordedKernel {
  std::string op;              ///< a kind of op of a trace, or one of the measurements that are none
  std::optional<OpKind> kind;  ///< what it is in a trace
  std::string variant;         ///< "nhwc", "relu", "forward w1024"
  std::optional<Dtype> dtype;
  Shape shape;
  Bytes bytes;  ///< that the trace counts for it, or that are copied
  Seconds time;
  std::optional<Watts> power;
  int line = 0;
};

struct Recording {
  std::string name;  ///< of the file, without its folder
  RecordingFacts facts;
  std::vector<RecordedKernel> rows;
};

/// Reads a recording: columns op, dtype, shape and time_us in any order, and whichever of variant, bytes,
/// spread_us, repetitions, error, power_w and clock_mhz there are. Where `bytes` is not given it follows from
/// the shape of a convolution or matrix product. Throws InputError with every problem found.
Recording read_recording(std::string name, std::string_view text);

}  // namespace trainyard
