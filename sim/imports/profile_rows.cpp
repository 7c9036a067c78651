#include "imports/profile_rows.hpp"

#include "imports/intervals.hpp"
#include "imports/op_names.hpp"
#include "imports/profile_figures.hpp"

#include <algorithm>
#include <functional>
#include <limits>
#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>

namespace trainyard {
namespace {

class RowNamer {
public:
  RowNamer(const Profile& profile, const ProfileWork& work, int step,
           const std::vector<const GpuWork*>& first_work, std::vector<ProfileRow>& rows)
      : profile_(profile), work_(work), step_(step), first_work_(first_work), rows_(rows) {}

  void name_all() {
    std::map<std::string, int, std::less<>> counted;
    const auto next = [&](std::string_view base) {
      const int number = counted[std::string(base)]++;
      return std::string(base) + "." + std::to_string(number);
    };
    std::map<std::uint32_t, std::string> of_op;
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      ProfileRow& row = rows_[i];
      if (!row.layer.empty() || row.phase == Phase::backward) continue;
      const GpuWork& first = *first_work_[i];
      const std::string_view base =
          row.op == no_event ? short_kernel_name(name(first.event)) : plain_name(name(row.op));
      constexpr std::string_view module_prefix = "nn.Module: ";
      if (first.module != no_event) {
        const std::string module(name(first.module).substr(module_prefix.size()));
        row.layer =
            modules_.emplace(module, 0).first->second++ == 0 ? module : module + "." + std::string(base);
      } else {
        row.layer = next(base);
      }
      if (row.op != no_event) of_op.emplace(row.op, row.layer);
    }
    name_backward_rows(of_op, next);
  }

private:
  template <class Next>
  void name_backward_rows(const std::map<std::uint32_t, std::string>& of_op, Next next) {
    const std::map<std::uint64_t, std::uint32_t> forward = forward_ops();
    std::map<std::uint32_t, std::string> of_wrapper;
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      ProfileRow& row = rows_[i];
      if (!row.layer.empty()) continue;
      const GpuWork& first = *first_work_[i];
      const std::uint32_t wrapper = first.wrapper;
      if (wrapper == no_event) {
        row.layer =
            next(row.op == no_event ? short_kernel_name(name(first.event)) : plain_name(name(row.op)));
        continue;
      }
      auto known = of_wrapper.find(wrapper);
      if (known == of_wrapper.end()) {
        std::string layer;
        const auto found = forward.find(event(wrapper).sequence);
        if (found != forward.end()) {
          const auto around = enclosing(found->second, of_op);
          if (around != of_op.end()) layer = around->second;
        }
        if (layer.empty()) layer = next(plain_name(name(wrapper)));
        known = of_wrapper.emplace(wrapper, std::move(layer)).first;
      }
      row.layer = known->second;
    }
  }

  /// The first operator of each sequence number in the step that is not of backward.
  [[nodiscard]] std::map<std::uint64_t, std::uint32_t> forward_ops() const {
    std::map<std::uint64_t, std::uint32_t> result;
    const std::int64_t from = step_ < 0 ? std::numeric_limits<std::int64_t>::min() : work_.steps[step_].start;
    const std::int64_t to = step_ < 0 ? std::numeric_limits<std::int64_t>::max() : work_.steps[step_].end;
    const auto first = std::ranges::lower_bound(profile_.events, from, {}, &ProfileEvent::start);
    for (auto at = first; at != profile_.events.end() && at->start < to; ++at) {
      if (at->kind != EventKind::op || at->is_backward || at->sequence == ProfileEvent::no_number) continue;
      result.emplace(at->sequence, static_cast<std::uint32_t>(at - profile_.events.begin()));
    }
    return result;
  }

  /// The named operator that is `op` or encloses it on its thread.
  [[nodiscard]] std::map<std::uint32_t, std::string>::const_iterator enclosing(
      std::uint32_t op, const std::map<std::uint32_t, std::string>& of_op) const {
    auto after = of_op.upper_bound(op);  // events are in the order of their starts
    const ProfileEvent& inner = event(op);
    for (int tries = 0; after != of_op.begin() && tries < 8; ++tries) {
      --after;
      const ProfileEvent& outer = event(after->first);
      if (outer.lane == inner.lane && outer.start <= inner.start && outer.end >= inner.end) return after;
    }
    return of_op.end();
  }

  [[nodiscard]] const ProfileEvent& event(std::uint32_t index) const { return profile_.events[index]; }
  [[nodiscard]] std::string_view name(std::uint32_t index) const { return profile_.texts[event(index).name]; }

