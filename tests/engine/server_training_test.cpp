// Servers on hosts of one switch: bytes and times computed by hand.

#include "engine/in_child.hpp"
#include "engine/order_log_cases.hpp"
#include "engine/server_setup.hpp"
#include "engine/time_per_update.hpp"
#include "engine/training.hpp"
#include "every_rule.hpp"
#include "platform/load.hpp"

#include <algorithm>
#include <array>
#include <doctest/doctest.h>
#include <fmt/format.h>
#include <map>
#include <numeric>
#include <string>

using namespace trainyard;
using namespace trainyard::testing;
using trainyard::testing::in_child;

TEST_CASE("bytes through a server: 2N(P-1) on one of the workers' hosts, 2NP apart from them") {
  for (const int workers : {2, 4, 8}) {
    CAPTURE(workers);
    const double all = 64e6;
    // the last pulls of a run have not started when it ends: one less than pushes
    Setup beside{.workers = workers, .worker_nodes = workers, .nodes = workers};
    const double pulls = 4.0 / 5;
    CHECK(numbers(beside).sent == doctest::Approx((1 + pulls) * all * (workers - 1)).epsilon(1e-9));
    Setup on_gpu = beside;
    on_gpu.placement = ServerPlacement::gpu;
    CHECK(numbers(on_gpu).sent == doctest::Approx((1 + pulls) * all * (workers - 1)).epsilon(1e-9));
    Setup apart = beside;
    apart.nodes = workers + 1;
    apart.placement = ServerPlacement::own_nodes;
    CHECK(numbers(apart).sent == doctest::Approx((1 + pulls) * all * workers).epsilon(1e-9));
  }
}

TEST_CASE("the server's time grows with the workers: all pushes, then all pulls, through one NIC") {
  for (const int workers : {2, 4, 8, 16}) {
    CAPTURE(workers);
    const Setup setup{.workers = workers,
                      .worker_nodes = workers,
                      .nodes = workers + 1,
                      .placement = ServerPlacement::own_nodes};
    const double expected = 2 * (way_latency + workers * setup.bytes / nic);
    CHECK(numbers(setup).time_per_update == doctest::Approx(expected).epsilon(1e-9));
  }
}

TEST_CASE("a node that adds up its GPUs' gradients sends what one GPU would") {
  const Cluster cluster = make_cluster(load_platform(config::parse("box.yaml", two_gpus)), 2);
  const auto sent = [&](NodeReduce reduce) {
    const int workers = reduce == NodeReduce::none ? 4 : 2;
    const ServerPlan plan = plan_servers(cluster, workers, 2, ServerPlacement::hosts, {one_message(64e6, 1)},
                                         {.node_reduce = reduce});
    int times = 0;
    for (const WorkerWays& worker : plan.workers) {
      std::map<std::string, int> links = named(cluster, worker.push.front());
      times += links["node1.nic0->fabric"];
      CHECK(links["node0.nic0->fabric"] == 0);
    }
    return times;
  };
  CHECK(sent(NodeReduce::none) == 2);
  CHECK(sent(NodeReduce::gpus) == 1);
  CHECK(sent(NodeReduce::host) == 1);
}

TEST_CASE("inside a node each gradient that is added up and each parameter is copied once") {
  const Cluster cluster = make_cluster(load_platform(config::parse("box.yaml", two_gpus)), 1);
  const auto ways = [&](NodeReduce reduce) {
    return plan_servers(cluster, 1, 1, ServerPlacement::hosts, {one_message(64e6, 1)},
                        {.node_reduce = reduce})
        .workers.front();
  };
  using Times = std::map<std::string, int>;
  const WorkerWays on_host = ways(NodeReduce::host);
  CHECK(named(cluster, on_host.push.front()) ==
        Times{{"node0.gpu0->cpu0", 1}, {"node0.gpu1->cpu0", 1}, {"memory", 2 * 2 + 2 + 4}});
  CHECK(named(cluster, on_host.pull.front()) ==
        Times{{"node0.cpu0->gpu0", 1}, {"node0.cpu0->gpu1", 1}, {"memory", 1 + 2 + 1}});
  // to the GPU whose turn it is, and from there to the host
  const WorkerWays on_gpus = ways(NodeReduce::gpus);
  CHECK(named(cluster, on_gpus.push.front()) ==
        Times{{"node0.gpu1->cpu0", 1}, {"node0.cpu0->gpu0", 1}, {"node0.gpu0->cpu0", 1}, {"memory", 4}});
  CHECK(named(cluster, on_gpus.pull.front()) ==
        Times{{"node0.cpu0->gpu0", 1}, {"node0.gpu0->cpu0", 1}, {"node0.cpu0->gpu1", 1}, {"memory", 1}});
}

