// Divided layers that take turns: what a step sends, and closed forms of its time when every exchange takes a
// given time.

#include "engine/makespan.hpp"
#include "run/memory_verdict.hpp"
#include "run/simulate.hpp"
#include "run/timed_plan.hpp"
#include "shipped_layout.hpp"
#include "workload/memory.hpp"

#include <algorithm>
#include <doctest/doctest.h>
#include <fmt/format.h>
#include <map>
#include <set>

using namespace trainyard;
using namespace trainyard::testing;

namespace {

constexpr int samples_of_gpu = 128;
constexpr double inputs_of_fc6 = 9216.0 * 4;  // bytes of a sample

std::string fc_rule(const std::string& turns) {
  return fmt::format("[{{match: \"fc*\", turns: {}}}]", turns);
}

/// AlexNet in fp32, 128 samples for each GPU of a DGX A100.
ResolvedExperiment alexnet(int gpus, const std::string& rules, const Overrides& more = {}) {
  return shipped_experiment("bert_large_dgx_a100", joined({{"model", "alexnet"},
                                                           {"platform", "dgx_a100"},
                                                           {"nodes", "1"},
                                                           {"gpus", std::to_string(gpus)},
                                                           {"stack", "pytorch_ddp"},
                                                           {"software", "ideal"},
                                                           {"precision", "fp32"},
                                                           {"batch_per_gpu", std::to_string(samples_of_gpu)},
                                                           {"accumulation", "1"},
                                                           {"optimizer", "momentum"},
                                                           {"memory", "ignore"},
                                                           {"parallelism.layers", rules}},
                                                          more));
}

bool is_of_turn_inputs(const Collective& one) {
  return one.label.name.starts_with("fc6 #") && one.label.purpose == "activations";
}

bool is_of_turn_gradients(const Collective& one) {
  return one.label.name.starts_with("fc6 #") && one.label.purpose == "activation gradients";
}

/// Bytes by operation and purpose, but for the reduction of gradients.
std::map<std::pair<Operation, std::string>, double> exchanged_bytes(const StepPlan& plan) {
  std::map<std::pair<Operation, std::string>, double> sums;
  for (const Collective& one : plan.graph.collectives) {
    if (one.label.of_layers) sums[{one.operation, one.label.purpose}] += one.size.si() * one.rounds;
  }
  return sums;
}

/// The time of the ops whose names end with the number of a turn.
Seconds time_of_turn(const ResolvedExperiment& resolved, const StepPlan& plan, int turn) {
  const std::vector<Op>& ops = resolved.classes.front().trace.ops;
  Seconds sum;
  for (std::size_t i = 0; i < ops.size(); ++i) {
    if (ops[i].layer.ends_with(fmt::format(" #{}", turn))) sum += plan.op_times.front()[i].duration;
  }
  return sum;
}

/// Without the rules of a stack.
Bytes kept_in_turns(const ResolvedExperiment& resolved) {
  return memory_per_rank(resolved.classes.front().layers, {.batch = samples_of_gpu}).activations;
}

std::string turns_refusal(const std::string& rules, const Overrides& more = {}) {
  try {
    static_cast<void>(alexnet(8, rules, more));
  } catch (const InputError& error) {
    return error.diagnostics().front().key_path + " | " + error.diagnostics().front().hint;
  }
  return "";
}

}  // namespace

TEST_CASE("the turns of AlexNet's layers send as much as all samples at once") {
  constexpr int gpus = 8;
  constexpr double between = gpus * samples_of_gpu * (4096 + 4096) * 4.0;
  constexpr double inputs = gpus * samples_of_gpu * inputs_of_fc6;
  constexpr double labels = gpus * samples_of_gpu * 8.0;
  CHECK(inputs + between == doctest::Approx(71.3e6).epsilon(1e-3));
  const auto all = exchanged_bytes(plan_layout_step(alexnet(gpus, fc_rule("none"))));
  const auto by_replica = exchanged_bytes(plan_layout_step(alexnet(gpus, fc_rule("by_replica"))));
  const auto by_slice = exchanged_bytes(plan_layout_step(alexnet(gpus, fc_rule("by_slice"))));
  CHECK(all.at({Operation::all_gather, "activations"}) == inputs + between + labels);
  CHECK(by_slice == all);
  CHECK(by_replica.at({Operation::broadcast, "activations"}) == inputs + labels);
  CHECK(by_replica.at({Operation::all_gather, "activations"}) == between);
  CHECK(by_replica.at({Operation::reduce, "activation gradients"}) == inputs);
  CHECK(by_replica.at({Operation::reduce_scatter, "activation gradients"}) == between);
  CHECK(by_replica.at({Operation::all_reduce, "activations"}) ==
        all.at({Operation::all_reduce, "activations"}));
}

