#include "schedule/steady_launches.hpp"

#include "units/ids.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace trainyard {

bool has_host(const Trace& trace) {
  return std::ranges::any_of(trace.ops, [](const Op& op) { return op.host > Seconds(); });
}

std::vector<LaunchedOp> launched_ops(const Trace& trace, std::span<const OpTime> times) {
  std::vector<LaunchedOp> ops;
  ops.reserve(trace.ops.size());
  for (std::size_t i = 0; i < trace.ops.size(); ++i) {
    const Op& op = trace.ops[i];
    ops.push_back({.duration = times[i].duration,
                   .host = op.host,
                   .launches = op.launches,
                   .synchronises = op.synchronises,
                   .awaits_start = op.awaits_start});
  }
  return ops;
}

SteadyLaunches steady_launches(std::span<const LaunchedOp> ops, const LaunchingHost& host_of_steps) {
  constexpr int most_steps = 64;  // a lead grows slowly if the host is hardly faster than the GPU
  const std::vector<int> before = ops_before_launch(ops, host_of_steps);
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
    work(host_of_steps.between_steps);
    for (std::size_t i = 0; i < ops.size(); ++i) {
      const LaunchedOp& op = ops[i];
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
      if (op.awaits_start) host = std::max(host, gpu) + host_of_steps.synchronise;
      gpu += op.duration;
      if (op.synchronises) host = std::max(host, gpu) + host_of_steps.synchronise;
      if (op.then > Seconds()) work(op.then);
    }
    steady.step = gpu - begun;
    constexpr double rounding = 1e-12;
    if (std::abs((steady.step - last_step).si()) <= rounding * gpu.si() && step > 1) break;
  }
  return steady;
}

SteadyLaunches steady_launches_alone(const RankClass& one, std::span<const OpTime> times, int micro_batches,
                                     const SharedHost& shared) {
  std::vector<LaunchedOp> once = launched_ops(one.trace, times);
  for (std::size_t i = 0; i < once.size(); ++i) {
    const bool is_of_ranks = one.trace.ops[i].role == OpRole::ranks_overhead;
    once[i].duration = is_of_ranks ? Seconds() : times[i].duration - times[i].slowest_gpu;
    once[i].host = time_alone(one.trace.ops[i], shared);
  }
  const std::size_t end = one.passes.empty() ? 0 : at(one.passes.back().end);
  std::vector<LaunchedOp> ops;
  for (int micro_batch = 0; micro_batch < micro_batches; ++micro_batch) {
    for (std::size_t i = 0; i < end; ++i) {
      if (micro_batch > 0 || !is_of_later_micro_batches(one.trace.ops[i])) ops.push_back(once[i]);
    }
  }
  ops.insert(ops.end(), once.begin() + static_cast<std::ptrdiff_t>(end), once.end());
  LaunchingHost host = one.trace.host;
  host.between_steps = host.between_steps / shared.rest;
  return steady_launches(ops, host);
}

std::vector<int> ops_before_launch(std::span<const LaunchedOp> all, const LaunchingHost& host) {
  if (host.places == 0) return {};
  std::vector<int> op_of;  // by launch of a step
  for (std::size_t i = 0; i < all.size(); ++i)
    op_of.insert(op_of.end(), at(all[i].launches), static_cast<int>(i));
  const auto launches = static_cast<int>(op_of.size());
  const auto ops = static_cast<int>(all.size());
  std::vector<int> before;
  int launched = 0;
  for (int i = 0; i < ops; ++i) {
    launched += all[at(i)].launches;
    const int awaited = launched - 1 - host.places;
    const int step = (awaited >= 0 ? awaited : awaited - launches + 1) / launches;
    before.push_back(std::min(step * ops + op_of[at(awaited - step * launches)], i - 1));
  }
  return before;
}

}  // namespace trainyard
