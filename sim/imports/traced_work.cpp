#include "imports/traced_work.hpp"

#include "compute/work.hpp"
#include "imports/op_names.hpp"
#include "imports/op_shapes.hpp"
#include "interchange/input_text.hpp"

#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <iterator>
#include <string_view>
#include <utility>
#include <vector>

namespace trainyard {
namespace {

/// Operators that allocate, describe or rename memory, and those that only read a value back.
constexpr std::string_view free_operators[] = {"empty",
                                               "empty_like",
                                               "empty_strided",
                                               "new_empty",
                                               "new_empty_strided",
                                               "resize_",
                                               "set_",
                                               "detach",
                                               "detach_",
                                               "lift_fresh",
                                               "is_same_size",
                                               "resolve_conj",
                                               "resolve_neg",
                                               "as_strided_",
                                               "squeeze_",
                                               "unsqueeze_",
                                               "transpose_",
                                               "t_",
                                               "requires_grad_",
                                               "item",
                                               "_local_scalar_dense",
                                               "record_stream"};

bool is_free(std::string_view plain) {
  return std::ranges::find(free_operators, plain) != std::end(free_operators);
}

/// Operators that read a part of their first operand, chosen by indices.
bool gathers(std::string_view plain) {
  return plain.starts_with("index") || plain.starts_with("gather") || plain.starts_with("embedding") ||
         plain.starts_with("_embedding_bag") || plain.starts_with("slice_backward");
}

/// Whether a node is an operator that may compute, not a range around some.
bool may_compute(const TracedNode& node) {
  if (node.is_kernel) return true;
  return !node.is_range && node.name.find("::") != std::string::npos && !is_backward_range(node.name) &&
         !node.name.starts_with("c10d::") && !node.name.starts_with("nccl:") &&
         !node.name.starts_with("rccl:");
}

class WorkMaker {
public:
  explicit WorkMaker(const ExecutionTrace& trace) : trace_(trace), nodes_(trace.nodes) {
    result_.profile.file = trace.file;
    result_.profile.seen = nodes_.size();
    result_.profile.ranks = ranks_of(trace);
    result_.profile.groups = trace.groups;
    is_on_host_ = std::ranges::none_of(nodes_, [](const TracedNode& node) {
      return std::ranges::any_of(node.inputs, [](const TracedTensor& one) { return !one.is_on_host; }) ||
             std::ranges::any_of(node.outputs, [](const TracedTensor& one) { return !one.is_on_host; });
    });
  }

  TracedProfile make() {
    find_ends();
    find_computing();
    for (std::size_t i = 0; i < nodes_.size(); ++i) add(i);
    std::ranges::stable_sort(result_.profile.events, {}, &ProfileEvent::start);
    if (result_.work.empty())
      throw input_error(trace_.file, 0, "no operator works on tensors",
                        "record a whole training step: observer.start() before it, observer.stop() after it");
    return std::move(result_);
  }

private:
  /// The last node below each one; parents come before their children.
  void find_ends() {
    std::unordered_map<std::uint64_t, std::size_t> place;
    for (std::size_t i = 0; i < nodes_.size(); ++i) place.emplace(nodes_[i].id, i);
    ends_.resize(nodes_.size());
    parents_.assign(nodes_.size(), nodes_.size());
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      ends_[i] = i;
      const auto found = place.find(nodes_[i].parent);
      if (found != place.end() && found->second < i) parents_[i] = found->second;
    }
    for (std::size_t i = nodes_.size(); i-- > 0;) {
      if (parents_[i] < i) ends_[parents_[i]] = std::max(ends_[parents_[i]], ends_[i]);
    }
  }

  /// Marks the innermost operators that compute, and the innermost matrix products and convolutions.
  void find_computing() {
    std::vector<bool> has_inner(nodes_.size(), false);   // an operator below it computes
    std::vector<bool> has_matrix(nodes_.size(), false);  // one with matrix work does
    computes_.assign(nodes_.size(), false);
    for (std::size_t i = nodes_.size(); i-- > 0;) {
      const TracedNode& node = nodes_[i];
      const bool is_matrix_work = is_matrix(kind_of_operator(node.name, false));
      if (may_compute(node) && (!has_inner[i] || (is_matrix_work && !has_matrix[i])))
        computes_[i] = touches(node);
      if (parents_[i] >= i) continue;
      if (has_inner[i] || computes_[i]) has_inner[parents_[i]] = true;
      if (has_matrix[i] || (computes_[i] && is_matrix_work)) has_matrix[parents_[i]] = true;
    }
  }

