#pragma once
// What goes into a measurement and what comes out: one row of the plan, one row of the recording. Every
// measure_*.cu turns the first into the second; nothing here needs CUDA.

#include <optional>
#include <stdexcept>
#include <string>
#include <variant>

namespace trainyard::cuda {

/// One row of the plan: what to measure. README.md has the ops with their variants and shapes.
struct Request {
  std::string op;
  std::string variant;  ///< "-" where an op has none
  std::string dtype;    ///< fp32, tf32, fp16, bf16; "-" where it does not matter
  std::string shape;    ///< "-" where an op has none
  double bytes = 0;     ///< as the simulator counts them; the size itself for copies and collectives

  bool operator==(const Request&) const = default;
};

/// One row of the recording, beside its request.
struct Measurement {
  double time_us = 0;    ///< median of the repetitions
  double spread_us = 0;  ///< their interquartile range
  int repetitions = 0;
  std::optional<double> error = {};    ///< largest relative error found; nothing where nothing can be checked
  std::optional<double> power_w = {};  ///< mean of what NVML read
  std::optional<double> clock_mhz = {};  ///< median SM clock that NVML read
};

/// This GPU cannot run the row: no error, and not recorded.
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

/// A measurement failed for a reason of its own (a library's call reported an error): not recorded, and the
/// next rows can still be measured.
struct MeasurementFailed : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// The GPU answers nothing any more (an invalid address, a fallen link): no further row can be measured by
/// this process.
struct GpuLost : std::runtime_error {
  using std::runtime_error::runtime_error;
};

}  // namespace trainyard::cuda