  const Profile& profile_;
  const ProfileWork& work_;
  int step_;
  const std::vector<const GpuWork*>& first_work_;
  std::vector<ProfileRow>& rows_;
  std::map<std::string, int, std::less<>> modules_;
};

/// Names the rows of a step that have no name yet. Forward operators of the model's parts are called as
/// those; all others are counted. A backward operator has the name of its forward operator. `first_work`: of
/// each row.
void name_rows(const Profile& profile, const ProfileWork& work, int step,
               const std::vector<const GpuWork*>& first_work, std::vector<ProfileRow>& rows) {
  RowNamer(profile, work, step, first_work, rows).name_all();
}

bool is_with_host(std::string_view copy) {
  return copy.find("HtoD") != std::string_view::npos || copy.find("DtoH") != std::string_view::npos ||
         copy.find("HostToDevice") != std::string_view::npos ||
         copy.find("DeviceToHost") != std::string_view::npos;
}

/// A kernel of a row.
struct RowKernel {
  std::int64_t start = 0, launched = 0;  ///< ns
  std::size_t row = 0;
};

class RowMaker {
public:
  RowMaker(const Profile& profile, const ProfileWork& work, int step, const std::optional<Interval>& window)
      : profile_(profile), work_(work), step_(step), window_(window) {}

  StepRows make() {
    select();
    if (own_.empty()) return {};
    find_passes();
    add_rows();
    name_rows(profile_, work_, step_, first_work_, result_.rows);
    add_collectives();
    measure_parts();
    order_rows();
    return std::move(result_);
  }

private:
  using Key = std::tuple<Phase, std::uint32_t, OpKind>;  // the op, or a name, and the pass of a convolution

  [[nodiscard]] const ProfileEvent& event(std::uint32_t index) const { return profile_.events[index]; }
  [[nodiscard]] std::string_view name(std::uint32_t index) const { return profile_.texts[event(index).name]; }
  [[nodiscard]] std::int64_t launched(const GpuWork& work) const { return launch_time(profile_, work); }

  void select() {
    for_each_work(work_, step_, [&](const GpuWork& one) {
      const std::int64_t time = launched(one);
      if (!window_ || (time >= window_->start && time < window_->end)) own_.push_back(&one);
    });
    std::int64_t next = std::numeric_limits<std::int64_t>::max();
    if (step_ >= 0 && static_cast<std::size_t>(step_) + 1 < work_.of_step.size()) {
      const std::vector<std::uint32_t>& following = work_.of_step[step_ + 1];
      if (!following.empty()) next = event(work_.work[following.front()].event).start;
    }
    if (own_.empty()) return;
    start_ = event(own_.front()->event).start;
    std::int64_t last = start_;
    for (const GpuWork* one : own_) last = std::max(last, event(one->event).end);
    end_ = next == std::numeric_limits<std::int64_t>::max() || next < last ? last : next;
    // a range that the user names may be part of a step, whose rest is no idle time
    if (work_.marks != StepMarks::ranges || end_ == last) return;
    const auto behind = std::ranges::lower_bound(work_.work, last, {},
                                                 [&](const GpuWork& one) { return event(one.event).start; });
    if (behind == work_.work.end() || event(behind->event).start >= next) return;
    end_ = last;
    result_.is_part = true;
  }

  /// Work in no range is forward before the first launch of backward, and the optimizer's behind the last.
  void find_passes() {
    bool is_any = false;
    for (const GpuWork* one : own_) {
      if (one->phase != WorkPhase::backward) continue;
      const std::int64_t time = launched(*one);
      first_backward_ = is_any ? std::min(first_backward_, time) : time;
      last_backward_ = is_any ? std::max(last_backward_, time) : time;
      is_any = true;
    }
    has_backward_ = is_any;
  }

  [[nodiscard]] Phase phase_of(const GpuWork& work) const {
    switch (work.phase) {
      case WorkPhase::backward:
        return Phase::backward;
      case WorkPhase::optimizer:
      case WorkPhase::zero_grad:
        return Phase::optimizer;
      case WorkPhase::rest:
      case WorkPhase::unknown:
        break;
    }
    if (!has_backward_ || launched(work) < first_backward_) return Phase::forward;
    return launched(work) > last_backward_ ? Phase::optimizer : Phase::backward;
  }

