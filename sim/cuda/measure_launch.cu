// The cost of starting a kernel, by the host's clock: launching is the host's work.

#include "measure.hpp"
#include "statistics.hpp"
#include "stream.cuh"

#include <chrono>
#include <functional>
#include <memory>
#include <vector>

namespace trainyard::cuda {
namespace {

constexpr int kernels = 1000;

__global__ void empty_kernel() {}

void launch(const Stream& stream) {
  empty_kernel<<<1, 1, 0, stream.get()>>>();
  CHECK_CUDA(cudaGetLastError());
}

/// Calls `work`, which is equivalent to `count` kernels, `repetitions` times after a warm-up of a tenth as
/// many, at least 3.
Measurement time_on_host(const std::function<void()>& work, int repetitions, int count) {
  for (int i = 0; i < 3 + repetitions / 10; ++i) work();
  std::vector<double> times;
  for (int i = 0; i < repetitions; ++i) {
    const auto start = std::chrono::steady_clock::now();
    work();
    const auto stop = std::chrono::steady_clock::now();
    times.push_back(std::chrono::duration<double, std::micro>(stop - start).count() / count);
  }
  return {.time_us = median(times), .spread_us = interquartile_range(times), .repetitions = repetitions};
}

struct GraphEnd {
  void operator()(cudaGraph_t graph) const { (void)cudaGraphDestroy(graph); }
  void operator()(cudaGraphExec_t graph) const { (void)cudaGraphExecDestroy(graph); }
};
using Graph = std::unique_ptr<std::remove_pointer_t<cudaGraph_t>, GraphEnd>;
using ExecutableGraph = std::unique_ptr<std::remove_pointer_t<cudaGraphExec_t>, GraphEnd>;

/// A chain of empty kernels, each after the previous one.
ExecutableGraph make_graph(const Stream& stream) {
  launch(stream);  // loads the kernel, which must not happen on a stream that is being captured
  stream.synchronize();
  CHECK_CUDA(cudaStreamBeginCapture(stream.get(), cudaStreamCaptureModeThreadLocal));
  for (int i = 0; i < kernels; ++i) launch(stream);
  cudaGraph_t captured = nullptr;
  CHECK_CUDA(cudaStreamEndCapture(stream.get(), &captured));
  const Graph graph(captured);
  cudaGraphExec_t executable = nullptr;
  CHECK_CUDA(cudaGraphInstantiate(&executable, graph.get(), 0));
  return ExecutableGraph(executable);
}

}  // namespace

Outcome measure_launch(const Request& request) {
  const Stream stream;
  if (request.variant == "latency") {
    return time_on_host(
        [&] {
          launch(stream);
          stream.synchronize();
        },
        1000, 1);
  }
  if (request.variant == "rate") {
    return time_on_host(
        [&] {
          for (int i = 0; i < kernels; ++i) launch(stream);
          stream.synchronize();
        },
        50, kernels);
  }
  if (request.variant == "graph") {
    const ExecutableGraph graph = make_graph(stream);
    return time_on_host(
        [&] {
          CHECK_CUDA(cudaGraphLaunch(graph.get(), stream.get()));
          stream.synchronize();
        },
        50, kernels);
  }
  throw MeasurementFailed("unknown launch '" + request.variant + "'");
}

}  // namespace trainyard::cuda
