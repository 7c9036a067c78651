#include "run/simulate.hpp"

#include "errors_of.hpp"
#include "figure_of.hpp"
#include "run/checks.hpp"
#include "run/child_processes.hpp"
#include "run/dgx2_runs.hpp"
#include "run/export_trace.hpp"
#include "schedule/step_plan.hpp"
#include "temporary_folder.hpp"
#include "workload/trace_csv.hpp"

#include <algorithm>
#include <cstdlib>
#include <doctest/doctest.h>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <vector>

using namespace trainyard;
using namespace trainyard::testing;

TEST_CASE("ResNet-50, fp32, batch 128 on one V100, nothing fitted: between 320 and 440 images/s") {
  const Run run = closed(resolved({{"gpus", "1"}}));
  CHECK(run.pace.throughput > 320);
  CHECK(run.pace.throughput < 440);
  CHECK(run.pace.time == compute_time(run));
  CHECK(run.pace.speedup == 1);
  CHECK(step_of(run).collectives.empty());
  CHECK(run.links.rows.empty());
}

TEST_CASE("BERT-base, fp32, batch 32, 128 tokens on one V100, nothing fitted: 105 to 185 sequences/s") {
  for (const std::string optimizer : {"adam", "lamb"}) {  // published: 107 to 154
    const Run run = closed(resolved({{"gpus", "1"},
                                     {"software", "ideal"},
                                     {"model", "bert_base"},
                                     {"batch_per_gpu", "32"},
                                     {"optimizer", optimizer}}));
    INFO(optimizer, ": ", run.pace.throughput, " sequences/s");
    CHECK(run.pace.throughput > 105);
    CHECK(run.pace.throughput < 185);
    CHECK(run.calibrated_on.empty());
    CHECK(run.compute_sources.measured == 0);
    CHECK(run.compute_sources.fitted > 0.9);
  }
}

