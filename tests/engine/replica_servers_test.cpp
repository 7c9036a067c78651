// Workers of several ranks, each with its own messages to the servers.

#include "server_setup.hpp"

#include <doctest/doctest.h>

using namespace trainyard;
using namespace trainyard::testing;

namespace {

constexpr double part = 32e6;  ///< bytes of a rank's message

/// Two replicas of two ranks on four nodes, and two servers on nodes of their own. Rank r exchanges a message
/// with server r. `shared`: rank 1 has a copy of what rank 0 exchanges, too.
ServerPlan two_replicas(const Cluster& cluster, std::optional<ServerMessage> shared = std::nullopt) {
  std::vector<ServerMessage> messages{{.ready_op = 0, .bytes = Bytes{part}, .shards = {0}},
                                      {.ready_op = 0, .bytes = Bytes{part}, .shards = {1}, .rank = 1}};
  if (shared) messages.push_back(*shared);
  return plan_servers(cluster, 2, 4, ServerPlacement::own_nodes, std::move(messages), {}, 2);
}

struct Asked {
  UpdateRule rule = UpdateRule::sync;
  PullTime pull = PullTime::after_update;
  double compute = 0.01;
  double ready_of_rank_1 = 1;
  bool on_simgrid = false;
};

double time_of(const ServerPlan& plan, const Asked& asked) {
  return in_child<double>([&] {
    std::vector<StepTimes> times;
    times.emplace_back(std::vector<Seconds>{Seconds{asked.compute}}, std::vector<int>{0, 2}, Randomness{}, 0);
    std::vector<double> ready(plan.messages.size(), 1.0);
    for (std::size_t i = 0; i < ready.size(); ++i)
      ready[i] = plan.messages[i].rank == 1 ? asked.ready_of_rank_1 : 1;
    const ServerRecord record = run_with_servers({.rule = asked.rule, .workers = 2}, times,
                                                 {.plan = &plan,
                                                  .ready = ready,
                                                  .needed = std::vector<double>(ready.size(), 0.0),
                                                  .pull = asked.pull,
                                                  .on_simgrid = asked.on_simgrid},
                                                 {.warmup = 2, .measured = 4});
    return time_per_update(record.repeats.back());
  });
}

}  // namespace

TEST_CASE("each rank of a replica uses its own links, and both replicas share those of the servers") {
  const Cluster cluster = hosts(6);
  const ServerPlan plan = two_replicas(cluster);
  CHECK(plan.way_of_message == std::vector<int>{0, 1});
  CHECK(plan.connection_of_message == std::vector<int>{0, 1});
  CHECK(named(cluster, plan.workers[1].push[1]).contains("node3.nic0->fabric"));
  const double exchange = way_latency + 2 * part / nic;
  CHECK(time_of(plan, {}) == doctest::Approx(0.01 + 2 * exchange).epsilon(1e-9));
  CHECK(time_of(plan, {.on_simgrid = true}) == doctest::Approx(time_of(plan, {})).epsilon(1e-9));
}

TEST_CASE("a copy that is not pushed is pulled, and takes no time before") {
  const Cluster cluster = hosts(6);
  const ServerMessage copy{
      .ready_op = 0, .bytes = Bytes{part}, .shards = {0}, .rank = 1, .copy_of = 0, .is_pushed = false};
  const ServerPlan plan = two_replicas(cluster, copy);
  // Four ranks pull from server 0 at the same time, of which the ranks 1 also pull from server 1.
  const double push = way_latency + 2 * part / nic;
  const double pull = way_latency + 4 * part / nic;
  CHECK(time_of(plan, {}) == doctest::Approx(0.01 + push + pull).epsilon(1e-9));
  const ServerRecord record = [&] {
    std::vector<StepTimes> times;
    times.emplace_back(std::vector<Seconds>{Seconds{0.01}}, std::vector<int>{0, 2}, Randomness{}, 0);
    return run_with_servers({.workers = 2}, times, {.plan = &plan, .ready = {1, 1, 1}, .needed = {0, 0, 0}},
                            {.warmup = 0, .measured = 3});
  }();
  double into_servers = 0;
  for (std::uint32_t link = 0; link < link_count(cluster); ++link) {
    const std::string name = link_name(cluster, LinkId{link});
    if (name == "fabric->node4.nic0" || name == "fabric->node5.nic0") into_servers += record.link_bytes[link];
  }
  CHECK(into_servers == 3 * 2 * 2 * part);
}

TEST_CASE("a tensor of several ranks is sent back once the gradients of all of them have arrived") {
  const Cluster cluster = hosts(6);
  ServerMessage copy{.ready_op = 0, .bytes = Bytes{part}, .shards = {0}, .rank = 1, .copy_of = 0};
  // Ranks 1 push early: rank 0's gradient completes the tensor, before which nobody pulls it.
  const ServerPlan plan = two_replicas(cluster, copy);
  const double together = time_of(plan, {.pull = PullTime::per_tensor, .ready_of_rank_1 = 0.1});
  const double push = way_latency + 2 * part / nic;  // of the ranks 0
  const double pull = way_latency + 4 * part / nic;
  CHECK(together == doctest::Approx(0.01 + push + pull).epsilon(1e-9));
}

TEST_CASE("twice the rates and half the times make training of replicas twice as fast") {
  const Cluster cluster = hosts(6);
  const ServerPlan plan = two_replicas(cluster);
  ServerPlan faster = plan;
  for (Bandwidth& link : faster.links) link = 2 * link;
  for (WorkerWays& worker : faster.workers) {
    for (auto* const ways : {&worker.push, &worker.pull})
      for (ServerWay& way : *ways) way.latency = way.latency / 2;
  }
  for (const UpdateRule rule : {UpdateRule::sync, UpdateRule::async, UpdateRule::ssp, UpdateRule::downpour}) {
    const double time = time_of(plan, {.rule = rule, .pull = PullTime::per_tensor});
    CHECK(time_of(faster, {.rule = rule, .pull = PullTime::per_tensor, .compute = 0.005}) ==
          doctest::Approx(time / 2).epsilon(1e-9));
  }
}
