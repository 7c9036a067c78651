#include "imports/kernel_recordings.hpp"

#include "compute/work.hpp"
#include "config/fields.hpp"
#include "imports/intervals.hpp"
#include "imports/op_names.hpp"
#include "imports/op_shapes.hpp"
#include "imports/op_work.hpp"
#include "imports/operands.hpp"
#include "interchange/input_text.hpp"
#include "workload/shape_text.hpp"

#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <map>
#include <optional>
#include <string_view>
#include <tuple>
#include <utility>

namespace trainyard {
namespace {

/// An op that reads and writes each value a known number of times.
struct VectorOp {
  std::string_view name;  ///< without namespace
  std::string_view variant;
  double reads_and_writes;  ///< of a value
};

// As tests/validation/gpu/vector_ops.py counts them.
constexpr std::array vector_ops{VectorOp{"add", "add", 3},
                                VectorOp{"add_", "add", 3},
                                VectorOp{"relu", "relu", 2},
                                VectorOp{"clamp_min", "relu", 2},
                                VectorOp{"threshold_backward", "relu_backward", 3},
                                VectorOp{"gelu", "gelu", 2},
                                VectorOp{"gelu_backward", "gelu_backward", 3}};

/// The kernels of one call of an op, or of one gradient of a convolution.
struct OpRun {
  std::uint32_t op = no_event;
  OpKind kind{};
  std::int64_t time = 0;
  bool is_beside = false;
  KernelHints hints;
};

class RecordingMaker {
public:
  RecordingMaker(const Profile& profile, const ProfileWork& work) : profile_(profile), work_(work) {}

  KernelRecordings make() {
    find_runs();
    for (const auto& [key, run] : runs_) add(run);
    finish();
    if (result_.ops.empty())
      throw input_error(profile_.file, 0, "no kernel's shape is known", "profile with record_shapes=True");
    add_facts();
    return std::move(result_);
  }

private:
  using Key = std::tuple<std::string, std::string, std::string, std::string>;  // op, variant, type, shape

  [[nodiscard]] std::string_view name(std::uint32_t event) const {
    return profile_.texts[profile_.events[event].name];
  }

  void find_runs() {
    std::vector<Interval> communication;
    for (const GpuWork& one : work_.work) {
      if (one.communicates())
        communication.push_back({profile_.events[one.event].start, profile_.events[one.event].end});
    }
    communication = merged(std::move(communication));
    for (const GpuWork& one : work_.work) {
      if (!one.is_compute || one.leaf == no_event) continue;
      const ProfileEvent& event = profile_.events[one.event];
      const std::string_view kernel = profile_.texts[event.name];
      const bool is_backward = one.phase == WorkPhase::backward;
      OpKind kind = kind_of_operator(name(one.leaf), is_backward);
      if (is_backward && name(one.leaf).find("onvolution_backward") != std::string_view::npos) {
        kind = pass_of_kernel(kernel).value_or(last_pass(one.leaf));
        last_pass_[one.leaf] = kind;
      }
      OpRun& run = runs_[{one.leaf, kind}];
      run.op = one.leaf;
      run.kind = kind;
      run.time += event.end - event.start;
      run.is_beside = run.is_beside || runs_beside(communication, event);
      run.hints.add(kernel);
    }
  }

  static bool runs_beside(const std::vector<Interval>& communication, const ProfileEvent& event) {
    const auto after = std::ranges::upper_bound(communication, event.start, {}, &Interval::end);
    return after != communication.end() && after->start < event.end;
  }

  [[nodiscard]] OpKind last_pass(std::uint32_t op) const {
    const auto found = last_pass_.find(op);
    return found == last_pass_.end() ? OpKind::conv_dgrad : found->second;
  }

  void add(const OpRun& run) {
    const bool is_conv =
        run.kind == OpKind::conv_forward || run.kind == OpKind::conv_dgrad || run.kind == OpKind::conv_wgrad;
    const bool is_matrix_op = is_conv || run.kind == OpKind::gemm;
    const std::string_view plain = plain_name(name(run.op));
    const auto* const vector_op = std::ranges::find(vector_ops, plain, &VectorOp::name);
    if (!is_matrix_op && (vector_op == vector_ops.end() || run.kind != OpKind::elementwise)) return;
    const auto type = type_of(profile_, profile_.events[run.op], run.kind, run.hints);
    const auto shape = shape_of(profile_, profile_.events[run.op], run.kind);
    const bool is_stored_unknown = run.kind == OpKind::gemm && plain != "linear" && !has_strides(run);
    if (!type || !shape || run.time <= 0 || is_stored_unknown) {
      result_.unknown += is_matrix_op ? 1 : 0;
      return;
    }
    if (run.is_beside) {
      ++result_.beside;
      return;
    }
    RecordedKernel kernel;
    kernel.kind = run.kind;
    kernel.op = std::string(config::name_of(run.kind));
    kernel.dtype = type;
    kernel.shape = *shape;
    if (const auto* conv = std::get_if<ConvShape>(&*shape)) {
      kernel.variant = std::string(config::name_of(layout_of(profile_, profile_.events[run.op], run.hints)));
      kernel.bytes = work_of(*conv, *type).bytes;
    } else if (const auto* gemm = std::get_if<GemmShape>(&*shape)) {
      kernel.bytes = work_of(*gemm, *type).bytes;
    } else if (const auto* vector = std::get_if<VectorShape>(&*shape)) {
      if (!are_equal_operands(profile_.events[run.op])) return;
      kernel.variant = std::string(vector_op->variant);
      kernel.bytes = vector_op->reads_and_writes * vector->elements * size_of(*type);
    }
    const Key key{kernel.op, kernel.variant, std::string(config::name_of(*type)), to_string(kernel.shape)};
    auto& [known, times] = found_[key];
    known = std::move(kernel);
    times.push_back(run.time);
  }

