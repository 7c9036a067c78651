#include "imports/profile_trace.hpp"

#include "compute/work.hpp"
#include "imports/op_names.hpp"
#include "imports/op_shapes.hpp"
#include "imports/profile_figures.hpp"
#include "interchange/input_text.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <string_view>
#include <utility>

namespace trainyard {
namespace {

Seconds seconds_of(std::int64_t ns) { return Seconds(static_cast<double>(ns) * 1e-9); }

Op new_op(Phase phase, std::string layer, OpKind kind, Seconds duration) {
  Op op;
  op.phase = phase;
  op.layer = std::move(layer);
  op.kind = kind;
  op.duration = duration;
  return op;
}

/// Whether two steps do the same: their rows are named alike, in the same order.
bool are_alike(const StepRows& a, const StepRows& b) {
  return std::ranges::equal(a.rows, b.rows, [](const ProfileRow& x, const ProfileRow& y) {
    return x.phase == y.phase && x.kind == y.kind && x.layer == y.layer;
  });
}

std::int64_t median(std::vector<std::int64_t> values) {
  const std::size_t middle = values.size() / 2;
  std::ranges::nth_element(values, values.begin() + static_cast<std::ptrdiff_t>(middle));
  if (values.size() % 2 == 1) return values[middle];
  const std::int64_t above = values[middle];
  const std::int64_t below =
      *std::max_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(middle));
  return below + (above - below) / 2;
}

/// The index of the value that is the lower median.
std::size_t index_of_median(const std::vector<std::int64_t>& values) {
  std::vector<std::size_t> order(values.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::ranges::stable_sort(order, {}, [&](std::size_t i) { return values[i]; });
  return order[(order.size() - 1) / 2];
}

class Importer {
public:
  Importer(const Profile& profile, const ProfileWork& work, const ImportOptions& options)
      : profile_(profile), work_(work), options_(options) {}

  ImportedTrace make() {
    choose_steps();
    add_ops();
    if (options_.collectives) add_collectives();
    add_gradients();
    if (options_.host_gaps) add_host_gaps();
    result_.trace.batch_per_gpu = options_.batch.value_or(batch_);
    count_what_is_left_out();
    return std::move(result_);
  }

private:
  void choose_steps() {
    std::vector<int> indices;
    for (int i = 0; i < static_cast<int>(work_.steps.size()); ++i) {
      StepRows rows = rows_of(profile_, work_, i);
      if (rows.rows.empty()) continue;
      indices.push_back(i);
      steps_.push_back(std::move(rows));
    }
    if (profile_.is_cut_off && !steps_.empty()) {
      if (steps_.size() == 1)
        throw input_error(profile_.file, 0, "the file is cut off, and has no whole step before that",
                          "copy it again");
      indices.pop_back();
      steps_.pop_back();
      result_.warnings.emplace_back("the file is cut off: its last step is left out");
    }
    if (steps_.empty()) {
      steps_.push_back(rows_of(profile_, work_, -1));
      if (steps_.front().rows.empty())
        throw input_error(profile_.file, 0, "no kernel computes",
                          "the profile has communication or copies only");
      result_.warnings.emplace_back(work_.steps.empty()
                                        ? "the profile has no steps (ProfilerStep#N): all of it is one step"
                                        : "no kernel was launched in a step: all of the profile is one step");
      indices = {-1};
    }
    std::vector<std::int64_t> periods;
    for (const StepRows& one : steps_) periods.push_back(one.period);
    const std::size_t shown = index_of_median(periods);
    result_.parts = steps_[shown];
    result_.shown_step = indices[shown];
    const StepRows reference = steps_[shown];
    std::vector<StepRows> alike;
    for (std::size_t i = 0; i < steps_.size(); ++i) {
      if (!are_alike(steps_[i], reference)) continue;
      alike.push_back(std::move(steps_[i]));
      if (indices[i] >= 0) result_.steps.push_back(work_.steps[indices[i]].number);
    }
    if (alike.size() < steps_.size())
      result_.warnings.push_back(
          fmt::format("{} of {} steps have other operators than the median one and are left out",
                      steps_.size() - alike.size(), steps_.size()));
    steps_ = std::move(alike);
  }

  void add_ops() {
    for (std::size_t i = 0; i < result_.parts.rows.size(); ++i) {
      const ProfileRow& row = result_.parts.rows[i];
      std::vector<std::int64_t> times;
      for (const StepRows& step : steps_) times.push_back(step.rows[i].time);
      result_.beside += row.beside;
      Op op = new_op(row.phase, row.layer, row.kind, seconds_of(median(times)));
      if (row.op != no_event) add_shape(op, profile_.events[row.op]);
      result_.trace.ops.push_back(std::move(op));
    }
  }

  void add_shape(Op& op, const ProfileEvent& event) {
    if (batch_ == 0 && op.phase == Phase::forward &&
        (op.kind == OpKind::conv_forward || op.kind == OpKind::embedding || op.kind == OpKind::gemm))
      batch_ = leading_size(profile_, event);
    const auto shape = shape_of(profile_, event, op.kind);
    if (!shape) return;
    op.shape = *shape;
    if (const auto* conv = std::get_if<ConvShape>(&*shape)) op.flops = work_of(*conv, Dtype::fp32).flops;
    if (const auto* gemm = std::get_if<GemmShape>(&*shape)) op.flops = work_of(*gemm, Dtype::fp32).flops;
  }

  void add_collectives() {
    int messages = 0;
    int unsized = 0;
    std::int64_t message_time = 0;
    std::int64_t unsized_time = 0;
    for (const ProfileCollective& one : result_.parts.collectives) {
      const GpuWork& work = work_.work[one.work];
      const ProfileEvent& kernel = profile_.events[work.event];
      const std::int64_t time = kernel.end - kernel.start;
      const CollectiveSize size = size_of(profile_, work);
      auto operation = operation_named(size.name);
      if (!operation) operation = operation_named(profile_.texts[kernel.name]);
      std::optional<double> bytes = size.in;
      if (operation == Operation::all_gather)
        bytes = size.out ? size.out : size.in ? times_ranks(*size.in) : std::nullopt;
      if (!operation) {
        ++messages;
        message_time += time;
        continue;
      }
      if (!bytes || *bytes <= 0) {
        ++unsized;
        unsized_time += time;
        continue;
      }
      add_collective(*operation, Bytes(*bytes), one, kernel);
    }
    if (messages > 0)
      result_.left_out.push_back({messages, message_time, "messages between two ranks, of a step"});
    if (unsized > 0)
      result_.left_out.push_back({unsized, unsized_time, "collectives of unknown size, of a step"});
  }

  /// An all-gather's output by a rank's input: the profile does not say its group, so all ranks gather.
  [[nodiscard]] std::optional<double> times_ranks(double bytes) const {
    return profile_.ranks ? std::optional(bytes * *profile_.ranks) : std::nullopt;
  }

  void add_collective(Operation operation, Bytes size, const ProfileCollective& one,
                      const ProfileEvent& kernel) {
    if (result_.trace.ops.empty()) return;
    Op& op = result_.trace.ops[std::max(one.after, 0)];
    OpCommunication communication{.operation = operation, .size = size};
    if (one.after < 0) communication.at = LaunchTime::start;
    communication.waits = usual_wait(op.phase, operation);
    if (communication.waits) {
      int beside = 0;
      for (std::size_t i = one.after + 1; i < result_.parts.rows.size(); ++i) {
        const ProfileRow& row = result_.parts.rows[i];
        if (row.phase == Phase::optimizer || row.first_start >= kernel.end) break;
        ++beside;
      }
      communication.waits = beside;
    }
    op.communications.push_back(communication);
    ++result_.collectives;
  }

  /// A gradient belongs to the backward row that was launched last before it was added up.
  void add_gradients() {
    std::size_t number = 0;
    bool has_sizes = true;
    std::vector<std::pair<std::size_t, Gradient>> found;
    for (const ProfiledGradient& one : work_.gradients) {
      if (result_.shown_step >= 0 && one.step != result_.shown_step) continue;
      ++result_.tensors;
      if (!one.values) {
        has_sizes = false;
        continue;
      }
      const ProfileRow* latest = nullptr;
      std::size_t index = 0;
      for (std::size_t i = 0; i < result_.parts.rows.size(); ++i) {
        const ProfileRow& row = result_.parts.rows[i];
        if (row.phase != Phase::backward || row.first_launch > one.time) continue;
        if (latest != nullptr && row.first_launch < latest->first_launch) continue;
        latest = &row;
        index = i;
      }
      if (latest != nullptr)
        found.emplace_back(index, Gradient{fmt::format("{}.{}", latest->layer, number++), *one.values});
    }
    if (!has_sizes) return;
    for (auto& [index, gradient] : found) result_.trace.ops[index].gradients.push_back(std::move(gradient));
  }

  /// Idle times of the step as rows before the work that ends them.
  void add_host_gaps() {
    std::vector<std::pair<std::size_t, std::int64_t>> gaps;
    std::int64_t covered = -1;
    for (std::size_t i = 0; i < result_.parts.rows.size(); ++i) {
      const ProfileRow& row = result_.parts.rows[i];
      if (covered >= 0 && row.first_start > covered) gaps.emplace_back(i, row.first_start - covered);
      covered = std::max(covered, row.first_start + row.time);
    }
    std::int64_t sum = 0;
    for (const auto& gap : gaps) sum += gap.second;
    if (sum <= 0) return;
    // Rows of several kernels have gaps inside, which count to the gap behind them: scaled, they add up to
    // the idle time.
    const double scale = static_cast<double>(result_.parts.idle) / static_cast<double>(sum);
    std::vector<Op> ops;
    std::vector<std::size_t> places;  // of the ops that were there
    std::size_t next = 0;
    for (std::size_t i = 0; i < result_.trace.ops.size(); ++i) {
      if (next < gaps.size() && gaps[next].first == i) {
        const double time = static_cast<double>(gaps[next].second) * scale;
        ops.push_back(new_op(result_.trace.ops[i].phase, fmt::format("host.{}", next), OpKind::host,
                             Seconds(time * 1e-9)));
        ++next;
      }
      places.push_back(ops.size());
      ops.push_back(std::move(result_.trace.ops[i]));
    }
    for (std::size_t i = 0; i < places.size(); ++i) {
      for (OpCommunication& one : ops[places[i]].communications) {
        if (one.waits) one.waits = static_cast<int>(places[i + *one.waits] - places[i]);
      }
    }
    result_.trace.ops = std::move(ops);
  }

  void count_what_is_left_out() {
    LeftOut outside{.what = "kernels, copies and fills outside of steps"};
    LeftOut without{.what = "kernels, copies and fills without a launch in the file"};
    for (const GpuWork& one : work_.work) {
      const ProfileEvent& event = profile_.events[one.event];
      if (result_.shown_step < 0 || one.step >= 0) continue;
      LeftOut& where = one.launch == no_event ? without : outside;
      ++where.count;
      where.time += event.end - event.start;
    }
    for (LeftOut& one : {std::ref(outside), std::ref(without)}) {
      if (one.count > 0) result_.left_out.push_back(std::move(one));
    }
    if (profile_.impossible_time > 0)
      result_.left_out.push_back({static_cast<int>(profile_.impossible_time), 0,
                                  "events with a negative duration or one above 7 days"});
    if (profile_.without_time > 0)
      result_.left_out.push_back({static_cast<int>(profile_.without_time), 0, "events without a time"});
    if (profile_.repaired > 0)
      result_.warnings.push_back(
          fmt::format("{} names of events had invalid characters, which were replaced", profile_.repaired));
  }

  const Profile& profile_;
  const ProfileWork& work_;
  const ImportOptions& options_;
  std::vector<StepRows> steps_;
  int batch_ = 0;
  ImportedTrace result_;
};

}  // namespace

ImportedTrace trace_of(const Profile& profile, const ProfileWork& work, const ImportOptions& options) {
  return Importer(profile, work, options).make();
}

}  // namespace trainyard