TEST_CASE("every turn has its ops and exchanges, by name") {
  for (const char* turns : {"by_replica", "by_slice"}) {
    const ResolvedExperiment resolved = alexnet(8, fc_rule(turns));
    const StepPlan plan = plan_layout_step(resolved);
    const std::vector<Op>& ops = resolved.classes.front().trace.ops;
    for (int turn = 1; turn <= 8; ++turn) {
      for (const char* layer : {"fc6", "fc7", "fc8"})
        CHECK(std::ranges::count(ops, fmt::format("{} #{}", layer, turn), &Op::layer) == 3);
      const std::string name = fmt::format("fc6 #{}", turn);
      const auto sent = [&](bool (*is_one)(const Collective&)) {
        return std::ranges::count_if(plan.graph.collectives, [&](const Collective& one) {
          return one.label.name == name && is_one(one) && one.size.si() == samples_of_gpu * inputs_of_fc6;
        });
      };
      CHECK(sent(is_of_turn_inputs) == 1);
      CHECK(sent(is_of_turn_gradients) == 1);
      CHECK(std::ranges::count(ops, fmt::format("gradient_accumulation #{}", turn), &Op::layer) ==
            (turn > 1 ? 1 : 0));
    }
    double divided = 0;
    for (const Op& op : ops) {
      for (const Gradient& gradient : op.gradients) divided += gradient.summed_over ? 0 : gradient.elements;
    }
    CHECK(divided * 8 == 58'631'144);  // each once
  }
}

TEST_CASE("a turn's samples are broadcast by their replica") {
  const ResolvedExperiment resolved = alexnet(4, fc_rule("by_replica"));
  const std::vector<Op>& ops = resolved.classes.front().trace.ops;
  std::set<int> roots;
  for (const Op& op : ops) {
    for (const OpCommunication& one : op.communications) {
      if (one.operation == Operation::broadcast || one.operation == Operation::reduce) {
        CHECK(one.of.ends_with(fmt::format(" #{}", one.root + 1)));
        roots.insert(one.root);
      }
    }
  }
  CHECK(roots == std::set<int>{0, 1, 2, 3});
}

TEST_CASE("the root of turn k is the k-th rank of every group") {
  StepPlan plan = plan_layout_step(alexnet(8, fc_rule("by_replica"), {{"parallelism.layer_group", "4"}}));
  int rooted = 0;
  for (const Collective& one : plan.graph.collectives) {
    const bool is_broadcast = one.operation == Operation::broadcast;
    if (!is_broadcast && one.operation != Operation::reduce) continue;
    ++rooted;
    CAPTURE(one.label.name);
    const int turn = std::stoi(one.label.name.substr(one.label.name.find('#') + 1));
    std::set<int> first_senders;  // or last receivers
    std::set<int> others;
    for (const CollectivePhase& phase : one.phases) {
      for (const Pattern::Edge& edge : plan.graph.patterns[at(phase.pattern)].edges) {
        first_senders.insert(index(is_broadcast ? edge.from : edge.to));
        others.insert(index(is_broadcast ? edge.to : edge.from));
      }
    }
    std::erase_if(first_senders, [&](int rank) { return others.contains(rank); });
    CHECK(first_senders == std::set<int>{turn - 1, 4 + turn - 1});
  }
  CHECK(rooted == 4 * 3);  // inputs, labels, gradients
}

