// Kinds of synchronisation that are collectives of one step: DataParallel through GPU 0, updates to all
// peers.

#include "collectives/formulas.hpp"
#include "config/document.hpp"
#include "engine/engine.hpp"
#include "errors_of.hpp"
#include "platform/shipped_platform.hpp"
#include "schedule/step_plan.hpp"
#include "two_layers.hpp"

#include <algorithm>
#include <doctest/doctest.h>

using namespace trainyard;
using namespace trainyard::testing;

namespace {

constexpr double step_compute = 40e-3;  // of two_layers()
constexpr double values = 101e6;

Cluster machine(const std::string& name, int nodes, int gpus) {
  return make_cluster(testing::shipped_platform(name), nodes, gpus);
}

Sync through_gpu0() { return {.kind = SyncKind::dataparallel_gpu0}; }

Sync to_peers(Compression compression = Compression::none, std::optional<double> keep = std::nullopt) {
  return {.kind = SyncKind::peer_to_peer, .compression = compression, .keep = keep};
}

StepPlan plan_of(const Cluster& cluster, const Sync& sync, const Trace& trace = two_layers(),
                 const Stack& stack = {}) {
  return plan_step(
      trace, round_gpu(), stack, cluster, sync,
      CollectiveSoftware{.version = NcclVersion::v2_7_8, .overheads = {}, .compute_capability = 0});
}

Timeline run_closed(const TaskGraph& graph) {
  return run(graph, {.fidelity = Fidelity::closed, .recorded = {}});
}

double makespan(const StepPlan& plan) { return run_closed(plan.graph).makespan.si(); }

/// Each collective of the plan with nothing else in its way, added up.
double collectives_alone(const StepPlan& plan, const Cluster& cluster, Operation operation) {
  double sum = 0;
  for (std::size_t i = 0; i < plan.graph.collectives.size(); ++i) {
    if (plan.graph.collectives[i].operation != operation) continue;
    TaskGraph graph = plan.graph;
    Program alone;
    alone.streams[0] = {Join{static_cast<int>(i)}};
    graph.programs = {alone};
    graph.program_of_rank.assign(at(cluster.ranks()), 0);
    sum += run_closed(graph).makespan.si();
  }
  return sum;
}

/// The key of the only error; "" without an error.
std::string wrong_key(const std::string& sync) {
  const auto errors = errors_of([&] {
    (void)load_experiment(config::parse(
        "e.yaml", "platform: dgx2\nmodel: resnet50\nstack: pytorch_ddp\nbatch_per_gpu: 1\n" + sync));
  });
  REQUIRE(errors.size() <= 1);
  return errors.empty() ? "" : errors.front().key_path;
}

}  // namespace

TEST_CASE("a DataParallel step is broadcast, compute, reduction and update, one after the other") {
  for (const int gpus : {2, 4, 16}) {
    const Cluster cluster = machine("dgx2", 1, gpus);
    const StepPlan plan = plan_of(cluster, through_gpu0());
    const double broadcasts = collectives_alone(plan, cluster, Operation::broadcast);
    const double reductions = collectives_alone(plan, cluster, Operation::reduce);
    CHECK(broadcasts > 4 * values / 150e9);
    CHECK(reductions > 4 * values / 150e9);
    CHECK(makespan(plan) == doctest::Approx(broadcasts + step_compute + reductions).epsilon(1e-9));
  }
}

TEST_CASE("two GPUs send the parameters and the gradients over one way each, at its rate") {
  const Cluster cluster = machine("dgx2", 1, 2);
  Stack wire;
  wire.nccl = NcclVersion::none;
  const StepPlan plan = plan_of(cluster, through_gpu0(), two_layers(), wire);
  const Route way = route(cluster, Rank{0}, Rank{1});
  double rate = 1e30;
  for (const LinkId link : way.links) rate = std::min(rate, capacity(cluster, link).si());
  const double once =
      4 * values / rate + static_cast<double>(plan.graph.collectives.size() / 2) * way.latency.si();
  CHECK(makespan(plan) == doctest::Approx(2 * once + step_compute).epsilon(1e-9));
}

