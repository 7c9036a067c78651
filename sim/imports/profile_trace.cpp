#include "imports/profile_trace.hpp"

#include "compute/work.hpp"
#include "config/utf8.hpp"
#include "imports/op_names.hpp"
#include "imports/op_shapes.hpp"
#include "imports/profile_figures.hpp"
#include "imports/profile_groups.hpp"
#include "imports/profile_steps.hpp"
#include "interchange/input_text.hpp"
#include "units/plural.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <iterator>
#include <string_view>
#include <utility>

namespace trainyard {
namespace {

Seconds seconds_of(std::int64_t ns) { return Seconds(static_cast<double>(ns) / 1e9); }

Op new_op(Phase phase, std::string layer, OpKind kind, Seconds duration) {
  Op op;
  op.phase = phase;
  op.layer = std::move(layer);
  op.role = role_of(op.layer);
  op.kind = kind;
  op.duration = duration;
  return op;
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

/// Text that a trace file can hold as a name and as part of a list: without control characters, ';' and
/// blanks at its ends, and never empty.
std::string trace_text(std::string_view text) {
  constexpr std::size_t longest = 500;
  std::string result;
  for (const char c : text.substr(0, longest)) {
    const bool is_control = static_cast<unsigned char>(c) < 0x20 || c == 0x7f;
    result += is_control ? ' ' : c == ';' ? ',' : c;
  }
  config::replace_invalid_utf8(result);
  while (result.ends_with(' ')) result.pop_back();
  result.erase(0, result.find_first_not_of(' '));
  return result.empty() ? "unnamed" : result;
}

/// A number of bytes or values that a trace can hold.
bool is_plausible(double count) { return count >= 1 && count <= 1e15 && count == std::floor(count); }

/// A collective of the trace whose group is known.
struct GroupedCollective {
  Operation operation{};
  Bytes size;
  const ProfileCollective* place = nullptr;
  std::optional<std::size_t> group = {};  ///< index among the groups of some ranks
};

class Importer {
public:
  Importer(const Profile& profile, const ProfileWork& work, const ImportOptions& options)
      : profile_(profile), work_(work), options_(options), chosen_(choose_steps(profile, work)) {}

  ImportedTrace make() {
    result_.warnings = profile_.warnings;
    result_.warnings.insert(result_.warnings.end(), chosen_.warnings.begin(), chosen_.warnings.end());
    add_ops();
    if (options_.collectives) add_collectives();
    add_gradients();
    result_.rows = rows();
    if (options_.host_gaps) add_host_gaps();
    warn_of_passes();
    result_.trace.batch_per_gpu = options_.batch.value_or(batch_);
    count_what_is_left_out();
    result_.steps = std::move(chosen_.numbers);
    result_.shown_step = chosen_.shown;
    result_.parts = std::move(chosen_.parts);
    result_.accumulation = chosen_.accumulation;
    result_.leaves_collectives = !options_.collectives;
    result_.adding_gradients = chosen_.adding;
    return std::move(result_);
  }

private:
  void add_ops() {
    for (std::size_t i = 0; i < rows().size(); ++i) {
      const ProfileRow& row = rows()[i];
      Op op = new_op(row.phase, trace_text(row.layer), row.kind, seconds_of(usual_time(chosen_.times[i])));
      if (row.op != no_event) add_shape(op, profile_.events[row.op]);
      result_.trace.ops.push_back(std::move(op));
    }
    for (const ProfileRow& row : chosen_.parts.rows) result_.beside += row.beside;
  }

  [[nodiscard]] const std::vector<ProfileRow>& rows() const { return chosen_.rows.rows; }

  /// A training step has all passes; work launched by a CUDA graph has another one.
  void warn_of_passes() {
    const auto has = [&](Phase phase) {
      return std::ranges::any_of(result_.trace.ops, [&](const Op& op) { return op.phase == phase; });
    };
    if (!has(Phase::backward)) {
      result_.warnings.emplace_back(
          "no backward pass: if this is a training step, nothing in the profile tells its passes apart");
    } else if (!has(Phase::forward)) {
      result_.warnings.emplace_back("no forward pass: it was launched outside of the step");
    }
  }

  /// The median of the runs without a concurrent collective, or else of all runs, which were slowed.
  std::int64_t usual_time(const std::vector<RowTime>& runs) {
    std::vector<std::int64_t> alone;
    std::vector<std::int64_t> all;
    for (const RowTime& run : runs) {
      all.push_back(run.time);
      if (run.beside == 0) alone.push_back(run.time);
    }
    if (!alone.empty()) {
      result_.ops_timed_alone += alone.size() < all.size() ? 1 : 0;
      return median(std::move(alone));
    }
    const std::int64_t time = median(std::move(all));
    ++result_.slowed_ops;
    result_.slowed += time;
    return time;
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
    int exchanges = 0;
    ProfileGroups groups(profile_);
    std::vector<GroupedCollective> found;
    std::int64_t exchange_time = 0;
    std::int64_t message_time = 0;
    std::int64_t unsized_time = 0;
    for (const ProfileCollective& one : chosen_.rows.collectives) {
      const GpuWork& work = work_.work[one.work];
      const ProfileEvent& kernel = profile_.events[work.event];
      const std::int64_t time = kernel.end - kernel.start;
      const CollectiveSize size = size_with_ranges(profile_, work);
      const auto operation = operation_of(profile_, work);
      if (work.is_exchange) {
        ++exchanges;
        exchange_time += time;
        continue;
      }
      std::optional<double> bytes = size.in;
      if (operation == Operation::all_gather)
        bytes = size.out ? size.out : size.in ? times_ranks(*size.in, size.group) : std::nullopt;
      if (!operation) {
        ++messages;
        message_time += time;
        continue;
      }
      if (!bytes || !is_plausible(*bytes)) {
        ++unsized;
        unsized_time += time;
        continue;
      }
      if (rows().empty()) continue;
      const Phase phase = rows()[static_cast<std::size_t>(std::max(one.after, 0))].phase;
      found.push_back({*operation, Bytes(*bytes), &one, groups.add(work, *operation, phase)});
    }
    const std::vector<Axis> axes = axes_of(groups, messages);
    for (const GroupedCollective& one : found) add_collective(one, one.group ? axes[*one.group] : Axis::all);
    if (messages > 0)
      result_.left_out.push_back({messages, message_time, "messages between two ranks, of a step"});
    if (exchanges > 0)
      result_.left_out.push_back(
          {exchanges, exchange_time, "kernels of DeepEP (all_to_all of unknown size), of a step"});
    if (unsized > 0)
      result_.left_out.push_back({unsized, unsized_time, "collectives of unknown size, of a step"});
  }

  /// The axis of each group, if they are those of a layout; a warning and all ranks if not.
  std::vector<Axis> axes_of(const ProfileGroups& groups, int messages) {
    const std::vector<UsedGroup>& used = groups.used();
    if (used.empty()) return {};
    Known<GroupLayout> layout = layout_of_groups(used, groups.ranks(), options_.groups_of_others);
    // Stages of a pipeline exchange messages; those of a context group's ring leave the ranks alike.
    if (layout && messages > 0 && layout->parallelism.context == 1)
      layout = unknown("messages between two ranks are those of a pipeline, whose stages need a trace each");
    if (layout) {
      result_.layout = std::move(layout->parallelism);
      return std::move(layout->axes);
    }
    result_.warnings.push_back(
        fmt::format("{} of a step among some of the {} ranks: a run makes all ranks take part: {}",
                    plural(groups.collectives(), "collective"), groups.ranks(), layout.error()));
    return std::vector<Axis>(used.size(), Axis::all);
  }

  /// An all-gather's output by a rank's input; where the profile does not say its group, all ranks gather.
  [[nodiscard]] std::optional<double> times_ranks(double bytes, int group) const {
    if (group > 0) return bytes * group;
    return profile_.ranks ? std::optional(bytes * *profile_.ranks) : std::nullopt;
  }

  void add_collective(const GroupedCollective& one, Axis axis) {
    const int after = one.place->after;
    const ProfileEvent& kernel = profile_.events[work_.work[one.place->work].event];
    Op& op = result_.trace.ops[std::max(after, 0)];
    OpCommunication communication{.operation = one.operation, .size = one.size, .axis = axis};
    if (after < 0) communication.at = LaunchTime::start;
    communication.waits = usual_wait(op.phase, one.operation);
    if (communication.waits) communication.waits = rows_beside(after, kernel.end);
    op.communications.push_back(communication);
    result_.sent.push_back({one.operation, one.size, kernel.end - kernel.start});
    ++result_.collectives;
  }

  /// Rows behind one that begin before a time, up to the first that does not or is the optimizer's. Rows of
  /// a phase are in the order of their starts.
  [[nodiscard]] int rows_beside(int after, std::int64_t end) const {
    const auto first = rows().begin() + after + 1;
    auto at = first;
    for (const Phase phase : {Phase::forward, Phase::backward}) {
      const auto last = std::ranges::upper_bound(at, rows().end(), phase, {}, &ProfileRow::phase);
      at = std::ranges::lower_bound(at, last, end, {}, &ProfileRow::first_start);
      if (at != last) break;
    }
    return static_cast<int>(at - first);
  }

  /// A gradient belongs to the backward row that was launched last before it was added up.
  void add_gradients() {
    std::size_t number = 0;
    bool has_sizes = true;
    std::vector<std::pair<std::size_t, Gradient>> found;
    const RowsByLaunch by_launch(rows(), [](const ProfileRow& row) { return row.phase == Phase::backward; });
    for (const ProfiledGradient& one : gradients_of(work_, chosen_.shown)) {
      if (one.time < chosen_.window.start || one.time >= chosen_.window.end) continue;
      ++result_.tensors;
      if (!one.values || !is_plausible(*one.values)) {
        has_sizes = false;
        continue;
      }
      const auto index = by_launch.last_until(one.time);
      if (!index) continue;
      const std::string layer = trace_text(rows()[*index].layer);
      found.emplace_back(*index, Gradient{fmt::format("{}.{}", layer, number++), *one.values});
    }
    if (!has_sizes) return;
    for (auto& [index, gradient] : found) result_.trace.ops[index].gradients.push_back(std::move(gradient));
  }

  /// The times in which the step does not compute because of its host, as ops of kind host before the ops
  /// that end them: idle times, copies to or from the host, and late launches during a collective. The sum
  /// of all ops and the rest of the exposed communication is then the step.
  void add_host_gaps() {
    // of a micro-batch that stands for all; scaled, its gaps and those of the update add up to the step's
    const double idle = scale_of(&ProfileRow::idle_before, chosen_.parts.idle, chosen_.parts.idle_behind);
    const double copying =
        scale_of(&ProfileRow::copying_before, chosen_.parts.copying, chosen_.parts.copying_behind);
    std::vector<Op> ops;
    std::vector<std::size_t> places;  // of the ops that were there
    result_.rows.clear();
    int numbers = 0;
    const auto add = [&](Phase phase, std::string_view what, double ns) {
      if (ns <= 0) return;
      ops.push_back(new_op(phase, fmt::format("{}{}", what, numbers++), OpKind::host, Seconds(ns / 1e9)));
      result_.rows.push_back({.phase = phase, .kind = OpKind::host});
    };
    const auto add_both = [&](Phase phase, double copying_ns, double idle_ns) {
      add(phase, host_copy_layer, copying_ns);
      add(phase, "host.", idle_ns);
    };
    for (std::size_t i = 0; i < result_.trace.ops.size(); ++i) {
      const ProfileRow& row = rows()[i];
      add_both(row.phase, copying * static_cast<double>(row.copying_before),
               idle * static_cast<double>(row.idle_before) + static_cast<double>(row.held_before));
      places.push_back(ops.size());
      ops.push_back(std::move(result_.trace.ops[i]));
      result_.rows.push_back(row);
    }
    add_both(rows().back().phase, copying * static_cast<double>(chosen_.parts.copying_behind),
             idle * static_cast<double>(chosen_.parts.idle_behind));
    move_launches(ops, places);
    result_.trace.ops = std::move(ops);
  }

  /// Factor with which the gaps of the rows add up to `sum`.
  [[nodiscard]] double scale_of(std::int64_t ProfileRow::*gap, std::int64_t sum, std::int64_t behind) const {
    double own = static_cast<double>(behind);
    for (const ProfileRow& row : rows()) {
      const double times = row.phase == Phase::optimizer ? 1 : chosen_.accumulation;
      own += static_cast<double>(row.*gap) * times;
    }
    return own > 0 ? static_cast<double>(sum) / own : 0;
  }

  /// Collectives that overlap with ops also overlap with those put between them, and work that begins before
  /// all ops begins with the first of them.
  static void move_launches(std::vector<Op>& ops, const std::vector<std::size_t>& places) {
    const auto begins_before = [](const OpCommunication& one) { return one.at == LaunchTime::start; };
    for (std::size_t i = 0; i < places.size(); ++i) {
      for (OpCommunication& one : ops[places[i]].communications) {
        const std::size_t beside = one.waits ? static_cast<std::size_t>(*one.waits) : 0;
        if (beside == 0) continue;
        // one that begins with the first op counts from there, the others from the op behind theirs
        const std::size_t waits =
            begins_before(one) ? places[beside - 1] + 1 : places[i + beside] - places[i];
        one.waits = static_cast<int>(waits);
      }
    }
    if (places.front() == 0) return;
    std::vector<OpCommunication>& of_first = ops[places.front()].communications;
    std::ranges::copy_if(of_first, std::back_inserter(ops.front().communications), begins_before);
    std::erase_if(of_first, begins_before);
  }

  void count_what_is_left_out() {
    LeftOut outside{.what = "kernels, copies and fills outside of steps"};
    LeftOut without{.what = "kernels, copies and fills without a launch in the file"};
    for (const GpuWork& one : work_.work) {
      const ProfileEvent& event = profile_.events[one.event];
      if (chosen_.shown < 0 || one.step >= 0) continue;
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
    const std::size_t of_last =
        chosen_.rows.collectives.size() * static_cast<std::size_t>(chosen_.accumulation - 1);
    result_.reduces_each =
        chosen_.earlier_collectives > 0 && static_cast<std::size_t>(chosen_.earlier_collectives) == of_last;
    if (chosen_.earlier_collectives > 0 && !result_.reduces_each)
      result_.left_out.push_back(
          {chosen_.earlier_collectives, 0, "collectives of micro-batches before the last"});
    const auto drop = [&](std::uint64_t count, const char* what) {
      if (count > 0) result_.left_out.push_back({static_cast<int>(count), 0, what});
    };
    drop(profile_.odd, "events whose name or time is of another type");
    drop(profile_.other_devices, "events of other devices");
    drop(profile_.other_processes, "calls and ranges of other processes");
    for (const auto& [what, count] : profile_.unused) drop(count, what.c_str());
    if (profile_.without_time > 0)
      result_.left_out.push_back({static_cast<int>(profile_.without_time), 0, "events without a time"});
    if (profile_.repaired > 0)
      result_.warnings.push_back(
          fmt::format("{} names of events had invalid characters, which were replaced", profile_.repaired));
  }

  const Profile& profile_;
  const ProfileWork& work_;
  const ImportOptions& options_;
  ChosenSteps chosen_;
  int batch_ = 0;
  ImportedTrace result_;
};

}  // namespace

ImportedTrace trace_of(const Profile& profile, const ProfileWork& work, const ImportOptions& options) {
  return Importer(profile, work, options).make();
}

}  // namespace trainyard
