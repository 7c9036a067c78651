// Kinds of synchronisation from the experiment to the result.

#include "run/energy.hpp"
#include "run/export_trace.hpp"
#include "run/simulate.hpp"
#include "shipped_experiment.hpp"
#include "temporary_folder.hpp"
#include "workload/trace_csv.hpp"

#include <algorithm>
#include <doctest/doctest.h>
#include <fstream>

using namespace trainyard;

namespace {

ResolvedExperiment kind_inputs(Overrides overrides) {
  overrides.emplace_back("software", "ideal");  // the same kernels in every stack
  return testing::shipped_experiment("resnet50_dgx2", overrides);
}

Run kind_result(const ResolvedExperiment& resolved) {
  return simulate(resolved, {.fidelity = Fidelity::closed});
}

Overrides with(Overrides first, const Overrides& more) {
  first.insert(first.end(), more.begin(), more.end());
  return first;
}

const Overrides gpu0{{"stack", "dataparallel_gpu0"}, {"sync.kind", "dataparallel_gpu0"}};
const Overrides sparse{{"sync.kind", "peer_to_peer"}, {"sync.compression", "top_k"}, {"sync.keep", "0.01"}};

bool has_note(const Run& run, const std::string& text) {
  return std::ranges::any_of(run.notes,
                             [&](const std::string& note) { return note.find(text) != std::string::npos; });
}

}  // namespace

TEST_CASE(
    "a step through GPU 0 names its broadcasts, leaves the others waiting and says what it leaves out") {
  const Run run = kind_result(kind_inputs(gpu0));
  REQUIRE(step_of(run).collectives.size() > 2);
  const CollectiveRow& first = step_of(run).collectives.front();
  CHECK(first.name == "parameters 0");
  CHECK(first.operation == Operation::broadcast);
  CHECK(first.ready_after.empty());
  CHECK(first.ready == Seconds());
  CHECK(first.size >= Bytes(10 << 20));
  CHECK(step_of(run).collectives.back().operation == Operation::reduce);
  CHECK(step_of(run).collectives.back().name.starts_with("gradients "));
  Bytes broadcast, reduced;
  for (const CollectiveRow& row : step_of(run).collectives)
    (row.operation == Operation::broadcast ? broadcast : reduced) += row.size;
  CHECK(broadcast == Bytes(4 * 25'557'032.0));
  CHECK(reduced == broadcast);
  CHECK(run.rank_rows[1].compute < run.rank_rows[0].compute);
  CHECK(run.rank_rows[1].end < run.rank_rows[0].end);
  CHECK(slowest_class(step_of(run)).ops.front().start >= first.end);
  CHECK(has_note(run, "scattering the batch"));
  CHECK_FALSE(updates_of(run));
  CHECK(step_of(run).lower_bound <= run.pace.time);
}

TEST_CASE("GPUs that wait for GPU 0's update draw no power for it") {
  const Run all = kind_result(kind_inputs({}));
  const Run alone = kind_result(kind_inputs(gpu0));
  const Seconds update = slowest_class(step_of(all)).ops.back().duration;
  const ResolvedExperiment resolved = kind_inputs({});
  const GpuProfile& gpu = resolved.gpu;
  // The steps differ by how long all of them and the box wait, and by 15 updates.
  const Seconds longer = alone.pace.time - all.pace.time;
  const Watts waiting =
      16 * gpu.power->idle.value * gpu.tdp.value + node_overhead(resolved.platform, gpu)->value;
  const Watts saved = 15 * (gpu.power->vector.value - gpu.power->idle.value) * gpu.tdp.value;
  CHECK((alone.energy->per_step - all.energy->per_step).si() ==
        doctest::Approx((longer * waiting - update * saved).si()).epsilon(1e-6));
  CHECK(kind_result(kind_inputs(with(gpu0, {{"gpus", "1"}}))).energy->per_step ==
        kind_result(kind_inputs({{"gpus", "1"}})).energy->per_step);
}

TEST_CASE("updates to all peers are all-gathers, with kernels of their own around them") {
  const Run run = kind_result(kind_inputs(sparse));
  REQUIRE(step_of(run).collectives.size() == 2 + 5);  // after the broadcasts of buffers
  CHECK(step_of(run).collectives[1].operation == Operation::broadcast);
  CHECK(step_of(run).collectives[2].operation == Operation::all_gather);
  CHECK(step_of(run).collectives[2].algorithm == "direct");
  CHECK(step_of(run).collectives[2].size == Bytes(16 * 8 * 20490.0));  // 1 % of 2,049,000
  CHECK(has_note(run, "energy: compression"));
}

