#pragma once
// Profiles as torch.profiler writes them, made event by event.

#include "temporary_folder.hpp"

#include <fmt/format.h>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

namespace trainyard::testing {

/// An event of the host: an operator, a range or a launch. Times in us.
inline std::string host_event(std::string_view category, std::string_view name, double start, double duration,
                              std::string_view arguments = {}, int thread = 1) {
  return fmt::format(
      "  {{\n    \"ph\": \"X\", \"cat\": \"{}\", \"name\": \"{}\", \"pid\": 9, \"tid\": {},\n    \"ts\": "
      "{:.3f}, \"dur\": "
      "{:.3f},\n    \"args\": {{\n      {}\n    }}\n  }}",
      category, name, thread, start, duration, arguments);
}

/// Work of GPU 0 on a stream.
inline std::string gpu_event(std::string_view category, std::string_view name, double start, double duration,
                             int correlation, int stream = 7, std::string_view arguments = {}) {
  return fmt::format(
      "  {{\n    \"ph\": \"X\", \"cat\": \"{}\", \"name\": \"{}\", \"pid\": 0, \"tid\": {},\n    \"ts\": "
      "{:.3f}, \"dur\": "
      "{:.3f},\n    \"args\": {{\n      \"device\": 0, \"stream\": {}, \"correlation\": {}{}{}\n    }}\n  }}",
      category, name, stream, start, duration, stream, correlation, arguments.empty() ? "" : ", ", arguments);
}

/// A launch and the kernel that it starts.
inline std::vector<std::string> kernel(std::string_view name, double launched, double start, double duration,
                                       int correlation, int thread = 1, int stream = 7,
                                       std::string_view arguments = {}) {
  return {host_event("cuda_runtime", "cudaLaunchKernel", launched, 1,
                     fmt::format("\"correlation\": {}", correlation), thread),
          gpu_event("kernel", name, start, duration, correlation, stream, arguments)};
}

inline std::string kineto_text(const std::vector<std::string>& events, std::string_view rest = {}) {
  std::string text = "{\n  \"schemaVersion\": 1,\n";
  text += "  \"deviceProperties\": [{\"id\": 0, \"name\": \"NVIDIA A100-SXM4-40GB\", \"numSms\": 108}],\n";
  text += std::string(rest) + "  \"traceEvents\": [\n";
  for (std::size_t i = 0; i < events.size(); ++i) text += (i > 0 ? ",\n" : "") + events[i];
  return text + "\n  ],\n  \"traceName\": \"x.json\"\n}\n";
}

/// A file in a folder that vanishes with it.
class ProfileFile {
public:
  explicit ProfileFile(std::string_view bytes) {
    std::ofstream(path(), std::ios::binary).write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  }
  [[nodiscard]] std::string path() const { return (folder_.path / "profile.json").string(); }

private:
  TemporaryFolder folder_;
};

/// One step of a model with two layers on a rank of two: an addmm and a relu forward, their backward on
/// another thread, one all-reduce of 1,004 floats beside the last, and an optimizer. `at`: us.
inline std::vector<std::string> step_of_two_layers(int number, double at, int first_correlation) {
  std::vector<std::string> events{
      host_event("user_annotation", fmt::format("ProfilerStep#{}", number), at, 100),
      host_event(
          "cpu_op", "aten::linear", at + 1, 9,
          R"("Sequence number": 1, "Input Dims": [[8, 16], [4, 16], [4]], "Input type": ["float", "float", "float"])"),
      host_event("cpu_op", "aten::addmm", at + 2, 7, R"("Sequence number": 2)"),
      host_event("cpu_op", "aten::relu", at + 11, 4,
                 R"("Sequence number": 3, "Input Dims": [[8, 4]], "Input type": ["float"])"),
      host_event("cpu_op", "autograd::engine::evaluate_function: ReluBackward0", at + 20, 6,
                 R"("Sequence number": 3, "Fwd thread id": 1)", 2),
      host_event("cpu_op", "aten::threshold_backward", at + 21, 4, "", 2),
      host_event("cpu_op", "autograd::engine::evaluate_function: AddmmBackward0", at + 27, 8,
                 R"("Sequence number": 2, "Fwd thread id": 1)", 2),
      host_event("cpu_op", "aten::mm", at + 28, 4,
                 R"("Input Dims": [[4, 8], [8, 16]], "Input type": ["float", "float"])", 2),
      host_event("cpu_op", "torch::autograd::AccumulateGrad", at + 36, 1,
                 R"("Input Dims": [[4, 16]], "Input type": ["float"])", 2),
      host_event("cpu_op", "torch::autograd::AccumulateGrad", at + 38, 1,
                 R"("Input Dims": [[4]], "Input type": ["float"])", 2),
      host_event(
          "cpu_op", "record_param_comms", at + 40, 4,
          R"("Collective name": "allreduce", "In msg nelems": 68, "Out msg nelems": 68, "dtype": "Float", "Group size": 2)",
          2),
      host_event("user_annotation", "Optimizer.step#SGD.step", at + 60, 10),
      host_event("cpu_op", "aten::_foreach_add_", at + 61, 5)};
  const auto add = [&](const std::vector<std::string>& more) {
    events.insert(events.end(), more.begin(), more.end());
  };
  add(kernel("ampere_sgemm_64x64_tn", at + 3, at + 10, 20, first_correlation));
  add(kernel("vectorized_elementwise_kernel<4, relu>", at + 12, at + 30, 5, first_correlation + 1));
  add(kernel("vectorized_elementwise_kernel<4, threshold>", at + 22, at + 35, 5, first_correlation + 2, 2));
  add(kernel("ampere_sgemm_64x64_nt", at + 29, at + 40, 10, first_correlation + 3, 2));
  add(kernel("ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)", at + 41, at + 50,
             15, first_correlation + 4, 2, 20));
  add(kernel("multi_tensor_apply_kernel<add>", at + 62, at + 70, 4, first_correlation + 5));
  return events;
}

/// Three such steps, 100 us apart.
inline std::string three_steps() {
  std::vector<std::string> events;
  for (int i = 0; i < 3; ++i) {
    const auto one = step_of_two_layers(i + 3, 1000 + 100.0 * i, 100 * (i + 1));
    events.insert(events.end(), one.begin(), one.end());
  }
  return kineto_text(events,
                     "  \"distributedInfo\": {\"backend\": \"nccl\", \"rank\": 0, \"world_size\": 2},\n");
}

}  // namespace trainyard::testing
