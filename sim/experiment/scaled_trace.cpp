#include "experiment/scaled_trace.hpp"

#include "compute/curves.hpp"
#include "compute/op_time.hpp"
#include "compute/work.hpp"
#include "config/same_gpu.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <string>
#include <utility>
#include <variant>

namespace trainyard {
namespace {

bool is_scaled(const Op& op) { return op.duration && op.kind != OpKind::host; }

bool has_matrix_shape(const Op& op) {
  return std::holds_alternative<ConvShape>(op.shape) || std::holds_alternative<GemmShape>(op.shape);
}

bool has_work(const Op& op) {
  return has_matrix_shape(op) || (is_matrix(op.kind) ? op.flops > Flops() : op.bytes > Bytes());
}

Work work_of_shape(const Op& op, Dtype dtype) {
  if (const auto* shape = std::get_if<ConvShape>(&op.shape)) return work_of(*shape, dtype);
  return work_of(std::get<GemmShape>(op.shape), dtype);
}

/// The op as one of a model, whose time profiles predict.
Op without_duration(const Op& recorded, const KernelPlace& on) {
  Op op = recorded;
  op.duration.reset();
  if (op.kind == OpKind::measured) op.kind = OpKind::elementwise;
  if (op.kind != OpKind::attention && has_matrix_shape(op)) {
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

void scale_ops(Trace& trace, const KernelPlace& recorded, const KernelPlace& on, ScaledTime& sum) {
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

std::string note_on(const GpuProfile& from, Precision recorded, const KernelPlace& on,
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

double time_ratio(const Op& op, const KernelPlace& recorded, const KernelPlace& on) {
  const Op work = without_duration(op, recorded);
  return op_time(on.gpu, on.precision, work, on.layout).duration /
         op_time(recorded.gpu, recorded.precision, work, recorded.layout).duration;
}

void scale_trace(ResolvedExperiment& resolved, Trace& trace, Precision recorded,
                 const config::Catalogue& catalogue, InputFiles& files) {
  require_scalable(trace);
  if (config::is_same_gpu(trace.gpu, resolved.gpu.name)) return;
  const GpuProfile& from = recording_gpu(trace.gpu, resolved.gpu, catalogue, files);
  const Layout layout = resolved.stack.layout;
  const KernelPlace on{resolved.gpu, resolved.settings.precision, layout};
  ScaledTime times;
  scale_ops(trace, {from, recorded, layout}, on, times);
  trace.gpu = resolved.gpu.name;
  resolved.scaled_from = from.name;
  std::string note = note_on(from, recorded, on, times);
  if (std::ranges::find(resolved.notes, note) == resolved.notes.end())
    resolved.notes.push_back(std::move(note));
}

}  // namespace trainyard
