#include "imports/profile_launches.hpp"

#include "imports/op_names.hpp"

#include <algorithm>
#include <iterator>
#include <map>
#include <utility>

namespace trainyard {
namespace {

/// Whether it is an operator that computes, not the range that runs it.
bool is_operator(std::string_view name) {
  return name.find("::") != std::string_view::npos && !is_backward_range(name) && !name.starts_with("c10d::");
}

/// Whether the range names a collective: "nccl:all_reduce", "c10d::allreduce_".
bool names_call(std::string_view name) { return names_operands(name) || name.starts_with("c10d::"); }

}  // namespace

ProfiledLaunches::ProfiledLaunches(const Profile& profile) : profile_(&profile) {
  find();
  find_closures();
  const auto start_of = [this](const ProfiledLaunch& one) { return event(one.launch).start; };
  for (auto& [correlation, launches] : of_correlation_) {
    if (launches.size() > 1) std::ranges::stable_sort(launches, {}, start_of);
  }
  find_processes();
}

void ProfiledLaunches::find() {
  std::vector<std::uint32_t> host;
  for (std::uint32_t i = 0; i < profile_->events.size(); ++i) {
    const EventKind kind = event(i).kind;
    if (kind == EventKind::op || kind == EventKind::range || kind == EventKind::launch) host.push_back(i);
  }
  std::ranges::stable_sort(host, [&](std::uint32_t a, std::uint32_t b) {
    const ProfileEvent& x = event(a);
    const ProfileEvent& y = event(b);
    if (x.lane != y.lane) return x.lane < y.lane;
    if (x.start != y.start) return x.start < y.start;
    if (x.end != y.end) return x.end > y.end;
    return (x.kind == EventKind::launch) < (y.kind == EventKind::launch);
  });
  std::vector<Enclosed> stack;
  TextPool::Id lane = TextPool::none;
  for (const std::uint32_t index : host) {
    const ProfileEvent& one = event(index);
    if (one.lane != lane) stack.clear();
    lane = one.lane;
    const auto has_ended = [&](const ProfileEvent& outer) {
      return outer.end < one.start || (outer.end == one.start && one.end > outer.end);
    };
    while (!stack.empty() && has_ended(event(stack.back().index))) stack.pop_back();
    const Enclosed* const around = stack.empty() ? nullptr : &stack.back();
    if (one.kind != EventKind::launch) {
      stack.push_back(enclosed(index, around));
    } else if (one.correlation != ProfileEvent::no_number) {
      add(index, around);
    }
  }
}

/// The context of a launch inside of an event: the context around the event, and the event. Each is made from
/// the one around it, so that deep nesting costs no more than a flat one.
ProfiledLaunches::Enclosed ProfiledLaunches::enclosed(std::uint32_t index, const Enclosed* around) const {
  Enclosed result = around == nullptr ? Enclosed{} : *around;
  result.index = index;
  ProfiledLaunch& launch = result.launch;
  const std::string_view name = this->name(index);
  const bool is_op = event(index).kind == EventKind::op;
  if (is_backward_range(name)) {
    // also in an optimizer: it calls a closure that computes the gradients
    if (launch.phase != WorkPhase::zero_grad) launch.phase = WorkPhase::backward;
    if (launch.wrapper == no_event) launch.wrapper = index;
  } else if (is_optimizer_range(name)) {
    launch.phase = WorkPhase::optimizer;
    if (launch.update == no_event) launch.update = index;
  } else if (is_zero_grad_range(name)) {
    launch.phase = WorkPhase::zero_grad;
  }
  if (name == "record_param_comms") launch.record = index;
  if (names_call(name)) launch.call = index;
  if (is_op && is_operator(name)) {
    launch.leaf = index;
    if (launch.op == no_event) launch.op = index;
  }
  result.innermost_op = is_op ? index : no_event;
  return result;
}

/// Optimizer.step(closure) computes the gradients itself, as L-BFGS and PyTorch Lightning let it do: backward
/// work, most often of another thread, lies inside its pass. Work that it launches before the last of that,
/// and by operators that backward differentiates, is the forward pass. Updates run without gradients, and so
/// their operators have no number in the sequence of those; where no operator has one, time alone decides.
void ProfiledLaunches::find_closures() {
  std::unordered_map<TextPool::Id, std::vector<std::int64_t>> backward;  // launches, by process
  for (const auto& [correlation, launches] : of_correlation_) {
    for (const ProfiledLaunch& one : launches) {
      if (one.phase == WorkPhase::backward)
        backward[event(one.launch).owner].push_back(event(one.launch).start);
    }
  }
  for (auto& [process, times] : backward) std::ranges::sort(times);
  const bool has_sequence = std::ranges::any_of(profile_->events, [](const ProfileEvent& one) {
    return one.kind == EventKind::op && one.sequence != ProfileEvent::no_number;
  });
  for (auto& [correlation, launches] : of_correlation_) {
    for (ProfiledLaunch& one : launches) {
      if (one.phase != WorkPhase::optimizer || one.update == no_event) continue;
      const auto found = backward.find(event(one.launch).owner);
      if (found == backward.end()) continue;
      const ProfileEvent& update = event(one.update);
      const auto behind = std::ranges::lower_bound(found->second, update.end);
      const bool is_before = behind != found->second.begin() &&
                             event(one.launch).start < *std::prev(behind) &&
                             *std::prev(behind) >= update.start;
      const bool is_differentiated =
          !has_sequence || (one.op != no_event && event(one.op).sequence != ProfileEvent::no_number);
      if (is_before && is_differentiated) one.phase = WorkPhase::rest;
    }
  }
}

bool ProfiledLaunches::launches_something(std::uint32_t call) const {
  return name(call).find("aunch") != std::string_view::npos;
}

void ProfiledLaunches::add(std::uint32_t launch, const Enclosed* around) {
  ProfiledLaunch made = around == nullptr ? ProfiledLaunch{} : around->launch;
  made.launch = launch;
  if (around != nullptr && made.op == no_event && made.wrapper == no_event) made.op = around->innermost_op;
  std::vector<ProfiledLaunch>& launches = of_correlation_[event(launch).correlation];
  // calls that only wait or ask share a correlation with nothing else; with two launches time decides
  if (!launches.empty() && event(launches.back().launch).owner == event(launch).owner) {
    const bool others_launch = launches_something(launches.back().launch);
    if (others_launch && !launches_something(launch)) return;
    if (!others_launch) launches.pop_back();
  }
  launches.push_back(made);
}

/// Numbers of launches are those of a process. Where several processes are in the file, the launches whose
/// number only one of them has say which of them works on which device.
void ProfiledLaunches::find_processes() {
  std::map<std::pair<TextPool::Id, TextPool::Id>, std::size_t> votes;  // device and process
  for (const ProfileEvent& work : profile_->events) {
    if (!is_on_gpu(work.kind) || work.correlation == ProfileEvent::no_number) continue;
    const auto found = of_correlation_.find(work.correlation);
    if (found == of_correlation_.end()) continue;
    const TextPool::Id process = event(found->second.front().launch).owner;
    if (event(found->second.back().launch).owner == process) ++votes[{work.owner, process}];
  }
  std::unordered_map<TextPool::Id, std::size_t> most;
  for (const auto& [which, count] : votes) {
    if (count <= most[which.first]) continue;
    most[which.first] = count;
    process_of_device_[which.first] = which.second;
  }
}

const ProfiledLaunch* ProfiledLaunches::of(const ProfileEvent& work) const {
  if (work.correlation == ProfileEvent::no_number) return nullptr;
  const auto found = of_correlation_.find(work.correlation);
  if (found == of_correlation_.end()) return nullptr;
  const std::vector<ProfiledLaunch>& launches = found->second;
  if (launches.size() == 1) return &launches.front();
  const auto start_of = [this](const ProfiledLaunch& one) { return event(one.launch).start; };
  const auto after = std::ranges::upper_bound(launches, work.start, {}, start_of);
  const auto process = process_of_device_.find(work.owner);
  const auto is_its = [&](const ProfiledLaunch& one) {
    return process == process_of_device_.end() || event(one.launch).owner == process->second;
  };
  constexpr int tries = 64;  // of launches of other processes in a row
  int count = 0;
  for (auto at = after; at != launches.begin() && count < tries; ++count) {
    if (is_its(*--at)) return &*at;
  }
  count = 0;
  for (auto at = after; at != launches.end() && count < tries; ++at, ++count) {
    if (is_its(*at)) return &*at;
  }
  return after == launches.begin() ? &launches.front() : &*std::prev(after);
}

}  // namespace trainyard
