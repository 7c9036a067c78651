#include "exports/kineto_json.hpp"

#include "config/diagnostic.hpp"
#include "document/json_text.hpp"
#include "exports/host_calls.hpp"
#include "exports/link_rates.hpp"
#include "exports/pytorch_names.hpp"
#include "exports/rank_step.hpp"
#include "platform/channels.hpp"
#include "run/power_over_step.hpp"
#include "run/timeline_tracks.hpp"
#include "strategy/grid.hpp"
#include "units/text.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <fmt/format.h>
#include <iterator>
#include <map>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

namespace trainyard {
namespace {

/// As CUDA numbers them in PyTorch: 7 computes, NCCL has one of its own.
constexpr int kineto_stream(Stream stream) {
  return stream == Stream::compute ? 7 : 19 + static_cast<int>(stream);
}

/// Parts of the time of a call, whose ranges nest: its range, the operator in it, the launch in that.
struct Nest {
  std::int64_t start, unit;
  [[nodiscard]] std::pair<std::int64_t, std::int64_t> outer() const { return {start, start + 7 * unit}; }
  [[nodiscard]] std::pair<std::int64_t, std::int64_t> inner() const {
    return {start + unit, start + 6 * unit};
  }
  [[nodiscard]] std::pair<std::int64_t, std::int64_t> launch() const {
    return {start + 2 * unit, start + 4 * unit};
  }
};

class KinetoWriter {
public:
  KinetoWriter(const Run& run, Rank rank, int steps)
      : run_(run),
        step_(rank_step(run, rank, "a profile")),
        steps_(steps),
        calls_(host_calls(step_)),
        power_(power_over_step(run, rank)),
        links_(node_link_rates(run, run.experiment.cluster->node_of(rank))) {
    std::vector<std::int64_t> latest;
    for (const HostCall& call : calls_) latest.push_back(call.latest);
    period_ = nanoseconds(step_of(run).time);
    auto schedule = host_schedule(latest, period_);
    if (!schedule)
      throw InputError(
          fmt::format("a step of {} ns is too short for a profile of {} calls", period_, calls_.size()),
          "kernels of less than 100 ns are none of a GPU");
    host_ = std::move(*schedule);
    constexpr std::int64_t millisecond = 1'000'000;
    begin_ = (host_.lead / millisecond + 1) * millisecond;
    for (std::size_t i = 0; i < step_.trace->ops.size(); ++i) {
      const Op& op = step_.trace->ops[i];
      if (op.phase == Phase::forward) forward_.emplace(op.layer, static_cast<int>(i));
    }
  }