  void add_rows() {
    std::vector<Interval> communication;
    for (const GpuWork* one : own_) {
      if (one->communicates()) communication.push_back({event(one->event).start, event(one->event).end});
    }
    communication_ = merged(std::move(communication));
    std::int64_t covered = std::numeric_limits<std::int64_t>::min();
    for (const GpuWork* one : own_) {
      if (one->communicates() || is_host_copy(*one)) continue;
      const ProfileEvent& kernel = event(one->event);
      const Interval alone{std::max(covered, kernel.start), std::max({covered, kernel.start, kernel.end})};
      covered = std::max(covered, kernel.end);
      const std::size_t index = row_of(*one);
      kernels_.push_back({kernel.start, launched(*one), index});
      ProfileRow& row = result_.rows[index];
      row.time += alone.end - alone.start;
      row.beside += common({alone}, communication_);
      ++row.kernels;
      row.hints.add(name(one->event));
      row.events.push_back(one->event);
    }
  }

  [[nodiscard]] bool is_host_copy(const GpuWork& work) const {
    return event(work.event).kind == EventKind::copy && is_with_host(name(work.event));
  }

  std::size_t row_of(const GpuWork& work) {
    const Phase phase = phase_of(work);
    const bool updates = work.phase == WorkPhase::optimizer || work.phase == WorkPhase::zero_grad;
    std::uint32_t op = work.op;
    if (op == no_event && work.phase == WorkPhase::backward) op = work.wrapper;
    OpKind kind = op == no_event ? OpKind::measured : kind_of_operator(name(op), phase == Phase::backward);
    if (updates) {
      op = no_event;
      kind = OpKind::optimizer;
    } else if (op != no_event && phase == Phase::backward && is_convolution(op, work.wrapper)) {
      kind = pass_of_kernel(name(work.event)).value_or(last_pass(op));
      last_pass_[op] = kind;
    }
    // Without an operator the kernel's name is all there is.
    const std::uint32_t identity =
        updates ? static_cast<std::uint32_t>(work.phase) : (op == no_event ? event(work.event).name : op);
    const auto [found, is_new] = index_of_.emplace(Key{phase, identity, kind}, result_.rows.size());
    if (is_new) {
      result_.rows.push_back({.phase = phase,
                              .kind = kind,
                              .layer = updates
                                           ? (work.phase == WorkPhase::optimizer ? "optimizer" : "zero_grad")
                                           : std::string(),
                              .op = op,
                              .first_launch = launched(work),
                              .first_start = event(work.event).start,
                              .adds_gradients = adds_gradients(op, work.wrapper)});
      first_work_.push_back(&work);
    }
    ProfileRow& row = result_.rows[found->second];
    row.first_launch = std::min(row.first_launch, launched(work));
    return found->second;
  }

  [[nodiscard]] bool is_convolution(std::uint32_t op, std::uint32_t wrapper) const {
    const auto says = [&](std::uint32_t index) {
      return index != no_event && (name(index).find("onvolution") != std::string_view::npos ||
                                   name(index).find("ConvolutionBackward") != std::string_view::npos);
    };
    return says(op) || says(wrapper);
  }

  /// Hooks that run where a gradient is complete, as those of DDP, have other operators there.
  [[nodiscard]] bool adds_gradients(std::uint32_t op, std::uint32_t wrapper) const {
    return op != no_event && wrapper != no_event && plain_name(name(op)).starts_with("add") &&
           name(wrapper).ends_with("AccumulateGrad");
  }

  /// Kernels that say no pass, such as changes of layout, belong to the one before them, first to the input's
  /// gradient.
  [[nodiscard]] OpKind last_pass(std::uint32_t op) const {
    const auto found = last_pass_.find(op);
    return found == last_pass_.end() ? OpKind::conv_dgrad : found->second;
  }

  void add_collectives() {
    for (const GpuWork* one : own_) {
      if (one->communicates())
        result_.collectives.push_back({.work = static_cast<std::uint32_t>(one - work_.work.data())});
    }
    std::ranges::stable_sort(result_.collectives, {},
                             [&](const ProfileCollective& one) { return launched(work_.work[one.work]); });
  }

  void order_rows() {
    std::ranges::stable_sort(result_.rows, [](const ProfileRow& a, const ProfileRow& b) {
      return a.phase != b.phase ? a.phase < b.phase : a.first_start < b.first_start;
    });
    const RowsByLaunch by_launch(result_.rows,
                                 [](const ProfileRow& row) { return row.phase != Phase::optimizer; });
    for (ProfileCollective& collective : result_.collectives) {
      const auto last = by_launch.last_until(launched(work_.work[collective.work]));
      if (last) collective.after = static_cast<int>(*last);
    }
  }