TEST_CASE("--set reaches a sequence length, and four times the tokens take more than four times as long") {
  const auto step = [](const std::string& length) {
    return closed(resolved({{"gpus", "1"},
                            {"model", "bert_base"},
                            {"batch_per_gpu", "8"},
                            {"optimizer", "adam"},
                            {"model.bert.sequence_length", length}}));
  };
  const Run from = step("128");
  const Run to = step("512");
  const auto products = [](const Run& run) {
    double sum = 0;
    for (const OpRow& row : slowest_class(step_of(run)).ops)
      sum += row.kind == OpKind::gemm ? row.flops.si() : 0;
    return sum;
  };
  CHECK(products(to) == doctest::Approx(3 * 8 * 2 * 50'241'431'040.0).epsilon(1e-12));
  CHECK(compute_time(to) > 3.5 * compute_time(from));  // the optimizer's time does not depend on the tokens
}

TEST_CASE("the parts of a result agree with each other") {
  const Run run = closed(resolved({{"nodes", "2"}}));
  CHECK(run.ranks == 32);
  CHECK(run.pace.global_batch == 32 * 128);
  CHECK(run.pace.throughput * run.pace.time.si() == doctest::Approx(4096).epsilon(1e-12));
  CHECK(run.pace.speedup == doctest::Approx(32 * run.pace.efficiency).epsilon(1e-12));
  CHECK(run.pace.time >= step_of(run).lower_bound);
  CHECK(exposed_communication(run).si() ==
        doctest::Approx((run.pace.time - compute_time(run)).si()).epsilon(1e-12));
  CHECK(epoch_time(run)->si() == doctest::Approx(1281167 / run.pace.throughput).epsilon(1e-12));
  const ComputeSourceShares& shares = run.compute_sources;
  CHECK(shares.measured + shares.fitted + shares.roofline == doctest::Approx(1).epsilon(1e-12));
  REQUIRE(step_of(run).collectives.size() == 2 + 5);
  CHECK(step_of(run).collectives[0].size == Bytes{212480});  // buffers of batch norms
  CHECK(step_of(run).collectives[1].size == Bytes{424});
  CHECK(step_of(run).collectives[2].size == Bytes{8196000});
  CHECK(step_of(run).collectives[6].size == Bytes{9724160});
  for (const CollectiveRow& row : step_of(run).collectives) {
    CHECK(row.ready <= row.start);
    CHECK(row.end - row.start >= row.bound);
  }
  CHECK(slowest_class(step_of(run)).ops.front().start >= step_of(run).collectives[1].end);
  CHECK(slowest_class(step_of(run)).ops.back().end.si() ==
        doctest::Approx(run.pace.time.si()).epsilon(1e-12));
}

TEST_CASE("the timeline has the first ranks, and the first of each class wherever it is") {
  ResolvedExperiment split = resolved({{"nodes", "4"}});
  CHECK(shown_ranks(split).size() == 16);
  std::vector<Rank>& ranks = split.classes.front().ranks;
  RankClass last{.name = "stage 1", .ranks = {ranks.begin() + 40, ranks.end()}, .trace = {}};
  ranks.resize(40);
  split.classes.push_back(last);
  REQUIRE(shown_ranks(split).size() == 17);
  CHECK(shown_ranks(split).front() == Rank{0});
  CHECK(shown_ranks(split).back() == Rank{40});
}

TEST_CASE("kernels beside communication are slower, by what separates the step from perfect overlap") {
  const Run slowed = closed(resolved({{"nodes", "2"}}));
  const Run perfect = closed(resolved({{"nodes", "2"}, {"stack.overlap_slows", "false"}}));
  CHECK(slowest_class(step_of(perfect)).slowed == Seconds{});
  CHECK(slowest_class(step_of(slowed)).slowed > Seconds{1e-4});
  CHECK(slowed.pace.time > perfect.pace.time);
  CHECK(slowed.pace.time <= perfect.pace.one_rank + communication_time(perfect));
  CHECK(figure_of(slowed, "communication_overhead_s") ==
        doctest::Approx((exposed_communication(slowed) + slowest_class(step_of(slowed)).slowed).si())
            .epsilon(1e-9));
  CHECK(step_of(slowed).lower_bound == step_of(perfect).lower_bound);
  // Nothing is slower where nothing overlaps.
  CHECK(slowest_class(step_of(closed(resolved({{"stack.overlap", "false"}})))).slowed == Seconds{});
}

TEST_CASE("a step waits for the slowest of its GPUs; one GPU alone is a mean one") {
  const Run equal = closed(resolved({{"random.gpus", "none"}}));
  const Run slowest = closed(resolved({{"random.gpus", "slowest"}}));
  CHECK(slowest.pace.one_rank.si() == doctest::Approx(equal.pace.one_rank.si()).epsilon(1e-12));
  const double factor = slowest.experiment.stack.slowest_gpu;
  CHECK(factor > 1.01);
  CHECK(slowest.pace.time / equal.pace.time ==
        doctest::Approx(factor).epsilon(2e-3));  // collectives take as long
  CHECK(slowest.pace.efficiency < equal.pace.efficiency);
}

TEST_CASE("replaying an exported trace gives the same step to the bit") {
  for (const std::string overlap : {"true", "false"}) {
    const TemporaryFolder folder;
    const ResolvedExperiment original = resolved({{"gpus", "12"}, {"stack.overlap", overlap}});
    std::ofstream(folder.path / "t.csv") << write_trace(export_trace(original, true));
    std::ofstream(folder.path / "replay.yaml")
        << "platform: dgx2\ngpus: 12\ntrace: t.csv\nstack: pytorch_ddp\nbatch_per_gpu: 128\n";
    const Run again = closed(testing::shipped_experiment((folder.path / "replay.yaml").string()));
    const Run first = closed(original);
    CHECK(again.pace.time == first.pace.time);
    CHECK(again.compute_sources.fitted == first.compute_sources.fitted);
    CHECK(step_of(again).collectives.size() == step_of(first).collectives.size());
    CHECK(message_of((folder.path / "replay.yaml").string(), {{"precision", "amp"}})
              .find("a step in fp32, not amp") != std::string::npos);
    CHECK(message_of((folder.path / "replay.yaml").string(), {{"batch_per_gpu", "64"}})
              .find("a step of 128 samples, not 64") != std::string::npos);
  }
}

TEST_CASE("a replay of Horovod's step waits for the same ticks and copies the same bytes") {
  const TemporaryFolder folder;
  const ResolvedExperiment original = resolved({{"stack", "horovod_0_20"}, {"accumulation", "2"}});
  std::ofstream(folder.path / "t.csv") << write_trace(export_trace(original, true));
  std::ofstream(folder.path / "replay.yaml")
      << "platform: dgx2\ntrace: t.csv\nstack: horovod_0_20\nbatch_per_gpu: 128\naccumulation: 2\n";
  const std::string replay = (folder.path / "replay.yaml").string();
  const Run first = closed(original);
  CHECK(closed(testing::shipped_experiment(replay)).pace.time == first.pace.time);
  CHECK(step_of(first).collectives.size() > 1);
  CHECK(message_of(replay, {{"accumulation", "3"}}).find("a step of 2 micro-batches, not 3") !=
        std::string::npos);
}

TEST_CASE("a replay gives each of several collectives of one op its own tensors") {
  for (const std::string stack : {"horovod", "pytorch_ddp"}) {
    const TemporaryFolder folder;
    Overrides overrides = {{"stack", stack}, {"stack.overlap", "false"}};
    if (stack == "horovod") overrides.push_back({"stack.fusion.threshold", "16 MiB"});
    const ResolvedExperiment original = resolved(overrides);
    std::ofstream(folder.path / "t.csv") << write_trace(export_trace(original, true));
    std::ofstream(folder.path / "replay.yaml") << "platform: dgx2\ntrace: t.csv\nbatch_per_gpu: 128\n";
    overrides.push_back({"stack", stack});
    const Run again = closed(testing::shipped_experiment((folder.path / "replay.yaml").string(), overrides));
    const Run first = closed(original);
    CHECK(again.pace.time == first.pace.time);
    CHECK(communication_time(again) == communication_time(first));
    REQUIRE(step_of(again).collectives.size() == step_of(first).collectives.size());
    for (std::size_t i = 0; i < step_of(first).collectives.size(); ++i)
      CHECK(step_of(again).collectives[i].tensors == step_of(first).collectives[i].tensors);
  }
}

TEST_CASE("a trace that names its collectives keeps them when it is written again") {
  const TemporaryFolder folder;
  const std::string file = (folder.path / "t.csv").string();
  std::ofstream(file)
      << "phase,layer,duration_s,parameter_bytes,communication,communication_bytes,waits,launch\n"
         "forward,a,0.01,,all_reduce,8000,,start\n"
         "forward,b,0.01,,all_gather,8000,1,end\n"
         "forward,c,0.01,,broadcast,4000,,start\n"
         "backward,c,0.01,4000000,reduce_scatter,4000000,,\n"
         "backward,b,0.01,,all_to_all,8000,0,end\n"
         "optimizer,all,0.01,,,,,\n";
  const ResolvedExperiment resolved = testing::shipped_experiment(
      no_file, {{"platform", "dgx2"}, {"gpus", "4"}, {"batch_per_gpu", "1"}, {"trace", file}});
  const Trace& given = only_class(resolved).trace;
  const Trace again = export_trace(resolved, true);
  REQUIRE(again.ops.size() == given.ops.size());
  for (std::size_t i = 0; i < given.ops.size(); ++i)
    CHECK(again.ops[i].communications == given.ops[i].communications);
}

TEST_CASE("what the framework's cycle costs is not laid at the network's door") {
  const Run slow = closed(resolved({{"stack", "horovod"}, {"stack.fusion.cycle_time", "200 ms"}}));
  CHECK(exposed_communication(slow).si() > 0.05);
  CHECK(step_of(slow).network_gain.si() < 0.003);
  const Run ddp = closed(resolved({{"nodes", "2"}, {"stack.broadcast_buffers", "false"}}));
  CHECK(step_of(ddp).network_gain.si() ==
        doctest::Approx(figure_of(ddp, "communication_overhead_s")).epsilon(1e-9));
}

TEST_CASE("accumulating gradients communicates once for several micro-batches") {
  const Run one = closed(resolved({{"nodes", "2"}}));
  const Run four = closed(resolved({{"nodes", "2"}, {"accumulation", "4"}}));
  CHECK(four.pace.global_batch == 4 * one.pace.global_batch);
  CHECK(step_of(four).collectives.size() == step_of(one).collectives.size());
  CHECK(compute_time(four) > 3.99 * compute_time(one));
  CHECK(compute_time(four) < 4.02 * compute_time(one));  // the additions, less three updates
  CHECK(four.pace.efficiency > one.pace.efficiency);
}

TEST_CASE(
    "fitted software is named in the result and makes kernels slower; launches cost what the stack says") {
  const Run published = closed(resolved({{"gpus", "1"}}));
  const Run ideal = closed(resolved({{"gpus", "1"}, {"software", "ideal"}}));
  REQUIRE(published.calibrated_on.size() == 1);
  CHECK(published.calibrated_on.front().find("published runs on one GPU") != std::string::npos);
  CHECK(published.pace.time > ideal.pace.time);
  const Run free_launches = closed(resolved({{"gpus", "1"}, {"stack.op_overhead", "0 us"}}));
  const Run dear_launches = closed(resolved({{"gpus", "1"}, {"stack.op_overhead", "1 ms"}}));
  CHECK(free_launches.pace.time < published.pace.time);
  const auto ops = static_cast<double>(slowest_class(step_of(ideal)).ops.size());
  CHECK((dear_launches.pace.time - free_launches.pace.time).si() ==
        doctest::Approx(1e-3 * ops).epsilon(1e-6));
}

TEST_CASE("a fitted compute_scale is named in the result, an assumed one is not") {
  const Run fitted = closed(resolved(
      {{"gpus", "1"}, {"software", "ideal"}, {"stack.compute_scale", "{value: 1.1, fitted: a run}"}}));
  CHECK(fitted.calibrated_on == std::vector<std::string>{"a run"});
  CHECK(fitted.pace.time.si() ==
        doctest::Approx(1.1 * closed(resolved({{"gpus", "1"}, {"software", "ideal"}})).pace.time.si())
            .epsilon(1e-9));
  CHECK(closed(resolved({{"gpus", "1"}, {"software", "ideal"}, {"stack.compute_scale", "1.1"}}))
            .calibrated_on.empty());
  const Overrides overhead = {
      {"gpus", "1"}, {"software", "ideal"}, {"stack.op_overhead", "{value: 5 us, fitted: another run}"}};
  CHECK(closed(resolved(overhead)).calibrated_on == std::vector<std::string>{"another run"});
}

TEST_CASE("a trace without durations asks the GPU anew, one with a user's durations does not") {
  const TemporaryFolder folder;
  const std::string experiment = (folder.path / "user.yaml").string();
  std::ofstream(experiment)
      << "platform: dgx2\ngpus: 2\ntrace: t.csv\nstack: pytorch_ddp\nbatch_per_gpu: 128\n";
  std::ofstream(folder.path / "t.csv") << write_trace(export_trace(resolved({{"gpus", "2"}}), false));
  const double ours = compute_time(closed(resolve(catalogue(), experiment, {}))).si();
  const Overrides fast = {{"gpu.memory.bandwidth", "1800 GB/s"}};
  CHECK(compute_time(closed(resolve(catalogue(), experiment, fast))).si() < ours);

  std::ofstream(folder.path / "t.csv")
      << "phase,layer,duration_s,parameter_bytes\n"
         "forward,all,0.25,\nbackward,all,0.5,4000000\noptimizer,all,0.01,\n";
  const Run measured = closed(resolve(catalogue(), experiment, fast));
  CHECK(compute_time(measured).si() == doctest::Approx(0.76).epsilon(1e-12));
  CHECK(measured.compute_sources.measured == 1);
  REQUIRE(step_of(measured).collectives.size() == 1);
  CHECK(step_of(measured).collectives[0].size == Bytes{4e6});
}

TEST_CASE("--set reaches the files an experiment names") {
  const double before = closed(resolved({{"nodes", "4"}})).pace.time.si();
  CHECK(closed(resolved({{"nodes", "4"}, {"platform.fabric.nic", "8 Gbps"}})).pace.time.si() > before);
  CHECK(step_of(closed(resolved({{"nodes", "4"}, {"stack.bucket_cap", "1 GiB"}}))).collectives.size() ==
        2 + 2);
  CHECK(closed(resolved({{"batch_per_gpu", "64"}})).pace.global_batch == 16 * 64);
}

TEST_CASE(
    "an experiment's own overrides reach the files too, and their mistakes are shown where they stand") {
  const TemporaryFolder folder;
  const std::string file = (folder.path / "own.yaml").string();
  const auto write = [&](const std::string& nic) {
    std::ofstream(file) << "platform: dgx2\nmodel: resnet50\nstack: pytorch_ddp\nbatch_per_gpu: 8\nnodes: 2\n"
                           "set:\n  platform.fabric.nic: " +
                               nic + "\n  stack.bucket_cpa: 1 MiB\n";
  };
  write("25 Gbsp");
  try {
    resolve(catalogue(), file, {});
    FAIL("nothing found");
  } catch (const InputError& error) {
    REQUIRE(error.diagnostics().size() == 2);
    const Diagnostic& nic = error.diagnostics()[0];
    CHECK(nic.file == file);
    CHECK(nic.line == 7);
    CHECK(nic.column == 24);
    CHECK(nic.source_line == "  platform.fabric.nic: 25 Gbsp");
    CHECK(nic.key_path == "fabric.nic");
    CHECK(error.diagnostics()[1].line == 8);
    CHECK(error.diagnostics()[1].hint == "did you mean 'bucket_cap'?");
  }
  // the command line wins, and is named where it is wrong
  CHECK(message_of(file, {{"platform.fabric.nic", "25 Gbsp"}}).find("--set platform.fabric.nic=25 Gbsp") !=
        std::string::npos);
}

TEST_CASE("an experiment names its fidelity, and the option overrides it") {
  const ResolvedExperiment some = resolved({{"fidelity", "closed"}, {"gpus", "2"}});
  const Run own = simulate(some, {});
  CHECK(own.experiment.settings.fidelity == Fidelity::closed);
  CHECK(resolved_text(own).find("fidelity: closed") != std::string::npos);
  const ResolvedExperiment other = resolved({{"fidelity", "steps"}, {"gpus", "2"}});
  CHECK(resolved_text(closed(other)).find("fidelity: closed") != std::string::npos);
}

TEST_CASE("tf32 on a GPU without it is fp32, and the result says so") {
  const Run run = closed(resolved({{"precision", "tf32"}, {"gpus", "1"}}));
  CHECK(matrix_dtype_name(run) == "fp32");
  CHECK(run.pace.time == closed(resolved({{"gpus", "1"}})).pace.time);
  REQUIRE(notes_of(run).size() == 1);
  CHECK(notes_of(run)[0].find("no TF32 units") != std::string::npos);
}

TEST_CASE("a resolved experiment gives the same result again") {
  const TemporaryFolder folder;
  const Run first = closed(resolved({{"nodes", "2"}, {"platform.fabric.nic", "25 Gbps"}}));
  std::ofstream(folder.path / "again.yaml") << resolved_text(first);
  const Run again = closed(testing::shipped_experiment((folder.path / "again.yaml").string()));
  CHECK(again.pace.time == first.pace.time);
  CHECK(resolved_text(again) == resolved_text(first));
}

TEST_CASE("a run that beats physics is found out") {
  const ResolvedExperiment some = resolved({{"gpus", "4"}});
  StepPlan plan = plan_step(only_class(some).trace, some.gpu, some.stack, *some.cluster, some.settings.sync,
                            some.library);
  const Timeline good = run(plan.graph, {.fidelity = Fidelity::closed, .recorded = {Rank{0}}});
  CHECK(violations(plan, good, good.makespan, false, Fidelity::closed).empty());

  CHECK(violations(plan, good, good.makespan * 1.001, false, Fidelity::closed).size() == 1);
  Timeline fast = good;
  fast.collectives[1].end = fast.collectives[1].start + plan.graph.collectives[1].label.bound * 0.5;
  CHECK(violations(plan, fast, Seconds{}, false, Fidelity::closed).front().find("faster than its bound") !=
        std::string::npos);
  fast.collectives[1].first_arrival = fast.collectives[1].end - plan.graph.collectives[1].label.bound * 2;
  CHECK(violations(plan, fast, Seconds{}, false, Fidelity::flow).size() == 1);
  // message by message, ranks send before the last one has come
  CHECK(violations(plan, fast, Seconds{}, false, Fidelity::messages).empty());
  Timeline lossy = good;
  std::vector<double> bytes = good.link_bytes.listed();
  bytes[0] /= 2;
  lossy.link_bytes = std::move(bytes);
  CHECK(violations(plan, lossy, Seconds{}, false, Fidelity::closed).front().find("links carried") !=
        std::string::npos);
  Timeline crowded = good;
  crowded.spans[1].start = crowded.spans[0].start;
  CHECK(violations(plan, crowded, Seconds{}, false, Fidelity::closed).front().find("overlap on one stream") !=
        std::string::npos);
}

TEST_CASE("a stack that goes through host memory changes what all collectives see, and says so") {
  const Overrides host{{"stack.intra_node", "host"}};
  const Run direct = closed(resolved({{"gpus", "8"}}));
  Run staged = closed(resolved({{"gpus", "8"}, host[0]}));
  REQUIRE(step_of(staged).collectives.size() == step_of(direct).collectives.size());
  CHECK(step_of(staged).collectives.back().busbw < 0.2 * step_of(direct).collectives.back().busbw);
  CHECK(step_of(staged).collectives.back().bound > step_of(direct).collectives.back().bound);
  for (const LinkRow& link : staged.links.rows) CHECK(link.name.find("nvswitch") == std::string::npos);
  REQUIRE(notes_of(staged).size() == 1);
  CHECK(notes_of(staged)[0].find("intra_node of pytorch_ddp") != std::string::npos);
  CHECK(notes_of(closed(resolved({{"gpus", "1"}, host[0]}))).empty());
}

TEST_CASE("time of the host is no compute, and a GPU that waits for it draws idle power") {
  const Run without = closed(resolved({{"gpus", "1"}}));
  const Run with = closed(resolved({{"gpus", "1"}, {"stack.step_overhead", "100 ms"}}));
  CHECK(with.pace.time.si() == doctest::Approx(without.pace.time.si() + 0.1).epsilon(1e-12));
  CHECK(compute_time(with).si() == doctest::Approx(compute_time(without).si()).epsilon(1e-12));
  CHECK(exposed_communication(with) == Seconds());
  CHECK(with.gpu_utilization < 0.9);
  CHECK(with.energy->per_step > without.energy->per_step);
  CHECK(with.energy->average < without.energy->average);
  CHECK(slowest_class(step_of(with)).ops.back().kind == OpKind::host);
}

TEST_CASE("one GPU alone does without the time that hosts take for the other ranks") {
  const Overrides slow = {{"gpus", "4"}, {"stack.step_overhead_per_gpu", "20 ms"}};
  const Run without = closed(resolved({{"gpus", "4"}}));
  const Run with = closed(resolved(slow));
  CHECK(with.pace.time.si() == doctest::Approx(without.pace.time.si() + 0.06).epsilon(1e-12));
  CHECK(with.pace.one_rank == without.pace.one_rank);
  CHECK(slowest_class(step_of(with)).slowed.si() ==
        doctest::Approx(slowest_class(step_of(without)).slowed.si()).epsilon(1e-9));
  CHECK(slowest_class(step_of(with)).ops.back().layer == "step_overhead_of_ranks");
}

TEST_CASE("a replay of what a stack adds to a step is the same step to the bit") {
  const TemporaryFolder folder;
  std::ofstream(folder.path / "busy.yaml")
      << "name: busy\nfused_elementwise: true\nstep_overhead: 1 ms\ncollective_overhead: 100 us\n"
         "gradient_work:\n  - {name: norm, writes: 0, when: before}\n  - {name: clip}\n"
         "  - {name: copy, ranks: many, when: before}\n"
         "layer_work: [{name: sum, layer: add, backward: 3, fusible: false}]\n";
  std::ofstream(folder.path / "twice.yaml")
      << "name: twice\nreduce_each_micro_batch: true\nintra_node: host\ncollective_overhead: 100 us\n";
  for (const std::string stack : {"busy.yaml", "twice.yaml"}) {
    const std::string keys = "platform: dgx2\ngpus: 4\nbatch_per_gpu: 16\naccumulation: 2\nstack: " + stack;
    std::ofstream(folder.path / "first.yaml") << keys << "\nmodel: resnet50\n";
    std::ofstream(folder.path / "again.yaml") << keys << "\ntrace: t.csv\n";
    const ResolvedExperiment original = resolve(catalogue(), (folder.path / "first.yaml").string(), {});
    for (const bool with_durations : {true, false}) {
      std::ofstream(folder.path / "t.csv") << write_trace(export_trace(original, with_durations));
      const Run again = closed(resolve(catalogue(), (folder.path / "again.yaml").string(), {}));
      const Run first = closed(original);
      CHECK(again.pace.time == first.pace.time);
      CHECK(step_of(again).collectives.size() == step_of(first).collectives.size());
    }
  }
  CHECK(message_of((folder.path / "again.yaml").string(), {{"stack.reduce_each_micro_batch", "false"}})
            .find("completes gradients in several micro-batches") != std::string::npos);
}

TEST_CASE("the pace in closed form is that of the whole run, to the bit") {
  for (const char* const name : {"resnet50_dgx2", "resnet50_dgx2_input", "bert_large_dgx_a100",
                                 "gpipe_traces_dgx2", "mixtral_8x7b_dgx_h100", "gpt3_175b_dgx_a100"}) {
    CAPTURE(name);
    const ResolvedExperiment experiment = testing::shipped_experiment(name);
    const Pace whole = closed(experiment).pace;
    const Pace pace = closed_pace(experiment);
    CHECK(pace.time == whole.time);
    CHECK(pace.throughput == whole.throughput);
    CHECK(pace.one_rank == whole.one_rank);
    CHECK(pace.efficiency == whole.efficiency);
  }
  CHECK_THROWS_AS(closed_pace(resolved({{"batch_per_gpu", "100000"}})), OutOfMemory);
}

TEST_CASE("a result says what gave the times on the network") {
  const auto engine_of = [](const Overrides& overrides) {
    const std::string answer = in_children(1, 1, [&](int) {
                                 const Run run =
                                     simulate(testing::shipped_experiment("resnet50_dgx2", overrides),
                                              {.timeline = false, .rows = false, .learn = false});
                                 const std::optional<NetworkEngine> engine = network_engine(run);
                                 return engine ? std::string(config::name_of(*engine)) : std::string("none");
                               }).front();
    return answer;
  };
  CHECK(engine_of({}) == "formulas");  // one bucket after the other
  CHECK(engine_of({{"fidelity", "messages"}, {"gpus", "2"}}) == "simgrid");
  CHECK(engine_of({{"nodes", "2"}, {"background", "[{from: node0, to: node1, rate: 2 GB/s}]"}}) == "simgrid");
  CHECK(engine_of({{"gpus", "1"}}) == "none");
}

TEST_CASE("a trace that was recorded on another GPU is replayed with one clear warning") {
  const TemporaryFolder folder;
  const std::string trace = (folder.path / "t.csv").string();
  std::ofstream(trace)
      << "# batch_per_gpu: 32\n# gpu: a100_sxm4_40gb\nphase,layer,duration_s,parameter_bytes\n"
      << "forward,a,0.01,\nbackward,a,0.02,4000\n";
  const auto notes_on = [&](const std::string& platform) {
    InputFiles files;
    return notes_of(closed(
        resolve(catalogue(), no_file,
                {{"platform", platform}, {"trace", trace}, {"stack", "pytorch_ddp"}, {"batch_per_gpu", "32"}},
                files)));
  };
  const auto about = [](const std::vector<std::string>& notes, const std::string& words) {
    return std::ranges::count_if(
        notes, [&](const std::string& note) { return note.find(words) != std::string::npos; });
  };
  const std::vector<std::string> elsewhere = notes_on("workstation_3090");
  CHECK(about(elsewhere, "warning: the trace was recorded on a100_sxm4_40gb") == 1);
  CHECK(about(elsewhere, "durations come from the trace") == 0);
  CHECK(about(elsewhere, "all kernel times rest on it") == 0);
  const std::vector<std::string> there = notes_on("dgx_a100");
  CHECK(about(there, "warning") == 0);
  CHECK(about(there, "durations come from the trace") == 1);
}

TEST_CASE("a trace names the GPU whose times it has") {
  const Trace with_times = export_trace(resolved({}), true);
  CHECK(with_times.gpu == resolved({}).gpu.name);
  CHECK(read_trace("t.csv", write_trace(with_times)).gpu == with_times.gpu);
  CHECK(export_trace(resolved({}), false).gpu.empty());
}