  std::string write() {
    write_names();
    for (int number = 0; number < steps_; ++number) write_step(number);
    std::string text = fmt::format(
        "{{\n\"schemaVersion\": 1,\n\"distributedInfo\": {{\"backend\": \"nccl\", \"rank\": {}, "
        "\"world_size\": {}}},\n\"deviceProperties\": [{}],\n\"baseTimeNanoseconds\": 0,\n"
        "\"displayTimeUnit\": \"ms\",\n\"trainyard\": {{\"simulated\": true, \"experiment\": {}, "
        "\"fidelity\": {}}},\n\"traceEvents\": [\n",
        index(step_.rank), run_.ranks, device(), json_quoted(run_.experiment.name),
        json_quoted(config::name_of(run_.experiment.settings.fidelity)));
    return text.append(events_.data(), events_.size()).append("\n]}\n");
  }

private:
  [[nodiscard]] int host() const { return 10'000 + 10 * index(step_.rank); }  // above the numbers of devices
  [[nodiscard]] int thread(const HostCall& call) const { return host() + (call.is_backward ? 1 : 0); }

  [[nodiscard]] std::string device() const {
    const GpuProfile& gpu = run_.experiment.gpu;
    std::string text =
        fmt::format(R"({{"id": {}, "name": {}, "totalGlobalMem": {:.0f})", step_.device,
                    json_quoted(gpu.title.empty() ? gpu.name : gpu.title), gpu.memory.capacity.value.si());
    if (const int capability = compute_capability(gpu); capability > 0)
      text += fmt::format(R"(, "computeMajor": {}, "computeMinor": {})", capability / 10, capability % 10);
    if (gpu.sms) text += fmt::format(R"(, "numSms": {})", gpu.sms->value);
    return text + "}";
  }

  template <class... Args>
  void add(fmt::format_string<Args...> format, Args&&... args) {
    if (events_.size() > 0) events_.append(std::string_view(",\n"));
    fmt::format_to(std::back_inserter(events_), format, std::forward<Args>(args)...);
  }

  /// Dates in ns from the beginning of the step on the GPU. `args`: members of JSON.
  void add_event(std::string_view category, std::string_view name, int process, int thread_id,
                 std::pair<std::int64_t, std::int64_t> from_to, std::string_view args) {
    const std::int64_t start = origin_ + from_to.first;
    const std::int64_t length = from_to.second - from_to.first;
    add(R"({{"ph":"X","cat":"{}","name":{},"pid":{},"tid":{},"ts":{}.{:03},"dur":{}.{:03},"args":{{{}}}}})",
        category, json_quoted(name), process, thread_id, start / 1000, start % 1000, length / 1000,
        length % 1000, args);
  }

  void write_names() {
    const auto add_name = [&](std::string_view what, int process, int thread_id, std::string_view name) {
      add(R"({{"ph":"M","name":"{}","pid":{},"tid":{},"ts":0,"args":{{"name":{}}}}})", what, process,
          thread_id, json_quoted(name));
    };
    add_name("process_name", host(), 0, track_name(run_, step_.rank));
    add_name("thread_name", host(), host(), "thread of the forward pass");
    add_name("thread_name", host(), host() + 1, "thread of the backward pass");
    if (!step_.host.empty()) add_name("thread_name", host(), host() + 2, "thread of communication");
    add_name("process_name", step_.device, 0, fmt::format("GPU {}", step_.device));
    for (int stream = 0; stream < stream_count; ++stream) {
      if (!is_on_gpu(stream)) continue;
      const int number = kineto_stream(static_cast<Stream>(stream));
      const bool is_used = stream == static_cast<int>(Stream::compute) ||
                           std::ranges::any_of(step_.other_work, [&](const TimelineEvent* bar) {
                             return static_cast<int>(bar->stream) == stream;
                           });
      if (is_used)
        add_name("thread_name", step_.device, number,
                 fmt::format("stream {}: {}", number, stream_name(run_, stream)));
    }
  }

  void write_step(int number) {
    origin_ = begin_ + number * period_;
    add_event("user_annotation", fmt::format("ProfilerStep#{}", number + 1), host(), host(),
              {-host_.lead, period_ - host_.lead}, {});
    sequence_ = static_cast<std::int64_t>(number) * static_cast<std::int64_t>(step_.trace->ops.size());
    for (std::size_t i = 0; i < calls_.size(); ++i) write_call(i);
    for (const TimelineEvent* bar : step_.host)
      add_event("user_annotation", event_title(run_, *bar), host(), host() + 2,
                {nanoseconds(bar->start), nanoseconds(bar->end)}, {});
    write_counters();
  }

  [[nodiscard]] Nest nest(std::size_t call) const { return {host_.starts[call], host_.cost / 8}; }

  void write_call(std::size_t i) {
    const HostCall& call = calls_[i];
    const Nest nested = nest(i);
    switch (call.kind) {
      case CallKind::op:
        write_op(i);
        return;
      case CallKind::gradient: {
        constexpr std::string_view name = "torch::autograd::AccumulateGrad";
        add_event("cpu_op", fmt::format("autograd::engine::evaluate_function: {}", name), host(),
                  thread(call), nested.outer(), {});
        add_event("cpu_op", name, host(), thread(call), nested.inner(),
                  fmt::format(R"("Input Dims":[[{}]],"Input type":["{}"])", shortest(call.gradient->elements),
                              gradient_type(0).of_operands));
        return;
      }
      case CallKind::communication:
        write_communication(call, nested);
        return;
      case CallKind::wait:
        add_event("user_annotation", step_.trace->ops.at(at(call.op)).layer, host(), thread(call),
                  nested.outer(), {});
        return;
    }
  }

  void write_op(std::size_t i) {
    const HostCall& call = calls_[i];
    const Nest nested = nest(i);
    const Op& op = step_.trace->ops.at(at(call.op));
    const bool updates = op.kind == OpKind::optimizer;
    if (updates) {
      add_event("user_annotation", optimizer_range(run_.experiment.settings.optimizer), host(), thread(call),
                nested.outer(), {});
    } else if (op.phase == Phase::backward) {
      write_backward_range(i);
    } else if (op.phase == Phase::forward) {
      add_event("python_function", "nn.Module: " + op.layer, host(), thread(call), nested.outer(), {});
    }
    const std::string name =
        updates ? optimizer_operator(run_.experiment.settings.optimizer) : operator_name(op);
    add_event("cpu_op", name, host(), thread(call), nested.inner(), op_args(call, op));
    write_launch(call, nested);
    const OpRow& row = op_of(step_of(run_), *call.bar);
    add_kernel(kernel_name(op), *call.bar,
               fmt::format(R"("layer":{},"duration source":"{}")", json_quoted(op.layer),
                           config::name_of(row.source)));
  }

  void write_backward_range(std::size_t first) {
    if (!calls_[first].begins_range) return;
    std::size_t last = first;
    while (!calls_[last].ends_range) ++last;
    const Op& op = step_.trace->ops.at(at(calls_[first].op));
    std::string args = R"("Fwd thread id":1)";
    if (const auto number = sequence_of(op)) args += fmt::format(R"(,"Sequence number":{})", *number);
    add_event("cpu_op", "autograd::engine::evaluate_function: " + backward_name(op), host(),
              thread(calls_[first]), {nest(first).outer().first, nest(last).outer().second}, args);
  }

  /// Joins ops of backward with the first op of their layer in forward.
  [[nodiscard]] std::optional<std::int64_t> sequence_of(const Op& op) const {
    const auto found = forward_.find(op.layer);
    return found == forward_.end() ? std::nullopt : std::optional(sequence_ + found->second);
  }

  std::string op_args(const HostCall& call, const Op& op) {
    std::string args = fmt::format(R"("External id":{})", correlation_ + 1);
    if (op.phase == Phase::forward) args += fmt::format(R"(,"Sequence number":{})", sequence_ + call.op);
    const std::optional<double> rows =
        op.kind == OpKind::embedding ? table_rows(*step_.trace, op) : std::nullopt;
    const OperandTexts operands = operand_texts_of(op, *step_.trace, rows);
    if (!operands.dims.empty()) args += fmt::format(R"(,"Input Dims":{})", operands.dims);
    if (!operands.values.empty()) args += fmt::format(R"(,"Concrete Inputs":{})", operands.values);
    return args;
  }

  void write_launch(const HostCall& call, const Nest& nested) {
    ++correlation_;
    add_event("cuda_runtime", "cudaLaunchKernel", host(), thread(call), nested.launch(),
              fmt::format(R"("External id":{0},"cbid":211,"correlation":{0})", correlation_));
  }

  void add_kernel(std::string_view name, const TimelineEvent& bar, std::string_view args) {
    const int stream = kineto_stream(bar.stream);
    add_event("kernel", name, step_.device, stream, {nanoseconds(bar.start), nanoseconds(bar.end)},
              fmt::format(R"("External id":{0},"device":{1},"context":1,"stream":{2},"correlation":{0},{3})",
                          correlation_, step_.device, stream, args));
  }

  void write_communication(const HostCall& call, const Nest& nested) {
    if (!call.bar->is_collective) {  // a copy, a flattening or a compression around a collective
      add_event("cpu_op", "trainyard::" + call.bar->category, host(), thread(call), nested.outer(), {});
      write_launch(call, nested);
      add_kernel(call.bar->category + "()", *call.bar,
                 fmt::format(R"("layer":{})", json_quoted(event_title(run_, *call.bar))));
      return;
    }
    const CollectiveRow& row = step_of(run_).collectives.at(at(call.bar->collective));
    const ValueType type = type_of(*call.bar, row.size.si());
    const std::string args = collective_args(*call.bar, row, type);
    add_event("cpu_op", collective_operator(row.operation), host(), thread(call), nested.outer(), {});
    add_event("cpu_op", "record_param_comms", host(), thread(call), nested.inner(), args);
    write_launch(call, nested);
    add_kernel(nccl_kernel(row.operation, type.of_kernels, row.algorithm, row.protocol), *call.bar,
               fmt::format(R"({},"layer":{})", args, json_quoted(row.name)));
  }

  /// The type with this many bytes per value.
  [[nodiscard]] ValueType gradient_type(double bytes) const {
    const Precision precision = run_.experiment.settings.precision;
    return collective_type(size_of(run_.experiment.stack.gradient_dtype, precision), precision, bytes);
  }

  [[nodiscard]] ValueType type_of(const TimelineEvent& bar, double bytes) const {
    const Precision precision = run_.experiment.settings.precision;
    const CollectiveLabel& label = step_of(run_).plan.graph.collectives.at(at(bar.collective)).label;
    return label.of_layers ? collective_type(Bytes(activation_type(precision).bytes), precision, bytes)
                           : gradient_type(bytes);
  }

  [[nodiscard]] std::string collective_args(const TimelineEvent& bar, const CollectiveRow& row,
                                            const ValueType& type) const {
    const std::vector<Rank> group = group_of(row.axis);
    const double values = row.size.si() / type.bytes;
    const double part = values / static_cast<double>(group.size());
    const double in = row.operation == Operation::all_gather ? part : values;
    const double out = row.operation == Operation::reduce_scatter ? part : values;
    const std::string_view name = row.operation == Operation::send_recv && is_receiving(bar.stream)
                                      ? "recv"
                                      : collective_name(row.operation);
    return fmt::format(R"("Collective name":"{}","In msg nelems":{},"Out msg nelems":{},"Group size":{},)"
                       R"("dtype":"{}","Process Group Name":"{}","Process Group Description":"{}",)"
                       R"("Process Group Ranks":"{}")",
                       name, std::llround(in), std::llround(out), group.size(), type.of_collectives,
                       static_cast<int>(row.axis),
                       row.axis == Axis::all ? "default_pg" : config::name_of(row.axis), list_of(group));
  }

  /// The ranks that this one meets over an axis.
  [[nodiscard]] std::vector<Rank> group_of(Axis axis) const {
    const ResolvedExperiment& resolved = run_.experiment;
    const Grid* grid = resolved.layout ? &resolved.layout->grid : resolved.grid ? &*resolved.grid : nullptr;
    if (grid != nullptr && axis != Axis::all) {
      for (std::vector<Rank>& group : groups(*grid, axis)) {
        if (std::ranges::find(group, step_.rank) != group.end()) return std::move(group);
      }
    }
    return all_ranks(*resolved.cluster);
  }

  /// As PyTorch shortens long lists.
  static std::string list_of(const std::vector<Rank>& ranks) {
    constexpr std::size_t most = 30;
    const std::size_t listed = ranks.size() <= most ? ranks.size() : most - 1;
    std::string text;
    for (std::size_t i = 0; i < listed; ++i)
      text += fmt::format("{}{}", i == 0 ? "[" : ", ", index(ranks[i]));
    if (listed < ranks.size()) text += fmt::format(", ..., {}", index(ranks.back()));
    return text + "]";
  }

  void write_counters() {
    for (const PowerSpan& span : power_)
      add_count("power", step_.device, span.start, span.end, "W", span.power.si());
    for (const NodeLinkRates& kind : links_) {
      for (const LinkRateSpan& span : kind.spans)
        add_count("node links: " + kind.kind, host(), span.start, span.end, "B/s", span.rate.si());
    }
  }

  /// A value until the next one; none if that comes within the resolution.
  void add_count(std::string_view name, int process, Seconds start, Seconds end, std::string_view unit,
                 double value) {
    if (nanoseconds(start) == nanoseconds(end)) return;
    const std::int64_t date = origin_ + nanoseconds(start);
    add(R"({{"ph":"C","name":{},"pid":{},"ts":{}.{:03},"args":{{"{}":{}}}}})", json_quoted(name), process,
        date / 1000, date % 1000, unit, digits12(value));
  }

  const Run& run_;
  ExportedStep step_;
  int steps_;
  std::vector<HostCall> calls_;
  HostSchedule host_;
  std::map<std::string, int, std::less<>> forward_;  // the first op of each layer
  std::vector<PowerSpan> power_;
  std::vector<NodeLinkRates> links_;
  std::int64_t period_ = 0, begin_ = 0, origin_ = 0, correlation_ = 0, sequence_ = 0;
  fmt::memory_buffer events_;
};

}  // namespace

std::string kineto_json(const Run& run, Rank rank, int steps) {
  return KinetoWriter(run, rank, steps).write();
}

}  // namespace trainyard