TEST_CASE("a host whose cores are slow adds up no more than they can") {
  Cluster cluster = make_cluster(load_platform(config::parse("box.yaml", two_gpus)), 2);
  cluster.platform.cores_per_cpu = Sourced<int>{.value = 2};
  const ServerRules rules{.sum_per_core = Sourced<Bandwidth>{.value = Bandwidth{3e9}}};
  const ServerPlan plan = plan_servers(cluster, 4, 2, ServerPlacement::hosts, {one_message(64e6, 1)}, rules);
  REQUIRE(plan.resources.size() == 2);
  CHECK(plan.resources[1].name == "cores of node0.cpu0");
  CHECK(plan.links[static_cast<std::size_t>(plan.resources[1].link)] == Bandwidth{6e9});
  const auto is_core = [&](int link) { return link == plan.resources[1].link; };
  CHECK(std::ranges::count_if(plan.workers[3].push.front().links, is_core) == 1);
  CHECK(std::ranges::count_if(plan.workers[3].pull.front().links, is_core) == 0);
}

TEST_CASE("shards on the workers' GPUs: a rank's own needs no way") {
  const Cluster cluster = make_cluster(load_platform(config::parse("box.yaml", two_gpus)), 1);
  const ServerPlan plan = plan_servers(cluster, 2, 1, ServerPlacement::gpus, {one_message(64e6, 2)});
  using Times = std::map<std::string, int>;
  CHECK(named(cluster, plan.workers[0].push.front()) ==
        Times{{"node0.gpu0->cpu0", 1}, {"node0.cpu0->gpu1", 1}});
  CHECK(named(cluster, plan.workers[1].push.front()) ==
        Times{{"node0.gpu1->cpu0", 1}, {"node0.cpu0->gpu0", 1}});
}

TEST_CASE("as many shards as hosts share the load: nearly flat in the number of workers") {
  for (const int workers : {2, 4, 8, 16}) {
    CAPTURE(workers);
    const Setup setup{.workers = workers, .worker_nodes = workers, .nodes = workers, .shards = workers};
    const double share = static_cast<double>(workers - 1) / workers;
    const double expected = 2 * (way_latency + share * setup.bytes / nic);
    CHECK(numbers(setup).time_per_update == doctest::Approx(expected).epsilon(1e-9));
  }
}

TEST_CASE("what takes no time to send changes nothing, whatever the rule") {
  Randomness random;
  random.step = random::Distribution{
      .kind = random::Kind::exponential, .sd = {}, .shift = {}, .shape = {}, .file = {}, .seen = {}};
  for (const UpdateSettings& rule : every_rule({.workers = 4, .k = 3, .bound = 2, .push_every = 2})) {
    if (traits(rule.rule).in_background) continue;  // its pushes take the time of the network's latency
    CAPTURE(config::name_of(rule.rule));
    const Setup setup{
        .bytes = 1e-6, .compute = 1e3, .rule = rule, .random = random, .warmup = 20, .measured = 200};
    std::vector<int> nodes(4);
    std::iota(nodes.begin(), nodes.end(), 0);
    StepTimes times({Seconds{setup.compute}}, nodes, random, 0);
    UpdateSettings settings = setup.rule;
    settings.workers = 4;
    const TrainingRecord free = run_without_network(settings, times, {.warmup = 20, .measured = 200});
    const Numbers found = numbers(setup);
    CHECK(found.time_per_update == doctest::Approx(time_per_update(free)).epsilon(1e-6));
    CHECK(found.oldest == static_cast<double>(free.staleness.size()) - 1);
  }
}

