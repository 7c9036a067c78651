#include "schedule/trace_plan.hpp"

#include "collectives/planner.hpp"
#include "experiment/collective_software.hpp"
#include "experiment/op_times.hpp"
#include "platform/channels.hpp"
#include "schedule/collective_use.hpp"
#include "schedule/deadlock.hpp"
#include "schedule/launches.hpp"
#include "schedule/step_program.hpp"
#include "schedule/trace_meetings.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <utility>

namespace trainyard {

namespace {

class TracePlanner {
public:
  explicit TracePlanner(const ResolvedExperiment& resolved) : resolved_(resolved) {}

  StepPlan plan() {
    plan_.graph.links = link_capacities(*resolved_.network);
    for (const RankClass& one : resolved_.classes) {
      plan_.op_times.push_back(op_times(one.trace, resolved_.gpu, resolved_.stack));
      // a rank alone reduces nothing; its messages are errors that trace_meetings() reports
      const bool launches = resolved_.cluster->ranks() > 1 || has_messages(one.trace);
      launches_.push_back(launches ? launches_of_class(one) : std::vector<Launch>());
    }
    met_ = trace_meetings(resolved_.classes, launches_, *resolved_.grid);
    for (const Meeting& meeting : met_.meetings) add_collective(meeting);
    if (resolved_.stack.overlap_slows) uses_ = collective_uses(plan_, resolved_.gpu, resolved_.library);
    plan_.graph.program_of_rank.resize(at(resolved_.cluster->ranks()));
    for (const ReplayKind& kind : met_.kinds) add_program(kind);
    require_no_deadlock();
    return std::move(plan_);
  }

private:
  [[nodiscard]] std::vector<Launch> launches_of_class(const RankClass& one) const {
    std::vector<Seconds> ends;
    Seconds now;
    for (const OpTime& time : plan_.op_times.back()) ends.push_back(now += time.duration);
    return launches_of(one.trace, ends, resolved_.stack, resolved_.gpu, resolved_.settings.sync,
                       resolved_.cluster->ranks());
  }

  [[nodiscard]] const RankClass& class_of(MeetingMember member) const {
    return resolved_.classes[at(met_.kinds[at(member.kind)].rank_class)];
  }
  [[nodiscard]] const Launch& launch_of(MeetingMember member) const {
    return launches_[at(met_.kinds[at(member.kind)].rank_class)][at(member.launch)];
  }

  Planner& planner_of(const Meeting& meeting, const Launch& launch) {
    const RankGroups& groups = met_.families[at(meeting.family)];
    const bool has_algorithm = launch.operation == Operation::all_reduce;
    return planners_
        .try_emplace({launch.operation, meeting.family}, *resolved_.network, resolved_.library,
                     PlannerRequest{.operation = launch.operation,
                                    .groups = groups,
                                    .root = groups.front().front(),
                                    .algorithm = has_algorithm ? resolved_.settings.sync.algorithm
                                                               : Algorithm::automatic,
                                    .grid = resolved_.settings.sync.grid,
                                    .one_way = meeting.one_way})
        .first->second;
  }

  void add_collective(const Meeting& meeting) {
    const Launch& launch = launch_of(meeting.members.front());
    Planner& planner = planner_of(meeting, launch);
    const CollectivePlan& chosen = planner.plan(launch.size, plan_.graph.patterns);
    for (const std::string& note : chosen.notes) {
      if (std::ranges::find(plan_.notes, note) == plan_.notes.end()) plan_.notes.push_back(note);
    }
    plan_.channels = std::max(plan_.channels, chosen.channels);
    Collective& collective =
        plan_.graph.collectives.emplace_back(planner.collective(launch.size, plan_.graph.patterns));
    collective.label = {.name = name_of(meeting),
                        .purpose = purpose_of(meeting),
                        .axis = launch.axis,
                        .of_layers = !meeting.one_way && traits(launch.axis).share_model(),
                        .algorithm = chosen.algorithm,
                        .protocol = chosen.protocol,
                        .channels = chosen.channels,
                        .tensors = launch.tensors,
                        .ready_op = ready_op_of(meeting),
                        .held = resolved_.stack.fusion ? "cycle" : "negotiation",
                        .before = launch.before.name,
                        .after = launch.after.name,
                        .bound = planner.bound(launch.size)};
  }