  /// Without them nothing says which operands of a matrix product are stored transposed.
  [[nodiscard]] bool has_strides(const OpRun& run) const {
    const ProfileEvent& op = profile_.events[run.op];
    return op.operands != no_event && profile_.operands[op.operands].strides != TextPool::none &&
           !profile_.texts[profile_.operands[op.operands].strides].empty();
  }

  /// Whether all tensors have one shape and type: else the op reads other numbers of bytes.
  [[nodiscard]] bool are_equal_operands(const ProfileEvent& op) const {
    const Operands& operands = profile_.operands[op.operands];
    const auto shapes = operand_shapes(profile_.texts[operands.dims]);
    const auto types = operand_texts(profile_.texts[operands.types]);
    if (!shapes || !types) return false;
    const TensorShape* first = nullptr;
    for (std::size_t i = 0; i < shapes->size(); ++i) {
      if ((*shapes)[i].empty() || (*shapes)[i].front().empty()) continue;
      if (first != nullptr &&
          ((*shapes)[i].front() != *first || i >= types->size() || (*types)[i] != types->front()))
        return false;
      first = &(*shapes)[i].front();
    }
    return first != nullptr;
  }

  void finish() {
    for (auto& [key, recorded] : found_) {
      auto& [kernel, times] = recorded;
      std::ranges::sort(times);
      const auto at = [&](double share) {
        return static_cast<double>(
            times[static_cast<std::size_t>(share * static_cast<double>(times.size() - 1))]);
      };
      RecordedOp op{.kernel = std::move(kernel), .spread = Seconds((at(0.75) - at(0.25)) / 1e9)};
      op.kernel.time = Seconds(at(0.5) / 1e9);
      op.repetitions = static_cast<int>(times.size());
      result_.ops.push_back(std::move(op));
    }
  }

  void add_facts() {
    RecordingFacts& facts = result_.facts;
    facts.gpu = profile_.gpu;
    facts.compute_capability = profile_.device.compute_capability;
    facts.sm_count = profile_.device.sms;
    if (profile_.device.memory_bytes) facts.memory_capacity = Bytes(*profile_.device.memory_bytes);
    facts.source = "kernels of a profile of torch.profiler";
  }

  const Profile& profile_;
  const ProfileWork& work_;
  std::map<std::pair<std::uint32_t, OpKind>, OpRun> runs_;
  std::map<std::uint32_t, OpKind> last_pass_;
  std::map<Key, std::pair<RecordedKernel, std::vector<std::int64_t>>> found_;
  KernelRecordings result_;
};

}  // namespace

KernelRecordings kernel_recordings(const Profile& profile, const ProfileWork& work) {
  return RecordingMaker(profile, work).make();
}

std::string recordings_text(const KernelRecordings& recordings) {
  const RecordingFacts& facts = recordings.facts;
  std::string text;
  const auto fact = [&](std::string_view key, const std::string& value) {
    std::string plain = value;
    std::ranges::replace_if(
        plain, [](char c) { return static_cast<unsigned char>(c) < 0x20; }, ' ');
    if (!plain.empty()) text += fmt::format("# {}: {}\n", key, plain);
  };
  fact("gpu", facts.gpu);
  if (facts.compute_capability) fact("compute_capability", fmt::format("{:.1f}", *facts.compute_capability));
  if (facts.sm_count) fact("sm_count", fmt::format("{:.0f}", *facts.sm_count));
  if (facts.memory_capacity) fact("memory_capacity", fmt::format("{:.0f} B", facts.memory_capacity->si()));
  fact("source", facts.source);
  text += "op,variant,dtype,shape,bytes,time_us,spread_us,repetitions\n";
  for (const RecordedOp& one : recordings.ops) {
    const RecordedKernel& kernel = one.kernel;
    text += fmt::format("{},{},{},{},{:.0f},{:.6g},{:.6g},{}\n", kernel.op,
                        kernel.variant.empty() ? "-" : kernel.variant, config::name_of(*kernel.dtype),
                        to_string(kernel.shape), kernel.bytes.si(), kernel.time.si() * 1e6,
                        one.spread.si() * 1e6, one.repetitions);
  }
  return text;
}

}  // namespace trainyard