  void measure_parts() {
    std::vector<Interval> copies;
    std::vector<Interval> computing;
    for (const GpuWork* one : own_) {
      if (one->communicates()) continue;
      (is_host_copy(*one) ? copies : computing).push_back({event(one->event).start, event(one->event).end});
    }
    computing = merged(std::move(computing));
    result_.start = start_;
    result_.period = end_ - start_;
    result_.computing = total(computing);
    const std::vector<Interval> exposed = without(communication_, computing);
    result_.exposed = total(exposed);
    find_late_launches(exposed);
    std::vector<Interval> all = computing;
    all.insert(all.end(), communication_.begin(), communication_.end());
    all = merged(std::move(all));
    copies = without(merged(std::move(copies)), all);
    result_.copying = total(copies);
    result_.idle = result_.period - result_.computing - result_.exposed - result_.copying;
    place(copies, &ProfileRow::copying_before, result_.copying_behind);
    all.insert(all.end(), copies.begin(), copies.end());
    place(without({{start_, end_}}, merged(std::move(all))), &ProfileRow::idle_before, result_.idle_behind);
  }

  /// Counts each interval to the row whose kernel is the first that begins behind it.
  void place(const std::vector<Interval>& intervals, std::int64_t ProfileRow::*before, std::int64_t& behind) {
    for (const Interval& one : intervals) {
      const auto next = std::ranges::lower_bound(kernels_, one.end, {}, &RowKernel::start);
      std::int64_t& sum = next == kernels_.end() ? behind : result_.rows[next->row].*before;
      sum += one.end - one.start;
    }
  }

  /// Where communication is exposed because the host is late, not because the next op waits for it.
  /// `exposed`: communication while nothing computes.
  void find_late_launches(const std::vector<Interval>& exposed) {
    std::map<std::int64_t, bool> holds_up;  // by the end of a collective: the next op waits for it
    for (const GpuWork* one : own_) {
      if (!one->communicates()) continue;
      const auto operation = operation_of(profile_, *one);
      const bool is_reduction = operation && reduces(*operation) && phase_of(*one) == Phase::backward;
      bool& holds = holds_up[event(one->event).end];
      holds = holds || !is_reduction;
    }
    for (const Interval& one : exposed) {
      const auto next = std::ranges::lower_bound(kernels_, one.end, {}, &RowKernel::start);
      if (next == kernels_.end()) return;
      ProfileRow& row = result_.rows[next->row];
      const auto ended = holds_up.find(one.end);
      const bool waits = row.phase == Phase::optimizer || (ended != holds_up.end() && ended->second);
      if (!waits) row.held_before += std::max<std::int64_t>(0, std::min(one.end, next->launched) - one.start);
    }
  }

  const Profile& profile_;
  const ProfileWork& work_;
  int step_;
  std::optional<Interval> window_;
  std::vector<const GpuWork*> own_;
  std::vector<const GpuWork*> first_work_;  // of each row, in the order in which rows were found
  std::vector<Interval> communication_;
  std::vector<RowKernel> kernels_;  // that compute, by start
  std::map<Key, std::size_t> index_of_;
  std::map<std::uint32_t, OpKind> last_pass_;
  std::int64_t start_ = 0, end_ = 0, first_backward_ = 0, last_backward_ = 0;
  bool has_backward_ = false;
  StepRows result_;
};

}  // namespace

RowsByLaunch::RowsByLaunch(const std::vector<ProfileRow>& rows, bool (*counts)(const ProfileRow&)) {
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (counts(rows[i])) order_.emplace_back(rows[i].first_launch, i);
  }
  std::ranges::sort(order_);
}

std::optional<std::size_t> RowsByLaunch::last_until(std::int64_t time) const {
  const auto after = std::ranges::upper_bound(order_, time, {}, &std::pair<std::int64_t, std::size_t>::first);
  return after == order_.begin() ? std::nullopt : std::optional(std::prev(after)->second);
}

std::int64_t launch_time(const Profile& profile, const GpuWork& work) {
  return profile.events[work.launch == no_event ? work.event : work.launch].start;
}

StepRows rows_of(const Profile& profile, const ProfileWork& work, int step,
                 const std::optional<Interval>& launched) {
  return RowMaker(profile, work, step, launched).make();
}

}  // namespace trainyard
