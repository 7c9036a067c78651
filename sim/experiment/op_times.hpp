#pragma once
// Times of a trace's ops with a stack: what the GPU profile gives, and what the software adds to it.

#include "compute/gpu_profile.hpp"
#include "compute/op_time.hpp"
#include "strategy/stack.hpp"
#include "workload/trace.hpp"

#include <utility>
#include <vector>

namespace trainyard {

/// Times the ops of several traces on one kind of GPU. Each shape is compared with the profile's whole table
/// once, since layers repeat within a trace and from stage to stage.
class OpTimer {
public:
  /// Both must outlive the timer.
  OpTimer(const GpuProfile& gpu, const Stack& stack);

  /// In the order of the trace. Throws as op_time().
  std::vector<OpTime> times(const Trace& trace);

private:
  /// All that op_time() reads of a product or a convolution.
  struct Kernel {
    Precision precision{};
    OpKind kind{};
    bool in_8_bits = false;
    Shape shape;
    Flops flops;
    Bytes bytes;
    friend bool operator==(const Kernel&, const Kernel&) = default;
  };

  OpTime kernel_time(const Op& op, Precision precision);

  const GpuProfile& gpu_;
  const Stack& stack_;
  std::vector<std::pair<Kernel, OpTime>> seen_;
};

/// The times of one trace: OpTimer::times().
std::vector<OpTime> op_times(const Trace& trace, const GpuProfile& gpu, const Stack& stack);

}  // namespace trainyard