TEST_CASE("a delay of the pushes adds to whatever the network takes, and without it is as without servers") {
  Randomness random;
  random.communication = CommunicationDelay{};
  random.communication->delay = Seconds{500};
  random.communication->factor.kind = random::Kind::exponential;
  for (const UpdateSettings& rule : every_rule({.workers = 4, .k = 3, .bound = 2, .push_every = 2})) {
    if (traits(rule.rule).in_background) continue;  // it hides the delay
    CAPTURE(config::name_of(rule.rule));
    const Setup setup{
        .bytes = 1e-6, .compute = 1e3, .rule = rule, .random = random, .warmup = 20, .measured = 200};
    std::vector<int> nodes(4);
    std::iota(nodes.begin(), nodes.end(), 0);
    StepTimes times({Seconds{setup.compute}}, nodes, random, 0);
    UpdateSettings settings = setup.rule;
    settings.workers = 4;
    const TrainingRecord free = run_without_network(settings, times, {.warmup = 20, .measured = 200});
    const Numbers found = numbers(setup);
    CHECK(found.time_per_update == doctest::Approx(time_per_update(free)).epsilon(1e-6));
    CHECK(found.computing > 0);
  }
  // constant: exactly so much later, also behind tensors that are ready earlier
  Randomness constant = random;
  constant.communication->delay = Seconds{0.05};
  constant.communication->factor.kind = random::Kind::constant;
  for (const UpdateRule rule : {UpdateRule::sync, UpdateRule::async}) {
    const Setup setup{.workers = 1,
                      .worker_nodes = 1,
                      .nodes = 2,
                      .placement = ServerPlacement::own_nodes,
                      .compute = 0.1,
                      .rule = {.rule = rule},
                      .random = constant,
                      .ready = {0.5, 1}};
    Setup prompt = setup;
    prompt.random = {};
    CHECK(numbers(setup).time_per_update ==
          doctest::Approx(numbers(prompt).time_per_update + 0.05).epsilon(1e-9));
  }
}

TEST_CASE("downpour goes on while a push is delayed, and waits only for a delay longer than its steps") {
  Randomness random;
  random.communication = CommunicationDelay{};
  random.communication->factor.kind = random::Kind::constant;
  const auto time = [&](double delay) {
    random.communication->delay = Seconds{delay};
    return numbers({.workers = 1,
                    .worker_nodes = 1,
                    .nodes = 2,
                    .placement = ServerPlacement::own_nodes,
                    .bytes = 0.02 * nic,
                    .compute = 0.1,
                    .rule = {.rule = UpdateRule::downpour, .push_every = 1, .fetch_every = 1000},
                    .random = random,
                    .measured = 20})
        .time_per_update;
  };
  CHECK(time(0.05) == doctest::Approx(0.1).epsilon(1e-9));
  CHECK(time(0.2) == doctest::Approx(0.22 + way_latency).epsilon(1e-9));
}

TEST_CASE("a rank's time is computing, communicating or waiting") {
  const Setup setup{.compute = 0.01, .rule = {.rule = UpdateRule::k_sync, .k = 3}, .measured = 50};
  const Numbers found = numbers(setup);
  CHECK(found.computing + found.communicating + found.waiting ==
        doctest::Approx(4 * 50 * found.time_per_update).epsilon(1e-9));
  CHECK(found.wasted > 0);
}

TEST_CASE("repeats follow each other on one network and draw anew") {
  Randomness random;
  random.step = random::Distribution{
      .kind = random::Kind::gamma, .sd = {}, .shift = {}, .shape = 4.0, .file = {}, .seen = {}};
  const auto three = in_child<std::array<double, 3>>([&] {
    const Setup setup{
        .compute = 0.01, .rule = {.rule = UpdateRule::async}, .random = random, .repeats = 3, .measured = 40};
    const ServerRecord record = train(setup);
    return std::array<double, 3>{time_per_update(record.repeats[0]), time_per_update(record.repeats[1]),
                                 time_per_update(record.repeats[2])};
  });
  CHECK(three[0] != three[1]);
  CHECK(three[1] != three[2]);
  CHECK(three[1] == doctest::Approx(three[0]).epsilon(0.2));
}

TEST_CASE("forward begins with the parameters it needs first, and stops for those it needs later") {
  const double compute = 0.1;
  const auto one_worker = [&](double send, bool by_priority, std::vector<double> needed) {
    return numbers({.workers = 1,
                    .worker_nodes = 1,
                    .nodes = 2,
                    .placement = ServerPlacement::own_nodes,
                    .bytes = send * nic,
                    .compute = compute,
                    .rule = {.rule = UpdateRule::downpour, .push_every = 1, .fetch_every = 1},
                    .warmup = 10,
                    .ready = {0.5, 1},
                    .needed = std::move(needed),
                    .by_priority = by_priority})
        .time_per_update;
  };
  // Beside the push, both pulls before forward can begin.
  const double whole = compute + way_latency + 2 * 0.01;
  CHECK(one_worker(0.01, false, {0, 0}) == doctest::Approx(whole).epsilon(1e-9));
  // The last message is needed first: no gain.
  CHECK(one_worker(0.01, false, {0.25, 0}) == doctest::Approx(whole).epsilon(1e-9));
  // The first message is needed first: the other arrives before forward reaches its layer ...
  CHECK(one_worker(0.01, true, {0.25, 0}) == doctest::Approx(whole - 0.01).epsilon(1e-9));
  // ... or later than that.
  CHECK(one_worker(0.03, true, {0.25, 0}) ==
        doctest::Approx(compute + way_latency + 2 * 0.03 - 0.25 * compute).epsilon(1e-9));
}