TEST_CASE("an exported trace of either kind replays to the same step") {
  const TemporaryFolder folder;
  for (const Overrides& kind : {gpu0, sparse}) {
    const ResolvedExperiment original = kind_inputs(kind);
    std::ofstream(folder.path / "t.csv") << write_trace(export_trace(original, true));
    std::ofstream(folder.path / "replay.yaml")
        << "platform: dgx2\ntrace: t.csv\nbatch_per_gpu: 128\nstack: pytorch_ddp\nsoftware: ideal\n";
    const ResolvedExperiment again =
        resolve(config::Catalogue{{TRAINYARD_SOURCE_DIR}}, (folder.path / "replay.yaml").string(), kind);
    CHECK(kind_result(again).pace.time == kind_result(original).pace.time);
  }
}

TEST_CASE("exponential delays make the exchange of P ranks H_P of their mean longer, in every kind") {
  const Overrides delayed{{"random.communication", "{delay: 20 ms, factor: {kind: exponential}}"},
                          {"random.gpus", "none"},
                          {"steps.warmup", "1"},
                          {"steps.measured", "2000"},
                          {"steps.repeats", "1"}};
  const Overrides still{{"random.gpus", "none"}};
  double harmonic = 0;
  for (int rank = 1; rank <= 16; ++rank) harmonic += 1.0 / rank;
  for (const Overrides& kind : {Overrides{}, gpu0, with(sparse, {{"stack.overlap_slows", "false"}})}) {
    const Run steady = kind_result(kind_inputs(with(kind, still)));
    const Run late = kind_result(kind_inputs(with(kind, delayed)));
    CHECK((late.pace.time - steady.pace.time).si() == doctest::Approx(0.020 * harmonic).epsilon(0.03));
  }
  const Run alone = kind_result(kind_inputs(with({{"gpus", "1"}}, delayed)));
  CHECK(alone.pace.time.si() ==
        doctest::Approx(kind_result(kind_inputs(with({{"gpus", "1"}}, still))).pace.time.si()).epsilon(1e-9));
  CHECK(has_note(alone, "random.communication"));
}

TEST_CASE("delays of communication are refused where they would be ignored") {
  const auto refusal = [](const Overrides& overrides) -> std::string {
    Overrides all{{"random.communication", "{delay: 20 ms, factor: {kind: exponential}}"}};
    try {
      kind_inputs(with(all, overrides));
    } catch (const InputError& error) {
      return error.what();
    }
    return {};
  };
  const Overrides downpour{
      {"stack", "tf_parameter_server"},
      {"sync", "{kind: parameter_server, update: downpour, push_every: 2, fetch_every: 2}"}};
  CHECK(refusal(downpour).empty());
  CHECK(refusal(with(downpour, {{"sync.placement", "free"}})).find("random.communication") !=
        std::string::npos);
  CHECK(refusal(with(downpour, {{"faults", "{work: 1 h, restart: 60 s, dates: [{of: rank, at: 60 s}]}"}}))
            .find("random.communication") != std::string::npos);
  CHECK(refusal({{"parallelism", "{tensor: 2}"}}).find("random") != std::string::npos);
  CHECK(refusal({{"random.communication.factor", "{kind: uniform, low: 1}"}}).find("high") !=
        std::string::npos);
}

TEST_CASE("a slow node makes such steps longer by its compute, not by what all wait for") {
  const Overrides slow{{"random.slow", "[{node: 0, factor: 2}]"}, {"steps.measured", "3"}};
  const Overrides alone = with(sparse, {{"stack.overlap_slows", "false"}});
  const Run steady = kind_result(kind_inputs(alone));
  const Run slowed = kind_result(kind_inputs(with(alone, slow)));
  CHECK(slowed.pace.time.si() ==
        doctest::Approx((steady.pace.time + steady.pace.one_rank).si()).epsilon(1e-9));
  const Run through = kind_result(kind_inputs(gpu0));
  const Run through_slowed = kind_result(kind_inputs(with(gpu0, slow)));
  const Seconds update = slowest_class(step_of(through)).ops.back().duration;
  CHECK(through_slowed.pace.time.si() ==
        doctest::Approx((through.pace.time + compute_time(through) - update).si()).epsilon(1e-9));
  CHECK(has_note(through_slowed, "the update on GPU 0 "));
}

TEST_CASE("averaging parameters now and then sends them to all peers at the end") {
  const Overrides rule{{"sync.kind", "peer_to_peer"}, {"sync.update", "local_sgd"}, {"sync.push_every", "4"}};
  const Run run = kind_result(kind_inputs(rule));
  const Run behind = kind_result(kind_inputs({{"sync.kind", "peer_to_peer"}, {"stack.overlap", "false"}}));
  CHECK(run.pace.time.si() ==
        doctest::Approx((4 * compute_time(behind) + exposed_communication(behind)).si()).epsilon(1e-9));
}

TEST_CASE("what all ranks send takes memory, and what top_k has not sent yet") {
  const auto buckets = [](const Overrides& overrides) {
    return kind_result(kind_inputs(overrides)).memory->front().terms.gradient_buckets.si();
  };
  const double own = 4 * 25'557'032.0;
  CHECK(buckets({}) == own);
  const double largest = [] {
    const Run run = kind_result(kind_inputs({}));
    double most = 0;
    for (const CollectiveRow& row : step_of(run).collectives) most = std::max(most, row.size.si());
    return most;
  }();
  CHECK(buckets({{"sync.kind", "peer_to_peer"}}) == own + 16 * largest);
  CHECK(buckets(sparse) == own + 16 * 8 * std::round(0.01 * largest / 4) + own);
}