  [[nodiscard]] bool is_of_gpu(const TracedTensor& tensor) const { return is_on_host_ || !tensor.is_on_host; }

  [[nodiscard]] bool touches(const TracedNode& node) const {
    const std::string_view plain = plain_name(node.name);
    if (is_free(plain)) return false;
    const bool writes = node.writes || node.is_kernel || plain.ends_with('_');
    const auto is_ours = [&](const TracedTensor& one) { return is_of_gpu(one) && one.bytes() > 0; };
    if (writes) return std::ranges::any_of(node.inputs, is_ours);
    return std::ranges::any_of(node.outputs, [&](const TracedTensor& out) {
      const bool is_view = std::ranges::any_of(
          node.inputs, [&](const TracedTensor& in) { return in.storage == out.storage && in.storage != 0; });
      return is_ours(out) && !is_view;
    });
  }

  void add(std::size_t i) {
    const TracedNode& node = nodes_[i];
    if (node.name.starts_with("[pytorch|profiler|")) return;  // roots: the process and its threads
    Profile& profile = result_.profile;
    ProfileEvent event{.kind = node.is_range || node.name.starts_with("nccl:") ? EventKind::range
                                                                               : EventKind::op};
    event.start = start_of(i);
    event.end = node.name.starts_with("ProfilerStep") ? end_of_step(i) : start_of(ends_[i]) + ticks - 1;
    event.name = profile.texts.id(node.name);
    event.lane = profile.texts.id("thread " + std::to_string(node.thread));
    event.owner = profile.texts.id("host");
    if (node.sequence) event.sequence = *node.sequence;
    if (node.record > 0) event.record = node.record;
    event.is_backward = node.forward_thread > 0 || is_backward_range(node.name);
    event.operands = add_operands(node, profile);
    event.collective = add_collective(node, trace_, profile);
    const ProfileEvent kept = event;
    profile.events.push_back(event);
    if (kept.collective != no_event) {
      add_kernel(i, "ncclKernel_" + node.collective->name, {});
    } else if (computes_[i]) {
      add_work(i, kept);
    }
  }

  static constexpr std::int64_t ticks = 16;  // of the host for each node
  static std::int64_t start_of(std::size_t node) { return ticks * static_cast<std::int64_t>(node); }

  /// A step reaches to the next one; concurrent work of other threads is not below it.
  [[nodiscard]] std::int64_t end_of_step(std::size_t i) const {
    for (std::size_t next = i + 1; next < nodes_.size(); ++next) {
      if (nodes_[next].name.starts_with("ProfilerStep")) return start_of(next);
    }
    return start_of(nodes_.size());
  }

  /// A call that launches a kernel inside of a node, and the kernel.
  void add_kernel(std::size_t i, const std::string& name, const TracedWork& work) {
    Profile& profile = result_.profile;
    const std::uint64_t number = result_.profile.events.size();
    ProfileEvent launch{
        .start = start_of(i) + 1, .end = start_of(i) + 2, .correlation = number, .kind = EventKind::launch};
    launch.name = profile.texts.id("launch");
    launch.lane = profile.texts.id("thread " + std::to_string(nodes_[i].thread));
    launch.owner = profile.texts.id("host");
    profile.events.push_back(launch);
    ProfileEvent kernel{.start = time_, .end = time_ + 1, .correlation = number, .kind = EventKind::kernel};
    kernel.name = profile.texts.id(name);
    kernel.lane = profile.texts.id("device");
    kernel.owner = kernel.lane;
    if (names_collective(name)) kernel.end = time_;
    time_ = kernel.end;
    result_.work.emplace(number, work);
    profile.events.push_back(kernel);
  }

