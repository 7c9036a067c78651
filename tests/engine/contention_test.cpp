// Cases without a closed form, compared with a simulation of every message. README.md in sim/engine has the
// table.
#include "engine/child.hpp"
#include "engine/contention_cases.hpp"

#include <cmath>
#include <doctest/doctest.h>

using namespace trainyard;
using namespace trainyard::testing;

namespace {

/// The largest error, positive or negative, of a collective's duration relative to steps.
double error_of(const Timeline& timeline, const Timeline& steps) {
  double worst = 0;
  for (std::size_t c = 0; c < steps.collectives.size(); ++c) {
    const auto duration = [&](const Timeline& of) { return of.collectives[c].end - of.collectives[c].start; };
    worst = std::max(worst, std::abs(duration(timeline) / duration(steps) - 1));
  }
  return worst;
}

// Hosts up to which all cases are run, and beyond which the quick ones are. Sanitized, every message of the
// larger counts takes half a minute; they are run in Release.
#ifdef TRAINYARD_SANITIZED
constexpr int host_counts[] = {8, 64};
constexpr int all_cases_up_to = 8;
#else
constexpr int host_counts[] = {8, 64, 256};
constexpr int all_cases_up_to = 64;
#endif

}  // namespace

TEST_CASE("flow and rounds stay as near to steps as README.md says, and never beat the ideal") {
  for (const int hosts : host_counts) {
    for (const ContentionCase& one : contention_cases(hosts)) {
      if (hosts > all_cases_up_to && !one.is_quick) continue;
      CAPTURE(hosts);
      CAPTURE(one.name);
      const Timeline steps = run_in_child(one.graph, {.fidelity = Fidelity::messages, .recorded = {}});
      TaskGraph calm = one.graph;
      calm.link_events.clear();
      const Timeline ideal = run(calm, {.fidelity = Fidelity::closed, .recorded = {}});
      for (const Fidelity fidelity : {Fidelity::rounds, Fidelity::flow}) {
        const Timeline timeline = run_in_child(one.graph, {.fidelity = fidelity, .recorded = {}});
        CHECK(error_of(timeline, steps) < one.off);
        CHECK(timeline.makespan >= ideal.makespan * (1 - 1e-9));
      }
    }
  }
}

TEST_CASE("flow spends more flows only where something may disturb a collective") {
  TaskGraph graph = one_ring(64, Bytes{25e6}, Bandwidth{12.5e9}, Seconds{5e-6});
  const auto flows = [&] { return run_in_child(graph, {.fidelity = Fidelity::flow, .recorded = {}}).events; };
  const std::uint64_t alone = flows();
  CHECK(alone < 64);
  graph.link_events = {{Seconds{1}, LinkId{0}, Bandwidth{1e9}, "a link"}};
  CHECK(flows() >= 126);
}
