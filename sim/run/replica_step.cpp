#include "run/replica_step.hpp"

#include "run/child_processes.hpp"

#include <algorithm>
#include <map>
#include <string>
#include <utility>

namespace trainyard {

namespace {

/// When ops end for the last time.
std::vector<Seconds> last_ends(const Step& step, std::size_t number) {
  const ClassStep& one = step.classes[number];
  std::vector<Seconds> ends(one.ops.size());
  for (const TimelineEvent& bar : step.bars) {
    if (bar.rank == one.first && bar.op >= 0 && bar.stream == Stream::compute)
      ends[at(bar.op)] = std::max(ends[at(bar.op)], bar.end);
  }
  return ends;
}

ReplicaStep dates_of(const Step& step) {
  ReplicaStep dates{
      .time = step.timeline.makespan, .classes = {}, .link_bytes = step.timeline.link_bytes.listed()};
  for (std::size_t i = 0; i < step.classes.size(); ++i) {
    ReplicaStep::ClassDates& one = dates.classes.emplace_back();
    for (const OpRow& op : step.classes[i].ops) one.starts.push_back(op.start);
    one.ends = last_ends(step, i);
  }
  return dates;
}

std::string sent(const ReplicaStep& step) {
  std::vector<double> numbers{step.time.si(), static_cast<double>(step.link_bytes.size())};
  numbers.insert(numbers.end(), step.link_bytes.begin(), step.link_bytes.end());
  for (const ReplicaStep::ClassDates& one : step.classes) {
    for (const auto* const dates : {&one.starts, &one.ends})
      for (const Seconds date : *dates) numbers.push_back(date.si());
  }
  return packed(numbers);
}

ReplicaStep received(const std::string& bytes, const ResolvedExperiment& resolved) {
  const std::vector<double> numbers = unpacked(bytes);
  const auto links = static_cast<std::ptrdiff_t>(numbers[1]);
  auto next = numbers.begin() + 2;
  ReplicaStep step{.time = Seconds(numbers[0]), .classes = {}, .link_bytes = {next, next + links}};
  next += links;
  for (const RankClass& one : resolved.classes) {
    ReplicaStep::ClassDates& made = step.classes.emplace_back();
    for (auto* const dates : {&made.starts, &made.ends})
      for (std::size_t op = 0; op < one.trace.ops.size(); ++op) dates->push_back(Seconds(*next++));
  }
  return step;
}

ResolvedExperiment without_updates(ResolvedExperiment resolved) {
  resolved.settings.random = {};
  for (RankClass& one : resolved.classes)
    std::erase_if(one.trace.ops,
                  [](const Op& op) { return op.phase == Phase::optimizer && op.kind != OpKind::host; });
  return resolved;
}

Run simulated(const ResolvedExperiment& resolved, Fidelity fidelity, bool fold) {
  return simulate_step(without_updates(resolved),
                       {.fidelity = fidelity, .fold = fold, .memory_of = &resolved});
}

Fidelity fidelity_of(const ResolvedExperiment& resolved, const SimulateOptions& options) {
  return options.fidelity.value_or(resolved.settings.fidelity);
}

}  // namespace

Run run_of_replicas(const ResolvedExperiment& resolved, const SimulateOptions& options) {
  const Fidelity fidelity = fidelity_of(resolved, options);
  return simulated(resolved, fidelity == Fidelity::messages ? Fidelity::closed : fidelity, options.fold);
}

ReplicaStep replica_step(const ResolvedExperiment& resolved, const SimulateOptions& options, const Run& run) {
  if (fidelity_of(resolved, options) != Fidelity::messages) return dates_of(step_of(run));
  const auto by_messages = [&](int) {
    return sent(dates_of(step_of(simulated(resolved, Fidelity::messages, options.fold))));
  };
  return received(in_children(1, 1, by_messages).front(), without_updates(resolved));
}

double messages_of_replicas(const ResolvedExperiment& resolved, double most_at_once) {
  return expected_messages_of_step(without_updates(resolved), most_at_once);
}

std::vector<double> replica_bytes(const ReplicaStep& step, const Cluster& of_step, const Cluster& cluster) {
  std::vector<double> bytes(link_count(cluster), 0);
  std::map<std::string, std::size_t> numbers;  // nodes of servers shift those of the fabric's links
  for (std::uint32_t link = 0; link < link_count(cluster); ++link)
    numbers.emplace(link_name(cluster, LinkId{link}), link);
  for (std::uint32_t link = 0; link < step.link_bytes.size(); ++link) {
    if (step.link_bytes[link] > 0)
      bytes[numbers.at(link_name(of_step, LinkId{link}))] = step.link_bytes[link];
  }
  return bytes;
}

void share_links(const ReplicaStep& step, const std::vector<double>& bytes, double busy, ServerPlan& plan) {
  // The rest of a link that the replicas fill, so that rates stay above 0. The value does not matter: such a
  // link is the servers' limit, and `busy` falls until it is not filled.
  constexpr double least_left = 0.01;
  for (std::size_t link = 0; link < bytes.size(); ++link) {
    const Bandwidth used = busy * (Bytes(bytes[link]) / step.time);
    plan.links[link] = std::max(least_left * plan.links[link], plan.links[link] - used);
  }
}

}  // namespace trainyard
