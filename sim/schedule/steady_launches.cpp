#include "schedule/steady_launches.hpp"

#include "units/ids.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace trainyard {

bool has_host(const Trace& trace) {
  return std::ranges::any_of(trace.ops, [](const Op& op) { return op.host > Seconds(); });
}

SteadyLaunches steady_launches(const Trace& trace, std::span<const OpTime> times) {
  constexpr int most_steps = 64;  // a lead grows slowly if the host is hardly faster than the GPU
  const std::vector<int> before = ops_before_launch(trace);
  std::vector<Seconds> begins;  // of the ops of all steps
  SteadyLaunches steady;
  Seconds host;
  Seconds gpu;
  for (int step = 0; step < most_steps; ++step) {
    const Seconds begun = gpu;
    const Seconds last_step = steady.step;
    const auto first = static_cast<std::int64_t>(begins.size());
    steady.waits = steady.lead = {};
    const auto work = [&](Seconds time) {
      steady.lead += std::clamp(begun - host, Seconds(), time);
      host += time;
    };
    work(trace.between_steps);
    for (std::size_t i = 0; i < trace.ops.size(); ++i) {
      const Op& op = trace.ops[i];
      if (op.host > Seconds()) {
        work(op.host);
        if (!before.empty() && first + before[i] >= 0)
          host = std::max(host, begins[static_cast<std::size_t>(first + before[i])]);
        if (host > gpu) {
          steady.waits += host - gpu;
          gpu = host;
        }
      }
      begins.push_back(gpu);
      gpu += times[i].duration;
      if (op.synchronises) host = std::max(host, gpu) + trace.queue.latency;
    }
    steady.step = gpu - begun;
    constexpr double rounding = 1e-12;
    if (std::abs((steady.step - last_step).si()) <= rounding * gpu.si() && step > 1) break;
  }
  return steady;
}

SteadyLaunches steady_launches_alone(const Trace& trace, std::span<const OpTime> times) {
  std::vector<OpTime> mean(times.begin(), times.end());
  for (std::size_t i = 0; i < mean.size(); ++i)
    mean[i].duration =
        trace.ops[i].role == OpRole::ranks_overhead ? Seconds() : times[i].duration - times[i].slowest_gpu;
  return steady_launches(trace, mean);
}

std::vector<int> ops_before_launch(const Trace& trace) {
  if (trace.queue.places == 0) return {};
  std::vector<int> op_of;  // by launch of a step
  for (std::size_t i = 0; i < trace.ops.size(); ++i)
    op_of.insert(op_of.end(), at(trace.ops[i].launches), static_cast<int>(i));
  const auto launches = static_cast<int>(op_of.size());
  const auto ops = static_cast<int>(trace.ops.size());
  std::vector<int> before;
  int launched = 0;
  for (int i = 0; i < ops; ++i) {
    launched += trace.ops[at(i)].launches;
    const int awaited = launched - 1 - trace.queue.places;
    const int step = (awaited >= 0 ? awaited : awaited - launches + 1) / launches;
    before.push_back(std::min(step * ops + op_of[at(awaited - step * launches)], i - 1));
  }
  return before;
}

}  // namespace trainyard