  [[nodiscard]] std::string name_of(const Meeting& meeting) const {
    const MeetingMember first = meeting.members.front();
    if (!meeting.one_way) return launch_of(first).name;
    return fmt::format("{} to {}", class_of(first).name, class_of(meeting.members.back()).name);
  }

  [[nodiscard]] std::string purpose_of(const Meeting& meeting) const {
    const MeetingMember first = meeting.members.front();
    if (!meeting.one_way) return launch_of(first).purpose;
    const Op& op = class_of(first).trace.ops[at(launch_of(first).op)];
    return op.phase == Phase::forward ? "activations" : "activation gradients";
  }

  /// The op before it, if it is the same one in all traces.
  [[nodiscard]] int ready_op_of(const Meeting& meeting) const {
    const int op = launch_of(meeting.members.front()).ready_op;
    const bool is_same = std::ranges::all_of(
        meeting.members, [&](MeetingMember member) { return launch_of(member).ready_op == op; });
    return is_same && !meeting.one_way ? op : -1;
  }

  void add_program(const ReplayKind& kind) {
    const RankClass& one = resolved_.classes[at(kind.rank_class)];
    std::vector<Launch> own;
    for (std::size_t i = 0; i < kind.meeting.size(); ++i) {
      if (kind.meeting[i] < 0) continue;
      Launch& launch = own.emplace_back(launches_[at(kind.rank_class)][i]);
      launch.collective = kind.meeting[i];
      if (launch.message)
        launch.message->peer = {.is_relative = true, .place = kind.places_ahead[i]};
      else if (!uses_.empty())
        launch.use = uses_[at(launch.collective)];
      if (resolved_.stack.overlap_slows) launch.before.use = launch.after.use = moving_bytes;
    }
    for (const Rank rank : kind.ranks)
      plan_.graph.program_of_rank[at(index(rank))] = static_cast<int>(plan_.graph.programs.size());
    plan_.graph.programs.push_back(step_program(one.trace, plan_.op_times[at(kind.rank_class)], own, {}));
  }

  /// Programs are numbered like kinds.
  [[nodiscard]] MeetingMember member_of(int collective, int kind) const {
    return *std::ranges::find(met_.meetings[at(collective)].members, kind, &MeetingMember::kind);
  }

  void require_no_deadlock() const {
    const std::vector<StuckJoin> stuck = stuck_joins(plan_.graph);
    if (stuck.empty()) return;
    std::vector<Diagnostic> errors;
    constexpr std::size_t most = 10;
    for (const StuckJoin& one : stuck) {
      if (errors.size() == most) break;
      const MeetingMember here = member_of(one.collective, one.program);
      const MeetingMember there = member_of(one.collective, one.missing);
      Diagnostic& error = errors.emplace_back(place_of(class_of(here), launch_of(here)));
      error.key_path = "communication";
      error.message = fmt::format(
          "rank {} waits here for ever: rank {} does not reach {}{}",
          index(met_.kinds[at(one.program)].ranks.front()), index(met_.kinds[at(one.missing)].ranks.front()),
          place_text(class_of(there), launch_of(there)), waits_at(stuck, one.missing));
      error.hint =
          launch_of(here).message
              ? "let one of two ranks send before it receives, or let messages overlap with ops (waits)"
              : "let all ranks call their collectives and messages in the same order";
    }
    throw InputError(std::move(errors));
  }

  /// Where a rank waits itself.
  [[nodiscard]] std::string waits_at(const std::vector<StuckJoin>& stuck, int program) const {
    const auto join = std::ranges::find(stuck, program, &StuckJoin::program);
    if (join == stuck.end()) return {};
    const MeetingMember member = member_of(join->collective, program);
    return ", because it waits at " + place_text(class_of(member), launch_of(member));
  }

  const ResolvedExperiment& resolved_;
  StepPlan plan_;
  std::vector<std::vector<Launch>> launches_;  ///< by class
  TraceMeetings met_;
  std::map<std::pair<Operation, int>, Planner> planners_;  ///< by operation and family
  std::vector<GpuUse> uses_;                               ///< by collective, if collectives slow kernels
};

}  // namespace

StepPlan plan_traces_step(const ResolvedExperiment& resolved) { return TracePlanner(resolved).plan(); }

}  // namespace trainyard