  static bool names_collective(std::string_view kernel) { return kernel.starts_with("ncclKernel_"); }

  [[nodiscard]] static double bytes_of(const std::vector<TracedTensor>& tensors) {
    double bytes = 0;
    for (const TracedTensor& one : tensors) bytes += one.bytes();
    return bytes;
  }

  void add_work(std::size_t i, const ProfileEvent& event) {
    const TracedNode& node = nodes_[i];
    const std::string_view plain = plain_name(node.name);
    const bool crosses = !is_on_host_ && (plain == "copy_" || plain == "_to_copy") &&
                         std::ranges::any_of(node.inputs, &TracedTensor::is_on_host);
    if (crosses) {
      ++result_.host_copies;
      return;
    }
    if (plain == "convolution_backward" || plain.ends_with("convolution_backward")) {
      add_convolution_backward(i, event);
      return;
    }
    TracedWork work{.flops = {}, .bytes = Bytes(bytes_moved(node, plain))};
    const OpKind kind = kind_of_operator(node.name, false);
    if (kind == OpKind::gemm || kind == OpKind::conv_forward) {
      const auto shape = shape_of(result_.profile, event, kind);
      if (const auto* gemm = shape ? std::get_if<GemmShape>(&*shape) : nullptr) {
        work.flops = work_of(*gemm, Dtype::fp32).flops;
        result_.matrix_flops += work.flops.si();
      } else if (const auto* conv = shape ? std::get_if<ConvShape>(&*shape) : nullptr) {
        work.flops = work_of(*conv, Dtype::fp32).flops;
        result_.convolution_flops += work.flops.si();
      } else {
        ++result_.unknown_shapes;
      }
    }
    add_kernel(i, std::string(plain), work);
  }

  /// A part of the first operand that is chosen by indices counts as much as the result; what is written in
  /// place counts twice.
  [[nodiscard]] static double bytes_moved(const TracedNode& node, std::string_view plain) {
    const double out = bytes_of(node.outputs);
    double bytes = out;
    for (const TracedTensor& one : node.inputs)
      bytes += gathers(plain) ? std::min(one.bytes(), out) : one.bytes();
    if (node.outputs.empty() && !node.inputs.empty() && !node.is_kernel)
      bytes += plain.starts_with("_foreach_") ? bytes / 2 : node.inputs.front().bytes();
    return std::max(bytes, 1.0);
  }

  /// Whether the gradients of a convolution's input, weight and bias were asked for. Where the node does not
  /// say it, the number of its results does.
  static std::array<bool, 3> asked_gradients(const TracedNode& node) {
    for (int bits = 0; bits < 8; ++bits) {
      const std::array<bool, 3> asked{(bits & 4) != 0, (bits & 2) != 0, (bits & 1) != 0};
      if (node.values.find(fmt::format("[{},{},{}]", asked[0], asked[1], asked[2])) != std::string::npos)
        return asked;
    }
    const std::size_t results = node.outputs.size();
    return {results > 1, results > 0, results > 2};
  }

  /// One kernel for each gradient that was asked for: the input's and the weight's. The bias's is a sum that
  /// belongs to them, and a kernel if it was asked for alone.
  void add_convolution_backward(std::size_t i, const ProfileEvent& event) {
    const TracedNode& node = nodes_[i];
    const auto [of_input, of_weight, of_bias] = asked_gradients(node);
    // the outputs are in this order; those that are not computed are no tensors
    std::size_t output = 0;
    const auto written = [&] { return output < node.outputs.size() ? node.outputs[output++].bytes() : 0.0; };
    const double in = bytes_of(node.inputs);
    if (!of_input && !of_weight) {
      if (of_bias && !node.inputs.empty())
        add_kernel(i, "bias", {.flops = {}, .bytes = Bytes(node.inputs[0].bytes() + written())});
      return;
    }
    const auto shape = shape_of(result_.profile, event, OpKind::conv_dgrad);
    const auto* const conv = shape ? std::get_if<ConvShape>(&*shape) : nullptr;
    const Flops flops = conv == nullptr ? Flops() : work_of(*conv, Dtype::fp32).flops;
    if (conv == nullptr) ++result_.unknown_shapes;
    if (of_input) add_kernel(i, "dgrad", {.flops = flops, .bytes = Bytes(in + written())});
    if (of_weight) add_kernel(i, "wgrad", {.flops = flops, .bytes = Bytes(in + written())});
  }

