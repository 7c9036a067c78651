// Steps of jobs whose ranks share a model: what must hold for every machine, layout and fidelity.

#include "experiment/layout.hpp"

#include "engine/makespan.hpp"
#include "layout_cases.hpp"
#include "run/memory_verdict.hpp"
#include "run/simulate.hpp"
#include "run/step_parts.hpp"
#include "schedule/layout_plan.hpp"
#include "schedule/step_variants.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <doctest/doctest.h>
#include <map>
#include <numeric>
#include <utility>

using namespace trainyard;
using namespace trainyard::testing;

namespace {

Run closed_run(const ResolvedExperiment& resolved) {
  return simulate(resolved, {.fidelity = Fidelity::closed});
}

}  // namespace

TEST_CASE("the parts of a step add up to its time on every stage") {
  for (const LayoutCase& one : layout_cases()) {
    const Run run = closed_run(resolved_case(one));
    INFO(named(one));
    for (const ClassStep& stage : step_of(run).classes) {
      Seconds sum;
      for (const PartTime& part : step_parts(run, stage).parts) {
        CHECK(part.time >= Seconds(-1e-12));
        sum += part.time;
      }
      CHECK(sum.si() == doctest::Approx(step_of(run).time.si()).epsilon(1e-9));
    }
  }
}

TEST_CASE("a step is no shorter than its lower bound, and that no shorter than a step without the network") {
  for (const LayoutCase& one : layout_cases()) {
    const Run run = closed_run(resolved_case(one));
    INFO(named(one));
    const Step& step = step_of(run);
    CHECK(step.time.si() >= step.lower_bound.si() * (1 - 1e-12));
    CHECK(step.lower_bound.si() >=
          closed_makespan(step.plan.graph, undisturbed(without_network(step.plan))).si() * (1 - 1e-12));
  }
}

TEST_CASE("every link carries the bytes of all rounds of the collectives that use it") {
  for (const LayoutCase& one : layout_cases()) {
    const Run run = closed_run(resolved_case(one));
    INFO(named(one));
    const TaskGraph& graph = step_of(run).plan.graph;
    std::vector<double> sent(graph.links.size());
    for (const Collective& collective : graph.collectives) {
      for (const CollectivePhase& phase : collective.phases) {
        for (const LinkUse& use : link_uses(graph.patterns[at(phase.pattern)]))
          sent[at(index(use.link))] += collective.rounds * phase.messages * phase.bytes.si() * use.times;
      }
    }
    for (std::size_t link = 0; link < sent.size(); ++link)
      CHECK(step_of(run).timeline.link_bytes[link] == doctest::Approx(sent[link]).epsilon(1e-9));
  }
}

TEST_CASE("tensor groups on nodes of their own take as long as one of them alone") {
  const Overrides layout{
      {"parallelism.tensor", "8"}, {"parallelism.recompute", "full"}, {"stack.overlap", "false"}};
  const auto tensor_time = [&](int nodes) {
    const Run run = closed_run(small_layout("dgx_a100", nodes, layout));
    for (const PartTime& part : step_parts(run).parts) {
      if (part.part == StepPart::layers) return part.time.si();
    }
    return 0.0;
  };
  const double alone = tensor_time(1);
  CHECK(alone > 0);
  for (const int nodes : {2, 4, 16}) CHECK(tensor_time(nodes) == doctest::Approx(alone).epsilon(1e-12));
}

TEST_CASE("with twice the nodes and replicas every stage computes as long") {
  const Overrides layout = joined({{"parallelism.tensor", "4"}}, pipelined("1f1b", 4));
  const Run once = closed_run(small_layout("dgx_a100", 4, layout));
  const Run twice = closed_run(small_layout("dgx_a100", 8, layout));
  for (std::size_t stage = 0; stage < 4; ++stage) {
    const auto compute = [&](const Run& run) {
      Seconds sum;
      for (const OpRow& op : step_of(run).classes[stage].ops) sum += op.runs * op.duration;
      return sum.si();
    };
    CHECK(compute(once) == compute(twice));
  }
  CHECK(step_of(twice).time >= step_of(once).time);
  CHECK(2 * once.pace.global_batch == twice.pace.global_batch);
}

TEST_CASE("layers of a network of convolutions, placed by name, compute one stage after another") {
  const Run run =
      closed_run(shipped_experiment("resnet50_dgx2", {{"model", "vgg16"},
                                                      {"gpus", "4"},
                                                      {"software", "ideal"},
                                                      {"parallelism.pipeline", "4"},
                                                      {"parallelism.schedule", "gpipe"},
                                                      {"parallelism.first_layers", "[conv6, conv12, fc6]"}}));
  const Step& step = step_of(run);
  std::array<Seconds, 4> forward{};
  std::array<Seconds, 4> backward{};
  std::array<Seconds, 4> update{};
  for (std::size_t stage = 0; stage < 4; ++stage) {
    for (const OpRow& op : step.classes[stage].ops) {
      if (op.phase == Phase::forward) forward[stage] += op.duration;
      if (op.phase == Phase::backward) backward[stage] += op.duration;
      if (op.phase == Phase::optimizer) update[stage] += op.duration;
    }
  }
  Seconds done = std::accumulate(forward.begin(), forward.end(), Seconds());
  Seconds end;
  for (std::size_t stage = 4; stage-- > 0;) {
    done += backward[stage];
    end = std::max(end, done + update[stage]);
  }
  CHECK(closed_makespan(step.plan.graph, undisturbed(without_network(step.plan))).si() ==
        doctest::Approx(end.si()).epsilon(1e-9));
  CHECK(step.time > end);
}