TEST_CASE("a last layer that takes turns alone launches all of its exchanges") {
  const Overrides sequential{{"stack.overlap_slows", "false"}, {"accumulation", "2"}};
  for (const char* turns : {"by_replica", "by_slice"}) {
    const auto rule_of = [&](const char* layer) {
      return fmt::format("[{{match: {}, turns: {}}}]", layer, turns);
    };
    const ResolvedExperiment jobs[] = {
        alexnet(4, rule_of("fc8"), sequential),
        alexnet(8, rule_of("fc8"), joined(sequential, {{"parallelism.layer_group", "2"}})),
        alexnet(2, rule_of("fc"), joined(sequential, {{"model", "resnet50"}})),
        small_decoder("dgx_a100", 1, joined({{"parallelism.layers", rule_of("lm_head")}}, sequential))};
    for (const ResolvedExperiment& resolved : jobs) {
      CAPTURE(resolved.model->name);
      StepPlan plan = plan_layout_step(resolved);
      std::set<int> launched;
      for_each_task<Join>(plan.graph, [&](const Join& join) { launched.insert(join.collective); });
      CHECK(std::ssize(launched) == std::ssize(plan.graph.collectives));
      constexpr Seconds each{1e-3};
      set_times(plan, [&](const Collective& one) {
        const bool is_of_loss = one.label.of_layers && one.operation == Operation::all_reduce;
        return is_of_loss ? each : Seconds{};
      });
      constexpr int micro_batches = 2;
      constexpr int of_loss = 3;
      const int exchanges = micro_batches * of_loss * resolved.layout->grid.layer;
      CHECK(closed_makespan(plan.graph).si() ==
            doctest::Approx((kernel_time(resolved, plan) + exchanges * each).si()).epsilon(1e-12));
    }
  }
}

TEST_CASE("a replayed backward pass is one, although it begins with the forward ops of turns") {
  for (const char* turns : {"by_replica", "by_slice"}) {
    const Run run =
        simulate(alexnet(8, fc_rule(turns), {{"accumulation", "2"}}), {.fidelity = Fidelity::closed});
    std::vector<std::string> passes;
    for (const TimelineEvent& bar : step_of(run).bars) {
      if (bar.segment >= 0) passes.push_back(fmt::format("{} {}", bar.category, bar.micro_batch));
    }
    CHECK(passes == std::vector<std::string>{"forward 0", "backward 0", "forward 1"});
  }
}

TEST_CASE("the largest batch that fits runs: it divides into slices") {
  const auto with_batch = [](int batch) {
    const ResolvedExperiment resolved =
        alexnet(7, fc_rule("by_slice"), {{"batch_per_gpu", std::to_string(batch)}});
    return memory_reports(resolved, true).front();
  };
  const int largest = with_batch(7).largest_batch;
  CHECK(with_batch(largest).fits);
  CHECK_FALSE(with_batch(largest + 7).fits);
  const ResolvedExperiment others = alexnet(7, fc_rule("by_replica"));
  CHECK(memory_reports(others, true).front().largest_batch / 7 * 7 == largest);
}

TEST_CASE("with free communication a step takes the time of its kernels") {
  for (const char* turns : {"by_replica", "by_slice"}) {
    const ResolvedExperiment resolved = alexnet(8, fc_rule(turns));
    StepPlan plan = plan_layout_step(resolved);
    set_times(plan, [](const Collective&) { return Seconds{}; });
    CHECK(closed_makespan(plan.graph).si() ==
          doctest::Approx(kernel_time(resolved, plan).si()).epsilon(1e-12));
    const Seconds first = time_of_turn(resolved, plan, 1);
    for (int turn = 3; turn <= 8; ++turn)
      CHECK(time_of_turn(resolved, plan, turn) == time_of_turn(resolved, plan, 2));
    CHECK(time_of_turn(resolved, plan, 2) > first);  // it adds to gradients
  }
}

TEST_CASE("the inputs of the next turn and gradients of the last hide behind a turn, the rest is exposed") {
  for (const int gpus : {2, 3, 8}) {
    const ResolvedExperiment resolved =
        alexnet(gpus, fc_rule("by_replica"),
                {{"stack.fused_accumulation", "true"}, {"stack.overlap_slows", "false"}});
    StepPlan plan = plan_layout_step(resolved);
    const Seconds turn = time_of_turn(resolved, plan, 1);
    REQUIRE(time_of_turn(resolved, plan, 2) == turn);
    for (const double to : {0.0, 0.3, 0.9, 2.5}) {
      for (const double back : {0.0, 0.4, 0.8, 1.7}) {
        const Seconds in = to * turn;
        const Seconds out = back * turn;
        set_times(plan, [&](const Collective& one) {
          if (is_of_turn_inputs(one)) return in;
          return is_of_turn_gradients(one) ? out : Seconds{};
        });
        CAPTURE(gpus);
        CAPTURE(to);
        CAPTURE(back);
        // Turn k + 1 begins after turn k, once the gradients of turn k - 1, which leave first, and its inputs
        // have arrived. The gradients of turn n - 1 leave with turn n, those of turn n behind them.
        const Seconds first = in + std::max(turn, in);
        const Seconds middle = (gpus - 2) * std::max(turn, out + in);
        const Seconds last = std::max(turn, out) + out;
        const Seconds rest = kernel_time(resolved, plan) - gpus * turn;
        CHECK(closed_makespan(plan.graph).si() ==
              doctest::Approx((rest + first + middle + last).si()).epsilon(1e-12));
      }
    }
  }
}

