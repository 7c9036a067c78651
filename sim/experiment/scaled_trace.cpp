#include "experiment/scaled_trace.hpp"

#include "compute/curves.hpp"
#include "compute/op_time.hpp"
#include "compute/work.hpp"
#include "config/same_gpu.hpp"
#include "workload/model_file.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <optional>
#include <string>
#include <utility>
#include <variant>

namespace trainyard {
namespace {

bool is_scaled(const Op& op) { return op.duration && op.kind != OpKind::host; }

bool has_matrix_shape(const Op& op) {
  return std::holds_alternative<ConvShape>(op.shape) || std::holds_alternative<GemmShape>(op.shape);
}

/// Passes over the values of an op. Nothing for kinds whose bytes do not follow from one number of values:
/// the gradient of an embedding writes a whole table, an optimizer has its state.
std::optional<double> passes_of(const Op& op) {
  constexpr double read_and_write = 2;
  if (op.kind == OpKind::elementwise || op.kind == OpKind::pooling) return read_and_write;
  return passes_over_values(op.kind, op.phase);
}

bool has_vector_shape(const Op& op) { return std::holds_alternative<VectorShape>(op.shape) && passes_of(op); }

bool has_work(const Op& op) {
  if (has_matrix_shape(op) || has_vector_shape(op)) return true;
  return is_matrix(op.kind) ? op.flops > Flops() : op.bytes > Bytes();
}

Work work_of_shape(const Op& op, Dtype dtype) {
  if (const auto* shape = std::get_if<ConvShape>(&op.shape)) return work_of(*shape, dtype);
  if (const auto* shape = std::get_if<GemmShape>(&op.shape)) return work_of(*shape, dtype);
  if (op.bytes > Bytes()) return {op.flops, op.bytes};
  return {op.flops, *passes_of(op) * std::get<VectorShape>(op.shape).elements * size_of(dtype)};
}

/// The op as one of a model, whose time profiles predict.
Op without_duration(const Op& recorded, const KernelSettings& on) {
  Op op = recorded;
  op.duration.reset();
  if (op.kind == OpKind::measured) op.kind = OpKind::elementwise;
  if (op.kind != OpKind::attention && (has_matrix_shape(op) || has_vector_shape(op))) {
    const Work work = work_of_shape(op, dtype_of(on.precision, op));
    op.flops = work.flops;
    op.bytes = work.bytes;
  } else if (!has_work(op) && is_matrix(op.kind)) {
    op.flops = peak_rate(on.gpu, on.precision) * *recorded.duration;
  } else if (!has_work(op)) {
    op.bytes = on.gpu.memory.bandwidth.value * *recorded.duration;
  }
  return op;
}

/// Recorded and scaled time of ops, in all.
struct ScaledTime {
  Seconds recorded, with_work, scaled;
};

void scale_ops(Trace& trace, const KernelSettings& recorded, const KernelSettings& on, ScaledTime& sum) {
  for (Op& op : trace.ops) {
    if (!is_scaled(op)) continue;
    const double ratio = time_ratio(op, recorded, on);
    sum.recorded += *op.duration;
    if (has_work(op)) sum.with_work += *op.duration;
    op.duration = ratio * *op.duration;
    op.kernel = ratio * op.kernel;
    op.source = ComputeSource::fitted;
    sum.scaled += *op.duration;
  }
}

std::string note_on(const GpuProfile& from, Precision recorded, const KernelSettings& on,
                    const ScaledTime& times) {
  std::string note = fmt::format(
      "kernels were recorded on {} and are scaled to {}: they take {:.3g} times as long in all, by the "
      "ratio of the two profiles' times for each kernel's kind, shape and precision ({:.0f} % of the "
      "recorded time), or for one of its kind as large as its duration tells; the expected error counts both "
      "profiles",
      config::data_sheet_profile(from.name), on.gpu.name, times.scaled / times.recorded,
      100 * (times.with_work / times.recorded));
  if (on.precision != recorded)
    note += fmt::format("; {} has no {}: kernels in {} are scaled to its rates in {}", on.gpu.name,
                        config::name_of(dtype_of(recorded)), config::name_of(recorded),
                        config::name_of(on.precision));
  return note;
}

void require_scalable(const Trace& trace) {
  if (trace.gpu.empty())
    throw InputError("the trace does not name the GPU of its durations, so they cannot be scaled",
                     "write '# gpu: h100_sxm_80gb' above its header, or trace_times: recorded");
  if (std::ranges::none_of(trace.ops, is_scaled))
    throw InputError("the trace has no durations that could be scaled: the GPU profile computes all times",
                     "trace_times: recorded");
}

/// The profile of the recording GPU as it is shipped (overrides are of the machine's GPU), and of the same
/// kind as that of `on`: both with ops as PyTorch runs them, such as slow products of odd rows, or both with
/// kernels alone.
const GpuProfile& recording_gpu(const std::string& name, const GpuProfile& on,
                                const config::Catalogue& catalogue, InputFiles& files) {
  const std::string_view named =
      on.outside_pytorch ? config::recorded_profile(name) : config::data_sheet_profile(name);
  const std::filesystem::path file = find_once(files, catalogue, config::Kind::gpu, std::string(named));
  files.paths.insert(file.string());
  return files.gpus.get("recorded on " + file.string(), nullptr, [&](auto* warnings) {
    GpuProfile profile = load_gpu_profile(load_once(files, file), warnings);
    keep_op_times(profile);
    return profile;
  });
}

/// The kind of the shipped model whose name a trace's begins with ("llama3_8b with 4 of 32 blocks").
ModelKind kind_of_trace(const Trace& trace, const config::Catalogue& catalogue, InputFiles& files) {
  const std::string name = trace.model.substr(0, trace.model.find(' '));
  if (!std::ranges::binary_search(config::names(catalogue, config::Kind::model), name))
    return ModelKind::other;
  const std::filesystem::path file = find_once(files, catalogue, config::Kind::model, name);
  files.paths.insert(file.string());
  return kind_of(files.models
                     .get("named by a trace: " + file.string(), nullptr,
                          [&](auto* warnings) { return load_model(load_once(files, file), warnings); })
                     .layers);
}

}  // namespace

Precision precision_on(const GpuProfile& gpu, Precision recorded) {
  const bool has_half = find_rates(gpu, Dtype::fp16) != nullptr;
  if (find_rates(gpu, dtype_of(recorded)) != nullptr || !has_half) return recorded;
  switch (recorded) {
    case Precision::amp_bf16:
      return Precision::amp;
    case Precision::bf16:
    case Precision::pure_bf16:
      return Precision::fp16;
    default:
      return recorded;
  }
}

double time_ratio(const Op& op, const KernelSettings& recorded, const KernelSettings& on) {
  const Op work = without_duration(op, recorded);
  return op_time(on.gpu, on.precision, work, on.layout).duration /
         op_time(recorded.gpu, recorded.precision, work, recorded.layout).duration;
}

void scale_trace(ResolvedExperiment& resolved, Trace& trace, Precision recorded,
                 const config::Catalogue& catalogue, InputFiles& files) {
  require_scalable(trace);
  resolved.trace_kind = kind_of_trace(trace, catalogue, files);
  if (config::is_same_gpu(trace.gpu, resolved.gpu.name)) return;
  const GpuProfile& from = recording_gpu(trace.gpu, resolved.gpu, catalogue, files);
  const Layout layout = resolved.stack.layout;
  const KernelSettings on{resolved.gpu, resolved.settings.precision, layout};
  ScaledTime times;
  scale_ops(trace, {from, recorded, layout}, on, times);
  trace.gpu = resolved.gpu.name;
  resolved.scaled_from = from.name;
  std::string note = note_on(from, recorded, on, times);
  if (std::ranges::find(resolved.notes, note) == resolved.notes.end())
    resolved.notes.push_back(std::move(note));
}

}  // namespace trainyard
