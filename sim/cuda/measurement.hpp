#pragma once
// Input and output of a measurement: one row of the plan, one row of the recording. Every measure_*.cu turns
// the first into the second; nothing here needs CUDA.

#include <optional>
#include <stdexcept>
#include <string>
#include <variant>

namespace trainyard::cuda {

/// One row of the plan: the measurement to make. README.md lists the ops with their variants and shapes.
struct Request {
  std::string op;
  std::string variant;  ///< "-" if the op has none
  std::string dtype;    ///< fp32, tf32, fp16, bf16; "-" if it does not matter
  std::string shape;    ///< "-" if the op has none
  double bytes = 0;     ///< as counted by the simulator; the size itself for copies and collectives

  bool operator==(const Request&) const = default;
};

/// One row of the recording, without its request.
struct Measurement {
  double time_us = 0;    ///< median of the repetitions
  double spread_us = 0;  ///< their interquartile range
  int repetitions = 0;
  std::optional<double> error = {};      ///< largest relative error; nothing if it cannot be checked
  std::optional<double> power_w = {};    ///< mean of NVML's readings
  std::optional<double> clock_mhz = {};  ///< median of NVML's SM clocks
};

/// This GPU cannot run the row: not an error, and not recorded.
struct Skipped {
  std::string reason;  ///< lower case, no full stop: "bf16 needs compute capability 8.0, this GPU has 7.0"
};

using Outcome = std::variant<Measurement, Skipped>;

/// A kernel's result differs from the reference: its time is never recorded.
struct WrongResult : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// A row's buffers do not fit: the dispatcher turns it into Skipped.
struct OutOfMemory : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// A measurement failed for a reason of its own (a library's call reported an error): it is not recorded, but
/// the next rows can still be measured.
struct MeasurementFailed : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// The GPU no longer answers (an invalid address, a failed link): this process cannot measure any further
/// row.
struct GpuLost : std::runtime_error {
  using std::runtime_error::runtime_error;
};

}  // namespace trainyard::cuda