TEST_CASE("exchanges between the layers of a turn are exposed as a whole") {
  const ResolvedExperiment resolved =
      alexnet(8, fc_rule("by_slice"), {{"accumulation", "3"}, {"stack.overlap_slows", "false"}});
  StepPlan plan = plan_layout_step(resolved);
  constexpr Seconds each{1e-3};
  set_times(plan, [&](const Collective& one) {
    return one.label.of_layers && one.label.name.starts_with("fc7 #") ? each : Seconds{};
  });
  CHECK(closed_makespan(plan.graph).si() ==
        doctest::Approx((kernel_time(resolved, plan) + 3 * 8 * 2 * each).si()).epsilon(1e-12));
}

TEST_CASE("if kernels take no time, nothing but exchanges is left") {
  const ResolvedExperiment resolved = alexnet(8, fc_rule("by_slice"));
  StepPlan plan = plan_layout_step(resolved);
  for_each_task<Compute>(plan.graph, [](Compute& compute) { compute.duration = Seconds{}; });
  constexpr Seconds in{2e-3};
  constexpr Seconds out{3e-3};
  set_times(plan, [&](const Collective& one) {
    if (is_of_turn_inputs(one)) return in;
    return is_of_turn_gradients(one) ? out : Seconds{};
  });
  CHECK(closed_makespan(plan.graph).si() == doctest::Approx((8 * (in + out)).si()).epsilon(1e-12));
}

TEST_CASE("in turns the divided layers keep the activations of one turn") {
  for (const int gpus : {2, 8}) {
    const Bytes all = kept_in_turns(alexnet(gpus, fc_rule("none")));
    const Bytes in_turns = kept_in_turns(alexnet(gpus, fc_rule("by_replica")));
    CHECK(kept_in_turns(alexnet(gpus, fc_rule("by_slice"))) == in_turns);
    // Inputs of three layers for all replicas, or for one and fc6's two or three times more. The largest pair
    // of gradients is that of the first convolution in both.
    const int of_fc6 = gpus > 2 ? 4 : 3;
    const double kept = gpus * (9216.0 + 4096 + 4096) - (of_fc6 * 9216 + 4096 + 4096);
    CHECK((all - in_turns).si() == 4 * samples_of_gpu * kept);
  }
}

TEST_CASE("turns of one replica change nothing") {
  const ResolvedExperiment resolved = alexnet(1, fc_rule("by_replica"));
  CHECK(resolved.classes.front().trace == alexnet(1, fc_rule("none")).classes.front().trace);
}

TEST_CASE("turns that cannot be taken are refused") {
  CHECK(turns_refusal(fc_rule("by_slice"), {{"batch_per_gpu", "100"}}) ==
        "parallelism.layers[0].turns | batch_per_gpu: 96 or 104, or turns: by_replica");
  CHECK(turns_refusal(fc_rule("by_replica"),
                      {{"parallelism.pipeline", "2"}, {"parallelism.first_layers", "[conv2]"}}) ==
        "parallelism.layers[0].turns | pipeline: 1, or turns: none");
  CHECK(turns_refusal(fc_rule("by_replica"), {{"parallelism.schedule", "gpipe"}}) ==
        "parallelism.layers[0].turns | schedule: 1f1b, or turns: none");
  CHECK(turns_refusal("[{match: fc6, turns: by_slice}]") ==
        "parallelism.layers[0].turns | turns: none, or rules for all layers up to the loss");
  CHECK(turns_refusal("[{match: fc7, turns: by_slice}, {match: \"fc*\", turns: by_replica}]") ==
        "parallelism.layers[0].turns | turns: by_replica for all of them");
  CHECK(turns_refusal("[{match: fc6}, {match: \"fc*\", turns: by_replica}]") ==
        "parallelism.layers[1].turns | the same turns for all of them");
  CHECK(turns_refusal("[{match: \"fc*\", turns: by_replica, sample: 0.5}]") ==
        "parallelism.layers[0].sample | turns: none, or sample: 1");
}
