#include "schedule/steady_launches.hpp"

#include <algorithm>
#include <cmath>

namespace trainyard {

SteadyLaunches steady_launches(const Trace& trace, std::span<const OpTime> times) {
  constexpr int most_steps = 64;  // a lead grows slowly if the host is hardly faster than the GPU
  SteadyLaunches steady;
  Seconds host;
  Seconds gpu;
  for (int step = 0; step < most_steps; ++step) {
    const Seconds begun = gpu;
    const Seconds before = steady.step;
    steady.waits = {};
    steady.lead = gpu - host;
    host += trace.between_steps;
    for (std::size_t i = 0; i < trace.ops.size(); ++i) {
      const Op& op = trace.ops[i];
      host += op.host;
      if (op.host > Seconds() && host > gpu) {
        steady.waits += host - gpu;
        gpu = host;
      }
      gpu += times[i].duration;
      if (op.synchronises) host = std::max(host, gpu);
    }
    steady.step = gpu - begun;
    constexpr double rounding = 1e-12;
    if (std::abs((steady.step - before).si()) <= rounding * gpu.si() && step > 1) break;
  }
  return steady;
}

}  // namespace trainyard
