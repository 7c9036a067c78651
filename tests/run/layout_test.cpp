// Steps of jobs whose ranks share a model: what must hold for every machine, layout and fidelity.

#include "experiment/layout.hpp"

#include "run/child_processes.hpp"
#include "run/memory_verdict.hpp"
#include "run/simulate.hpp"
#include "run/step_parts.hpp"
#include "schedule/layout_plan.hpp"
#include "schedule/step_variants.hpp"
#include "shipped_layout.hpp"

#include <algorithm>
#include <doctest/doctest.h>
#include <numeric>

using namespace trainyard;
using namespace trainyard::testing;

namespace {

struct Case {
  std::string platform;
  int nodes = 1;
  Overrides layout;
};

Overrides pipelined(const std::string& schedule, int stages, const Overrides& more = {}) {
  return joined({{"parallelism.pipeline", std::to_string(stages)}, {"parallelism.schedule", schedule}}, more);
}

const Overrides two_ways{{"parallelism.tensor", "2"}};
const Overrides two_chunks{{"parallelism.virtual_stages", "2"}};

/// Layouts on up to 64 ranks: with links of a node shared by several groups and stages, with links of their
/// own, and with messages over the network.
std::vector<Case> some_cases() {
  return {
      {"dgx_a100", 1, {{"parallelism.tensor", "8"}}},
      {"dgx_a100", 1, joined(two_ways, pipelined("1f1b", 4))},
      {"dgx_a100", 4, joined({{"parallelism.tensor", "8"}}, pipelined("1f1b", 4))},
      {"dgx_a100", 8, joined({{"parallelism.tensor", "4"}, {"parallelism.sequence", "true"}},
                             pipelined("interleaved", 4, two_chunks))},
      {"dgx_a100", 2, joined(two_ways, pipelined("zb_h1", 4, {{"parallelism.recompute", "full"}}))},
      {"dgx1v", 1, joined(two_ways, pipelined("1f1b", 2))},
      {"dgx1v", 1, joined(two_ways, pipelined("gpipe", 4))},
      {"dgx1v", 2, pipelined("zb_h1", 4, {{"parallelism.shard", "optimizer"}})},
      {"p2_16xlarge", 1, joined(two_ways, pipelined("1f1b", 4))},
      {"p2_16xlarge", 1, pipelined("interleaved", 4, two_chunks)},
  };
}

ResolvedExperiment resolved_case(const Case& one, const Overrides& more = {}) {
  return small_layout(one.platform, one.nodes, joined(one.layout, more));
}

void name_case(const Case& one) {
  MESSAGE(one.platform << " x " << one.nodes);
}

/// Figures of a run that must not depend on folding.
std::vector<double> figures_of_run(const Run& run) {
  const Step& step = step_of(run);
  std::vector<double> all{step.time.si(), step.lower_bound.si(), step.network_gain.si()};
  all.push_back(std::accumulate(step.timeline.link_bytes.begin(), step.timeline.link_bytes.end(), 0.0));
  for (const ClassStep& one : step.classes) {
    all.push_back(one.compute.si());
    all.push_back(one.exposed.si());
    all.push_back(one.end.si());
    for (const PartTime& part : step_parts(run, one).parts) all.push_back(part.time.si());
  }
  return all;
}

/// In a child: SimGrid simulates once per process.
std::vector<double> simulated(const ResolvedExperiment& resolved, const SimulateOptions& options) {
  return unpacked(
      in_children(1, 1, [&](int) { return packed(figures_of_run(simulate(resolved, options))); }).front());
}

void check_equal(const std::vector<double>& first, const std::vector<double>& second, double tolerance) {
  REQUIRE(first.size() == second.size());
  for (std::size_t i = 0; i < first.size(); ++i) {
    CAPTURE(i);
    CHECK(std::abs(first[i] - second[i]) <= tolerance * std::max(first[i], first.front()));
  }
}

Run closed_run(const ResolvedExperiment& resolved) {
  return simulate(resolved, {.fidelity = Fidelity::closed});
}

}  // namespace

TEST_CASE("a folded step of a layout is the unfolded one") {
  constexpr double rounding = 1e-11;
  for (const Case& one : some_cases()) {
    const ResolvedExperiment resolved = resolved_case(one);
    CAPTURE(one.platform);
    CAPTURE(one.layout);
    for (const Fidelity fidelity : {Fidelity::closed, Fidelity::flow, Fidelity::rounds}) {
      CAPTURE(config::name_of(fidelity));
      check_equal(simulated(resolved, {.fidelity = fidelity, .fold = false}),
                  simulated(resolved, {.fidelity = fidelity}), rounding);
    }
  }
}