  const ExecutionTrace& trace_;
  const std::vector<TracedNode>& nodes_;
  bool is_on_host_ = false;  // all tensors are: a model on a CPU
  std::vector<std::size_t> parents_, ends_;
  std::vector<bool> computes_;
  std::int64_t time_ = 0;  // of the GPU
  TracedProfile result_;
};

}  // namespace

TracedProfile profile_of(const ExecutionTrace& trace) { return WorkMaker(trace).make(); }

std::uint32_t add_operands(const TracedNode& node, Profile& profile) {
  if (node.dims.empty()) return no_event;
  const auto kept = [&](const std::string& text) {
    return text.empty() ? TextPool::none : profile.texts.id(text);
  };
  profile.operands.push_back({.dims = kept(node.dims),
                              .types = kept(node.types),
                              .values = kept(node.values),
                              .strides = kept(node.strides)});
  return static_cast<std::uint32_t>(profile.operands.size() - 1);
}

std::uint32_t add_collective(const TracedNode& node, const ExecutionTrace& trace, Profile& profile) {
  if (!node.collective) return no_event;
  const ObservedCollective& observed = *node.collective;
  CollectiveRecord record{.name = profile.texts.id(observed.name), .group_size = observed.ranks};
  if (!observed.group.empty()) record.group = profile.texts.id(observed.group);
  if (const auto group = trace.groups.find(observed.group);
      record.group_size == 0 && group != trace.groups.end())
    record.group_size = group->second.size;
  if (observed.in_bytes > 0) record.in_bytes = observed.in_bytes;
  if (observed.out_bytes > 0) record.out_bytes = observed.out_bytes;
  profile.collectives.push_back(record);
  return static_cast<std::uint32_t>(profile.collectives.size() - 1);
}

std::optional<int> ranks_of(const ExecutionTrace& trace) {
  int ranks = 0;
  for (const auto& [name, group] : trace.groups) ranks = std::max(ranks, group.size);
  for (const TracedNode& node : trace.nodes) {
    if (node.collective) ranks = std::max(ranks, node.collective->ranks);
  }
  return ranks > 0 ? std::optional(ranks) : std::nullopt;
}

UntimedTrace untimed_trace(const ExecutionTrace& trace, const ImportOptions& options) {
  UntimedTrace result{.traced = profile_of(trace), .work = {}, .imported = {}};
  const Profile& profile = result.traced.profile;
  result.work = join_launches(profile, options.step_range);
  ImportOptions how = options;
  how.host_gaps = false;
  result.imported = trace_of(profile, result.work, how);
  std::vector<Op>& ops = result.imported.trace.ops;
  for (std::size_t i = 0; i < ops.size(); ++i) {
    Op& op = ops[i];
    TracedWork sum;
    for (const std::uint32_t event : result.imported.rows[i].events) {
      const auto found = result.traced.work.find(profile.events[event].correlation);
      if (found == result.traced.work.end()) continue;
      sum.flops += found->second.flops;
      sum.bytes += found->second.bytes;
    }
    op.duration.reset();
    if (sum.flops > Flops()) op.flops = sum.flops;
    op.bytes = sum.bytes;
    // of a convolution's gradients only the bias's has no FLOPs: its kernel has not the convolution's shape
    const bool is_pass = op.kind == OpKind::conv_dgrad || op.kind == OpKind::conv_wgrad;
    if (is_pass && sum.flops <= Flops()) {
      op.flops = {};
      op.shape = std::monostate();
    }
    // other work below a convolution's backward operator, such as sums of gradients
    const bool is_other =
        is_matrix(op.kind) && op.flops <= Flops() && std::holds_alternative<std::monostate>(op.shape);
    if (op.kind == OpKind::measured || is_other) op.kind = OpKind::elementwise;
  }
  return result;
}

}  // namespace trainyard
