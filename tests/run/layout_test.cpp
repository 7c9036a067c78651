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
#include <array>
#include <cmath>
#include <doctest/doctest.h>
#include <map>
#include <numeric>
#include <utility>

using namespace trainyard;
using namespace trainyard::testing;

namespace {

struct Case {
  std::string platform;
  int nodes = 1;
  Overrides layout;
  ResolvedExperiment (*job)(const std::string&, int, const Overrides&) = small_layout;
};

Overrides pipelined(const std::string& schedule, int stages, const Overrides& more = {}) {
  return joined({{"parallelism.pipeline", std::to_string(stages)}, {"parallelism.schedule", schedule}}, more);
}

const Overrides two_ways{{"parallelism.tensor", "2"}};
const Overrides in_fp32{{"precision", "fp32"}};  // a K80 has no other matrix unit
const Overrides two_chunks{{"parallelism.virtual_stages", "2"}};

Overrides sharing_tokens(int ranks, const std::string& exchange, const Overrides& more = {}) {
  return joined({{"parallelism.context", std::to_string(ranks)}, {"parallelism.context_exchange", exchange}},
                more);
}

/// Layouts on up to 64 ranks: with links of a node shared by several groups and stages, with links of their
/// own, and with messages over the network.
std::vector<Case> some_cases() {
  return {
      {"dgx_a100", 1, {{"parallelism.tensor", "8"}}},
      {"dgx_a100", 1, joined(two_ways, pipelined("1f1b", 4))},
      {"dgx_a100", 4, joined({{"parallelism.tensor", "8"}}, pipelined("1f1b", 4))},
      {"dgx_a100", 8,
       joined({{"parallelism.tensor", "4"}, {"parallelism.sequence", "true"}},
              pipelined("interleaved", 4, two_chunks))},
      {"dgx_a100", 2, joined(two_ways, pipelined("zb_h1", 4, {{"parallelism.recompute", "full"}}))},
      {"dgx1v", 1, joined(two_ways, pipelined("1f1b", 2))},
      {"dgx1v", 1, joined(two_ways, pipelined("gpipe", 4))},
      {"dgx1v", 2, pipelined("zb_h1", 4, {{"parallelism.shard", "optimizer"}})},
      {"p2_16xlarge", 1, joined(two_ways, pipelined("1f1b", 4, in_fp32))},
      {"p2_16xlarge", 1, joined(two_chunks, pipelined("interleaved", 4, in_fp32))},
      {"dgx_a100", 1,
       sharing_tokens(2, "p2p",
                      joined({{"parallelism.shard", "optimizer"}, {"stack.overlap_parameters", "true"}},
                             joined(two_chunks, pipelined("interleaved", 2)))),
       small_decoder},
      {"dgx_a100", 1, sharing_tokens(8, "p2p"), small_decoder},
      {"dgx_a100", 4,
       joined(two_ways, sharing_tokens(8, "p2p", pipelined("zb_h1", 2, {{"parallelism.recompute", "full"}}))),
       small_decoder},
      {"dgx_a100", 2, sharing_tokens(4, "all_gather", joined(two_ways, pipelined("1f1b", 2))), small_decoder},
      {"dgx_a100", 2,
       sharing_tokens(2, "a2a",
                      joined({{"parallelism.tensor", "4"}, {"parallelism.sequence", "true"}},
                             joined(two_chunks, pipelined("interleaved", 2)))),
       small_decoder},
      {"dgx1v", 2, sharing_tokens(4, "p2p", {{"parallelism.shard", "parameters"}}), small_decoder},
      {"dgx_a100", 1, {{"parallelism.expert", "8"}}, small_mixture},
      {"dgx_a100", 4,
       joined({{"parallelism.expert", "4"}, {"parallelism.tensor", "2"}, {"parallelism.sequence", "true"}},
              pipelined("1f1b", 4)),
       small_mixture},
      {"dgx_a100", 4,
       joined({{"parallelism.expert", "8"}, {"parallelism.recompute", "full"}},
              pipelined("zb_h1", 2, {{"parallelism.shard", "optimizer"}})),
       small_mixture},
      {"dgx1v", 2, joined({{"parallelism.expert", "4"}}, pipelined("interleaved", 4, two_chunks)),
       small_mixture},
      {"dgx_a100", 2,
       sharing_tokens(4, "p2p", {{"parallelism.expert", "8"}, {"parallelism.shard", "optimizer"}}),
       small_mixture},
      {"dgx_a100",
       2,
       {{"parallelism.expert", "8"},
        {"parallelism.tensor", "4"},
        {"parallelism.sequence", "true"},
        {"parallelism.expert_tensor", "1"}},
       small_mixture},
      {"dgx_a100", 1, {{"parallelism.layers", "[{match: lm_head, turns: by_replica}]"}}, small_decoder},
      {"dgx1v",
       2,
       {{"parallelism.layers", "[{match: lm_head, turns: by_slice}]"}, {"parallelism.layer_group", "4"}},
       small_decoder},
  };
}

ResolvedExperiment resolved_case(const Case& one, const Overrides& more = {}) {
  return one.job(one.platform, one.nodes, joined(one.layout, more));
}

std::string named(const Case& one) {
  std::string text = one.platform + " x " + std::to_string(one.nodes);
  for (const auto& [key, value] : one.layout) text += " " + key + "=" + value;
  return text;
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

/// The same, folded as runs are, simulated once for all tests.
const std::vector<double>& folded(const Case& one, Fidelity fidelity) {
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

Run closed_run(const ResolvedExperiment& resolved) {
  return simulate(resolved, {.fidelity = Fidelity::closed});
}

}  // namespace

TEST_CASE("a folded step of a layout is the unfolded one") {
  constexpr double rounding = 1e-11;
  for (const Case& one : some_cases()) {
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
  for (const Case& one : some_cases()) {
    if (one.nodes > 2) continue;  // more nodes add no kind of message and take most of the time
    const ResolvedExperiment resolved = resolved_case(one, {{"accumulation", "4"}});
    INFO(named(one));
    check_equal(simulated(resolved, {.fidelity = Fidelity::messages, .fold = false}),
                simulated(resolved, {.fidelity = Fidelity::messages}), rounding);
  }
}

TEST_CASE("flow simulates a layout as every round does") {
  constexpr double documented = 0.01;  // sim/engine/README.md
  for (const Case& one : some_cases()) {
    INFO(named(one));
    check_equal(folded(one, Fidelity::flow), folded(one, Fidelity::rounds), documented);
  }
}

TEST_CASE("the parts of a step add up to its time on every stage") {
  for (const Case& one : some_cases()) {
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
  for (const Case& one : some_cases()) {
    const Run run = closed_run(resolved_case(one));
    INFO(named(one));
    const Step& step = step_of(run);
    CHECK(step.time.si() >= step.lower_bound.si() * (1 - 1e-12));
    CHECK(step.lower_bound.si() >=
          closed_makespan(step.plan.graph, undisturbed(without_network(step.plan))).si() * (1 - 1e-12));
  }
}

TEST_CASE("every link carries the bytes of all rounds of the collectives that use it") {
  for (const Case& one : some_cases()) {
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
