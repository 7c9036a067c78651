#include "run/checks.hpp"

#include "units/text.hpp"

#include <cmath>
#include <fmt/format.h>
#include <numeric>

namespace trainyard {

namespace {

/// Allows for rounding; far smaller than any model error.
constexpr double tolerance = 1e-9;

bool is_shorter(Seconds a, Seconds b) { return a.si() < b.si() * (1 - tolerance) - 1e-15; }

void check_collectives(const StepPlan& plan, const Timeline& timeline, Fidelity fidelity,
                       std::vector<std::string>& out) {
  // Message by message, ranks send before the last one has come: a group or pair that is complete, the root
  // of a broadcast, the leaves of a reduction.
  const bool sends_early = fidelity == Fidelity::messages;
  for (std::size_t i = 0; i < plan.graph.collectives.size(); ++i) {
    const CollectiveSpan& span = timeline.collectives[i];
    const Seconds taken = span.end - (sends_early ? span.first_arrival : span.start);
    // Dates after a very long time are as coarse as it is long.
    const Seconds rounding = 1e-14 * span.end;
    if (!is_shorter(taken + rounding, plan.graph.collectives[i].label.bound)) continue;
    out.push_back(fmt::format("{} took {}, faster than its bound {}", plan.graph.collectives[i].label.name,
                              estimate(taken), estimate(plan.graph.collectives[i].label.bound)));
  }
}

void check_bytes(const StepPlan& plan, const Timeline& timeline, bool is_shared,
                 std::vector<std::string>& out) {
  double sent = 0;
  for (const Collective& collective : plan.graph.collectives) {
    for (const CollectivePhase& phase : collective.phases) {
      const Pattern& pattern = plan.graph.patterns[at(phase.pattern)];
      const double links =
          pattern.edges.empty() ? total_uses(uses_of(pattern)) : static_cast<double>(pattern.links.size());
      sent += collective.rounds * phase.bytes.si() * phase.messages * links;
    }
  }
  double carried = 0;
  timeline.link_bytes.for_each_part([&](std::uint32_t, std::span<const double> block, std::uint32_t repeats) {
    carried += std::accumulate(block.begin(), block.end(), 0.0) * repeats;
  });
  // Others may have sent over the same links.
  if (carried >= sent * (1 - tolerance) && (is_shared || carried <= sent * (1 + tolerance))) return;
  out.push_back(fmt::format("links carried {} bytes of the {} that were sent over them", carried, sent));
}

void check_overlap(const Timeline& timeline, std::vector<std::string>& out) {
  for (std::size_t i = 1; i < timeline.spans.size(); ++i) {
    const TaskSpan& before = timeline.spans[i - 1];
    const TaskSpan& after = timeline.spans[i];
    if (before.rank != after.rank || before.stream != after.stream) continue;
    if (!is_shorter(after.start, before.end)) continue;
    out.push_back(fmt::format("tasks {} and {} of rank {} overlap on one stream", before.task, after.task,
                              index(before.rank)));
  }
}

}  // namespace

std::vector<std::string> violations(const StepPlan& plan, const Timeline& timeline, Seconds lower_bound,
                                    bool is_shared, Fidelity fidelity) {
  std::vector<std::string> out;
  if (is_shorter(timeline.makespan, lower_bound)) {
    out.push_back(fmt::format("the step took {}, less than its lower bound {}", estimate(timeline.makespan),
                              estimate(lower_bound)));
  }
  check_collectives(plan, timeline, fidelity, out);
  check_bytes(plan, timeline, is_shared, out);
  check_overlap(timeline, out);
  return out;
}

std::vector<std::string> violations(std::span<const TrainingRecord> repeats, std::span<const LinkRow> links,
                                    Seconds least) {
  std::vector<std::string> out;
  double room = tolerance;
  for (const TrainingRecord& repeat : repeats) {
    const Seconds measured = repeat.ended - repeat.begun;
    // Dates after a very long step are as coarse as it is long.
    const Seconds rounding = 1e-12 * repeat.ended;
    room = std::max(room, rounding / measured);
    const auto updates = static_cast<double>(repeat.updates);
    if (is_shorter(measured + rounding, least * updates)) {
      out.push_back(fmt::format("an update took {}, less than the {} of its collectives",
                                estimate(measured / updates), estimate(least)));
    }
    for (std::size_t worker = 0; worker < repeat.workers.size(); ++worker) {
      const WorkerRecord& record = repeat.workers[worker];
      const Seconds busy = record.computing + record.communicating + record.waiting + record.loading;
      if (!is_shorter(measured + rounding, busy) && !is_shorter(record.computing + rounding, record.wasted))
        continue;
      out.push_back(fmt::format("worker {} was busy for {} of {}, {} of it cancelled", worker, estimate(busy),
                                estimate(measured), estimate(record.wasted)));
    }
  }
  const LinkRow* most = busiest(links);
  if (most != nullptr && most->utilization > 1 + room) {
    out.push_back(fmt::format("{} carried {:.4g} times its capacity", most->name, most->utilization));
  }
  return out;
}

void require_none(const std::vector<std::string>& violations) {
  if (violations.empty()) return;
  throw EngineError(fmt::format("a result is physically impossible: {}", fmt::join(violations, "; ")));
}

}  // namespace trainyard