TEST_CASE("each tensor is pulled once it is updated, before others are pushed") {
  const auto one_worker = [&](double send, UpdateSettings rule) {
    return numbers({.workers = 1,
                    .worker_nodes = 1,
                    .nodes = 2,
                    .placement = ServerPlacement::own_nodes,
                    .bytes = send * nic,
                    .compute = 0.1,
                    .rule = rule,
                    .ready = {0.5, 1},
                    .needed = {0, 0}})
        .time_per_update;
  };
  for (const UpdateSettings& rule : every_rule({})) {
    if (traits(rule.rule).in_background) continue;  // it does not wait for its push
    CAPTURE(config::name_of(rule.rule));
    // push and pull of the last tensor; those of the first are over by then ...
    CHECK(one_worker(0.01, rule) == doctest::Approx(0.1 + 2 * way_latency + 2 * 0.01).epsilon(1e-9));
    // ... or the push of the last waits for it, and its pull begins when the first is pulled
    CHECK(one_worker(0.1, rule) == doctest::Approx(0.05 + 2 * way_latency + 3 * 0.1).epsilon(1e-9));
  }
}

namespace {

/// Tensors that become ready and are needed one after the other, on as many shards as nodes.
Setup several_tensors(int workers, UpdateSettings rule, double compute, const Randomness& random = {}) {
  return {.workers = workers,
          .worker_nodes = workers,
          .nodes = workers,
          .shards = workers,
          .bytes = 64e6,
          .compute = compute,
          .rule = rule,
          .random = random,
          .warmup = 3,
          .measured = 10,
          .ready = {0.4, 0.6, 0.8, 1},
          .needed = {0.3, 0.2, 0.1, 0}};
}

}  // namespace

TEST_CASE("k = P of the k_ rules is sync, whenever tensors are pulled, with equal steps or random ones") {
  Randomness random;
  random.step = random::Distribution{
      .kind = random::Kind::exponential, .sd = {}, .shift = {}, .shape = {}, .file = {}, .seen = {}};
  for (const int workers : {1, 2, 4, 8}) {
    for (const double compute : {0.0, 0.01, 0.2}) {
      for (const PullTime pull : {PullTime::per_tensor, PullTime::after_update}) {
        CAPTURE(workers);
        CAPTURE(compute);
        CAPTURE(config::name_of(pull));
        const auto time = [&](UpdateRule rule, const Randomness& how) {
          Setup setup = several_tensors(workers, {.rule = rule, .k = workers}, compute, how);
          setup.pull = pull;
          return numbers(setup).time_per_update;
        };
        const double sync = time(UpdateRule::sync, {});
        for (const UpdateRule rule :
             {UpdateRule::k_sync, UpdateRule::k_batch_sync, UpdateRule::k_async, UpdateRule::local_sgd}) {
          CAPTURE(config::name_of(rule));
          CHECK(time(rule, {}) == doctest::Approx(sync).epsilon(1e-12));
        }
        if (compute == 0.0) continue;
        const double drawn = time(UpdateRule::sync, random);
        CHECK(time(UpdateRule::k_sync, random) == doctest::Approx(drawn).epsilon(1e-12));
        CHECK(time(UpdateRule::k_async, random) == doctest::Approx(drawn).epsilon(1e-12));
      }
    }
  }
}

TEST_CASE("without randomness nobody is slower than with sync, whose updates wait for all") {
  for (const int workers : {1, 2, 4, 8}) {
    for (const double compute : {0.01, 0.2}) {
      CAPTURE(workers);
      CAPTURE(compute);
      for (const PullTime pull : {PullTime::per_tensor, PullTime::after_update}) {
        CAPTURE(config::name_of(pull));
        const auto time = [&](UpdateRule rule, int updates_per_step) {
          Setup setup = several_tensors(workers, {.rule = rule, .k = 1, .bound = 1}, compute);
          setup.pull = pull;
          setup.warmup *= updates_per_step;
          setup.measured *= updates_per_step;
          return updates_per_step * numbers(setup).time_per_update;
        };
        const double sync = time(UpdateRule::sync, 1);
        for (const UpdateRule rule : {UpdateRule::async, UpdateRule::ssp, UpdateRule::k_batch_async}) {
          CAPTURE(config::name_of(rule));
          CHECK(time(rule, workers) <= sync * (1 + 1e-9));
        }
      }
    }
  }
}