TEST_CASE("only GPU 0 updates, and only it copies what it broadcasts; all copy what they reduce") {
  Trace trace = two_layers();
  trace.ops[3].gradients = {{"b", 1e6},
                            {"a", 1e6}};  // 8 MB in all with the 4 of the last layer, below 10 MiB
  Stack stack;
  stack.bucket_cap = {.value = Bytes(100e6)};
  const Cluster cluster = machine("dgx2", 1, 4);
  const StepPlan plan = plan_of(cluster, through_gpu0(), trace, stack);
  REQUIRE(plan.graph.collectives.size() == 2);
  CHECK(plan.graph.collectives[0].label.name == "parameters 0");
  CHECK(plan.graph.collectives[0].label.tensors == 3);
  CHECK(plan.graph.collectives[1].label.name == "gradients 0");
  const Timeline timeline = run_closed(plan.graph);
  const double copy = 2 * 12e6 / 1e12;
  const auto taken = [&](std::size_t i) {
    return (timeline.collectives[i].end - timeline.collectives[i].start).si();
  };
  CHECK(timeline.ranks[0].compute.si() == doctest::Approx(40e-3).epsilon(1e-12));
  CHECK(timeline.ranks[1].compute.si() == doctest::Approx(32e-3).epsilon(1e-12));
  CHECK(timeline.ranks[0].communication.si() ==
        doctest::Approx(taken(0) + taken(1) + 2 * copy).epsilon(1e-9));
  CHECK(timeline.ranks[1].communication.si() == doctest::Approx(taken(0) + taken(1) + copy).epsilon(1e-9));
  CHECK(timeline.makespan.si() ==
        doctest::Approx(taken(0) + taken(1) + 2 * copy + step_compute).epsilon(1e-9));
}

TEST_CASE("DistributedDataParallel is faster than DataParallel on the same machine") {
  for (const char* name : {"dgx2", "dgx1v", "p3_8xlarge"}) {
    const Cluster cluster = machine(name, 1, 4);
    CAPTURE(name);
    CHECK(makespan(plan_of(cluster, Sync{})) < makespan(plan_of(cluster, through_gpu0())));
  }
}

TEST_CASE("DataParallel stays on one node, and one GPU has nothing to exchange") {
  CHECK_THROWS_AS((void)plan_of(machine("p3_16xlarge", 2, 16), through_gpu0()), InputError);
  const StepPlan alone = plan_of(machine("dgx2", 1, 1), through_gpu0());
  CHECK(alone.graph.collectives.empty());
  CHECK(alone.notes.empty());
  CHECK(makespan(alone) == doctest::Approx(step_compute).epsilon(1e-12));
}

TEST_CASE("a rank sends its update to every other: N'(P - 1) bytes, in the time its link takes for them") {
  Stack flat;
  flat.bucket_first = flat.bucket_cap = {.value = Bytes(1e12)};
  struct Case {
    Sync sync;
    double update;   // bytes
    double kernels;  // bytes that they move, of one rank
  };
  constexpr double n = 4 * values;
  for (const int gpus : {2, 5, 16}) {
    const double p = gpus;
    const double kept = std::round(0.001 * values);
    const double sparse = 8 * kept;
    const Case cases[] = {
        {to_peers(), n, p * n + n},
        {to_peers(Compression::fp16), n / 2, 1.5 * n + p * n / 2 + n},
        {to_peers(Compression::top_k, 0.001), sparse,
         (3 + 2 + 4 + 1) * n + 12 * kept + 8 * kept + 64 * kept + sparse + n + p * (sparse + 64 * kept)}};
    const Cluster cluster = machine("dgx2", 1, gpus);
    const Route way = route(cluster, Rank{0}, Rank{1});
    for (const Case& each : cases) {
      CAPTURE(gpus);
      CAPTURE(each.update);
      const StepPlan plan = plan_of(cluster, each.sync, two_layers(), flat);
      REQUIRE(plan.graph.collectives.size() == 1);
      CHECK(plan.graph.collectives[0].label.algorithm == Algorithm::direct);
      CHECK(plan.graph.collectives[0].size.si() == p * each.update);
      const Timeline timeline = run_closed(plan.graph);
      const double sent = timeline.link_bytes[index(way.links.front())];
      CHECK(sent == doctest::Approx((p - 1) * each.update).epsilon(1e-9));
      const double exchange = direct_time(Operation::all_gather, gpus, Bytes(p * each.update),
                                          capacity(cluster, way.links.front()), way.latency)
                                  .si();
      CHECK(timeline.makespan.si() ==
            doctest::Approx(step_compute + exchange + each.kernels / 1e12).epsilon(1e-9));
    }
  }
}

