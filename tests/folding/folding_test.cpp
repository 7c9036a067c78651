// A step in which ranks and passes alike are simulated once is the step in which all are, in every fidelity.

#include "layout_cases.hpp"
#include "run/child_processes.hpp"
#include "run/simulate.hpp"
#include "run/step_parts.hpp"

#include <algorithm>
#include <cmath>
#include <doctest/doctest.h>
#include <map>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

using namespace trainyard;
using namespace trainyard::testing;

namespace {

/// Sanitized, all cases take a minute and a half: every fourth is run; all are run in Release.
std::vector<LayoutCase> simulated_cases() {
#ifdef TRAINYARD_SANITIZED
  constexpr std::size_t step = 4;
#else
  constexpr std::size_t step = 1;
#endif
  const std::vector<LayoutCase> all = layout_cases();
  std::vector<LayoutCase> some;
  for (std::size_t i = 0; i < all.size(); i += step) some.push_back(all[i]);
  return some;
}

/// Figures of a run that must not depend on folding.
std::vector<double> figures_of_run(const Run& run) {
  const Step& step = step_of(run);
  std::vector<double> all{step.time.si(), step.lower_bound.si(), step.network_gain.si()};
  const std::vector<double> bytes = step.timeline.link_bytes.listed();
  all.push_back(std::accumulate(bytes.begin(), bytes.end(), 0.0));
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

/// The same, folded as runs are, simulated once for all tests.
const std::vector<double>& folded(const LayoutCase& one, Fidelity fidelity) {
  static std::map<std::pair<std::string, Fidelity>, std::vector<double>> known;
  std::vector<double>& figures = known[{named(one), fidelity}];
  if (figures.empty()) figures = simulated(resolved_case(one), {.fidelity = fidelity});
  return figures;
}

void check_equal(const std::vector<double>& first, const std::vector<double>& second, double tolerance) {
  REQUIRE(first.size() == second.size());
  for (std::size_t i = 0; i < first.size(); ++i) {
    CAPTURE(i);
    CAPTURE(first[i]);
    CAPTURE(second[i]);
    CHECK(std::abs(first[i] - second[i]) <= tolerance * std::max(first[i], first.front()));
  }
}

}  // namespace

TEST_CASE("a folded step of a layout is the unfolded one") {
  constexpr double rounding = 1e-11;
  for (const LayoutCase& one : simulated_cases()) {
    const ResolvedExperiment resolved = resolved_case(one);
    INFO(named(one));
    for (const Fidelity fidelity : {Fidelity::closed, Fidelity::flow, Fidelity::rounds}) {
      CAPTURE(config::name_of(fidelity));
      check_equal(simulated(resolved, {.fidelity = fidelity, .fold = false}), folded(one, fidelity),
                  rounding);
    }
  }
}

TEST_CASE("message by message, passes replayed once are those of every rank") {
  constexpr double rounding = 1e-9;
  for (const LayoutCase& one : simulated_cases()) {
    if (one.nodes > 2) continue;  // more nodes add no kind of message and take most of the time
    const ResolvedExperiment resolved = resolved_case(one, {{"accumulation", "4"}});
    INFO(named(one));
    check_equal(simulated(resolved, {.fidelity = Fidelity::messages, .fold = false}),
                simulated(resolved, {.fidelity = Fidelity::messages}), rounding);
  }
}

TEST_CASE("collectives of a layout that take their closed forms take as long on the network") {
  constexpr double rounding = 1e-9;
  for (const LayoutCase& one : simulated_cases()) {
    INFO(named(one));
    check_equal(folded(one, Fidelity::flow), simulated(resolved_case(one), {.formulas = false}), rounding);
  }
}

TEST_CASE("flow simulates a layout as every round does") {
  constexpr double documented = 0.01;  // sim/engine/README.md
  for (const LayoutCase& one : simulated_cases()) {
    INFO(named(one));
    check_equal(folded(one, Fidelity::flow), folded(one, Fidelity::rounds), documented);
  }
}