TEST_CASE("an update that cancels leaves the parameters that were pulled ahead of it") {
  Setup setup = several_tensors(4, {.rule = UpdateRule::k_sync, .k = 3}, 0.2);
  const double some = numbers(setup).time_per_update;
  const double all = numbers(several_tensors(4, {.rule = UpdateRule::sync}, 0.2)).time_per_update;
  CHECK(some <= all * (1 + 1e-9));
  CHECK(some > 0.2);
  setup.pull = PullTime::after_update;
  CHECK(some < numbers(setup).time_per_update * (1 - 1e-3));
}

TEST_CASE("k_batch_async: each worker is sent each tensor once per update, however early one is updated") {
  // Two workers with equal steps make an update of k = 4 in two steps. The first tensor of an update arrives
  // long before the last: in between workers must not pull it again.
  constexpr double updates = 40;
  const Setup setup{.workers = 2,
                    .worker_nodes = 2,
                    .nodes = 3,
                    .placement = ServerPlacement::own_nodes,
                    .compute = 1,
                    .rule = {.rule = UpdateRule::k_batch_async, .k = 4},
                    .warmup = 0,
                    .measured = static_cast<std::int64_t>(updates),
                    .ready = {0.1, 1},
                    .needed = {0, 0}};
  const double of_update = (setup.rule.k + setup.workers) * 2 * setup.bytes;
  const double sent = numbers(setup).sent;
  CHECK(sent <= of_update);
  CHECK(sent >= of_update - setup.workers * 2 * setup.bytes / updates);  // the last pulls have not begun
}

TEST_CASE("runs with servers take as long as on SimGrid") {
  Randomness random;
  random.step = random::Distribution{
      .kind = random::Kind::exponential, .sd = {}, .shift = {}, .shape = {}, .file = {}, .seen = {}};
  for (const UpdateRule rule :
       {UpdateRule::sync, UpdateRule::k_sync, UpdateRule::async, UpdateRule::downpour}) {
    for (const bool is_spread : {true, false}) {
      CAPTURE(config::name_of(rule));
      CAPTURE(is_spread);
      Setup setup{.workers = 6,
                  .worker_nodes = 6,
                  .nodes = 9,
                  .shards = 3,
                  .placement = ServerPlacement::own_nodes,
                  .bytes = 64e6,
                  .compute = 0.02,
                  .rule = {.rule = rule, .k = 4, .push_every = rule == UpdateRule::downpour ? 2 : 1},
                  .random = random,
                  .measured = 60,
                  .ready = {0.5, 0.8, 1},
                  .needed = {0.3, 0.1, 0}};
      setup.is_message_of_one_shard = !is_spread;
      const double own = numbers(setup).time_per_update;
      setup.on_simgrid = true;
      CHECK(own == doctest::Approx(numbers(setup).time_per_update).epsilon(1e-9));
    }
  }
}

TEST_CASE("downpour computes while it pushes, and waits only for the push before") {
  for (const double send : {0.02, 0.25}) {
    CAPTURE(send);
    const Numbers found =
        numbers({.workers = 1,
                 .worker_nodes = 1,
                 .nodes = 2,
                 .placement = ServerPlacement::own_nodes,
                 .bytes = send * nic,
                 .compute = 0.1,
                 .rule = {.rule = UpdateRule::downpour, .push_every = 1, .fetch_every = 1000},
                 .measured = 20});
    CHECK(found.time_per_update == doctest::Approx(std::max(0.1, send + way_latency)).epsilon(1e-9));
  }
}

TEST_CASE("gradients of synchronous rules are fresh, whatever was cancelled on its way") {
  Randomness random;
  random.step = random::Distribution{
      .kind = random::Kind::exponential, .sd = {}, .shift = {}, .shape = {}, .file = {}, .seen = {}};
  for (const UpdateRule rule : {UpdateRule::sync, UpdateRule::k_sync, UpdateRule::k_batch_sync}) {
    CAPTURE(config::name_of(rule));
    const Numbers found = numbers(
        {.compute = 0.01, .rule = {.rule = rule, .k = 2}, .random = random, .warmup = 20, .measured = 200});
    CHECK(found.oldest == 1);
  }
}