TEST_CASE("buckets of updates go out behind backward, and any algorithm of an all-gather carries them") {
  const Cluster cluster = machine("dgx2", 1, 4);
  const StepPlan plan = plan_of(cluster, to_peers());
  REQUIRE(plan.graph.collectives.size() == 2);
  CHECK(plan.graph.collectives[0].label.name == "bucket 0");
  const Timeline timeline = run_closed(plan.graph);
  CHECK(timeline.collectives[0].start.si() == doctest::Approx(24e-3).epsilon(1e-12));
  Sync ring = to_peers();
  ring.algorithm = Algorithm::ring;
  CHECK(plan_of(cluster, ring).graph.collectives[0].label.algorithm == Algorithm::ring);
  ring.algorithm = Algorithm::tree;
  CHECK_THROWS_AS((void)plan_of(cluster, ring), InputError);
}

TEST_CASE("compression pays on a slow network and costs on a fast one") {
  const Cluster fast = machine("dgx2", 1, 2);
  const Cluster slow = machine("p3_16xlarge", 2, 16);
  const auto step = [](const Cluster& cluster, const Sync& sync) { return makespan(plan_of(cluster, sync)); };
  const Sync sparse = to_peers(Compression::top_k, 0.01);
  CHECK(step(slow, sparse) < step(slow, to_peers(Compression::fp16)));
  CHECK(step(slow, to_peers(Compression::fp16)) < step(slow, to_peers()));
  CHECK(step(fast, sparse) > step(fast, to_peers()));
}

TEST_CASE("what a kind makes of gradients is not what a trace has recorded; halves are not halved") {
  const Cluster cluster = machine("dgx2", 1, 4);
  Trace trace = two_layers();
  trace.ops[3].communications = {{.operation = Operation::all_reduce, .size = Bytes{404e6}}};
  CHECK_THROWS_AS((void)plan_of(cluster, to_peers(), trace), InputError);
  CHECK_THROWS_AS((void)plan_of(cluster, through_gpu0(), trace), InputError);
  Stack halves;
  halves.gradient_dtype = GradientDtype::fp16;
  CHECK_THROWS_AS((void)plan_of(cluster, to_peers(Compression::fp16), two_layers(), halves), InputError);
}

TEST_CASE("keys of one kind are errors with another") {
  CHECK(wrong_key("sync: {kind: dataparallel_gpu0}\n").empty());
  CHECK(wrong_key("sync: {kind: peer_to_peer, compression: top_k, keep: 0.01}\n").empty());
  CHECK(wrong_key("sync: {kind: peer_to_peer, update: local_sgd, push_every: 4}\n").empty());
  CHECK(wrong_key("sync: {kind: dataparallel_gpu0, algorithm: ring}\n") == "sync.algorithm");
  CHECK(wrong_key("sync: {kind: dataparallel_gpu0, backups: 1}\n") == "sync.backups");
  CHECK(wrong_key("sync: {kind: dataparallel_gpu0, update: local_sgd, push_every: 4}\n") == "sync.update");
  CHECK(wrong_key("accumulation: 2\nsync: {kind: dataparallel_gpu0}\n") == "accumulation");
  CHECK(wrong_key("sync: {kind: peer_to_peer, shards: 2}\n") == "sync.shards");
  CHECK(wrong_key("sync: {kind: peer_to_peer, update: async}\n") == "sync.update");
  CHECK(wrong_key("sync: {compression: fp16}\n") == "sync.compression");
  CHECK(wrong_key("sync: {kind: peer_to_peer, compression: top_k}\n") == "sync.compression");
  CHECK(wrong_key("sync: {kind: peer_to_peer, keep: 0.5}\n") == "sync.keep");
  CHECK(wrong_key("sync: {kind: peer_to_peer, compression: fp16, update: local_sgd, push_every: 4}\n") ==
        "sync.compression");
}

TEST_CASE("the host's time before a broadcast delays the step's beginning") {
  const Cluster cluster = machine("dgx2", 1, 2);
  Stack slow;
  slow.collective_overhead.value = Seconds{1e-3};
  CHECK(run_closed(plan_of(cluster, through_gpu0(), two_layers(), slow).graph).collectives[0].start.si() ==
        doctest::Approx(1e-3).epsilon(1e-12));
}