TEST_CASE("tf_replicated reduces every tensor by itself") {
  const Run run = kind_result(kind_inputs({{"stack", "tf_replicated"}}));
  CHECK(step_of(run).collectives.size() == 161);
  CHECK(std::ranges::all_of(step_of(run).collectives,
                            [](const CollectiveRow& row) { return row.tensors == 1; }));
}

TEST_CASE("a neighbour that is more than a step to be repeated is refused") {
  const TemporaryFolder folder;
  const auto refusal = [&](const std::string& key) -> std::string {
    std::ofstream(folder.path / "other.yaml")
        << "platform: dgx2\nmodel: resnet50\nbatch_per_gpu: 8\nstack: pytorch_ddp\n"
        << key << '\n';
    try {
      (void)resolve({{TRAINYARD_SOURCE_DIR}}, "resnet50_dgx2",
                    {{"neighbours", "[\"" + (folder.path / "other.yaml").string() + "\"]"}});
    } catch (const InputError& error) {
      return error.what();
    }
    return "accepted";
  };
  CHECK(refusal("sync: {kind: parameter_server}").find("run of many updates") != std::string::npos);
  CHECK(
      refusal("faults: {work: 1 d, restart: 1 h, dates: [{of: node, at: 1 h}]}").find("faults of its own") !=
      std::string::npos);
}

TEST_CASE(
    "flow refuses jobs of more messages than it simulates in minutes, and names the fidelity that takes "
    "them") {
  const Overrides many{{"sync.kind", "parameter_server"},
                       {"sync.update", "async"},
                       {"stack", "mxnet_kvstore"},
                       {"nodes", "1000"},
                       {"steps", "{measured: 10000}"}};
  try {
    (void)simulate(kind_inputs(many), {.fidelity = Fidelity::flow});
    FAIL("was simulated");
  } catch (const InputError& error) {
    CHECK(std::string(error.what()).find("million") != std::string::npos);
    CHECK(error.diagnostics().front().hint.find("rounds") != std::string::npos);
  }
}

TEST_CASE("sums on hosts slow steps of several nodes only") {
  const auto seconds = [](const char* nodes, const char* sums) {
    return simulate(
               testing::shipped_experiment("resnet50_big_basin",
                                           {{"nodes", nodes}, {"stack.host_reduction.sum_per_core", sums}}),
               {})
        .pace.time.si();
  };
  CHECK(seconds("1", "1 GB/s") == seconds("1", "100 GB/s"));
  CHECK(seconds("2", "1 GB/s") > seconds("2", "100 GB/s"));
}

TEST_CASE("a GPU of a worker is busy while it runs kernels, not while it waits for its host") {
  for (const char* const overhead : {"0 s", "100 ms"}) {
    const Run run = simulate(kind_inputs({{"sync.kind", "parameter_server"},
                                          {"sync.placement", "free"},
                                          {"stack", "tf_parameter_server"},
                                          {"gpus", "4"},
                                          {"steps", "{warmup: 1, measured: 3}"},
                                          {"stack.step_overhead", overhead}}),
                             {});
    Seconds kernels;
    Seconds host;
    for (const OpRow& op : slowest_class(step_of(run)).ops)
      (op.kind == OpKind::host ? host : kernels) += op.duration;
    CHECK(run.pace.time.si() == doctest::Approx((kernels + host).si()).epsilon(1e-9));
    CHECK(run.gpu_utilization == doctest::Approx(kernels / (kernels + host)).epsilon(1e-9));
    CHECK((host >= Seconds(0.1)) == (std::string(overhead) == "100 ms"));
  }
}

TEST_CASE("sums between nodes keep cores busy, and on one node the key is named as without effect") {
  const auto basin = [](const char* nodes) {
    return simulate(
        testing::shipped_experiment("resnet50_big_basin", {{"nodes", nodes}, {"input.data", "real"}}), {});
  };
  const char* const note = "host_reduction of the stack changes nothing";
  CHECK(has_note(basin("1"), note));
  const Run run = basin("4");
  CHECK_FALSE(has_note(run, note));
  const ResolvedExperiment& resolved = run.experiment;
  double bytes = 0;
  for (const CollectiveRow& row : step_of(run).collectives)
    bytes += row.operation == Operation::all_reduce ? row.size.si() : 0;
  const double sums = 0.75 * bytes / resolved.stack.host_reduction->sum_per_core.value.si();
  const double decoding = 8 * 32 * resolved.model->input->decode->value.si();
  REQUIRE(resolved.settings.batch_per_gpu == 32);
  const int cores = run.input->loading.cores_of_node;
  CHECK(run.input->cpu->share ==
        doctest::Approx((sums + decoding) / (cores * run.pace.time.si())).epsilon(1e-9));
}
