// Properties of every algorithm and operation.

#include "collectives/algorithms.hpp"

#include <cmath>
#include <doctest/doctest.h>
#include <numeric>
#include <rapidcheck.h>

using namespace trainyard;

namespace {

struct Case {
  Operation operation{};
  int ranks = 0;
  Algorithm algorithm{};
  Bytes size;
};

/// On a flat cluster.
Case any_case() {
  Case any{.operation = *rc::gen::elementOf(all_operations),
           .ranks = *rc::gen::inRange(2, 41),
           .algorithm = {},
           .size = Bytes{std::exp2(*rc::gen::inRange(0, 31)) + *rc::gen::inRange(0, 1000)}};
  const Cluster cluster = flat_cluster(any.ranks);
  any.algorithm = *rc::gen::elementOf(possible_algorithms(cluster, over_all_ranks(cluster, any.operation)));
  return any;
}

Seconds time_of(const Case& any, const Cluster& cluster, int root = 0) {
  return time_alone(cluster, plan_by(any.algorithm, cluster, over_all_ranks(cluster, any.operation, root)),
                    any.size);
}

}  // namespace

TEST_CASE("more bandwidth or less latency is never slower") {
  CHECK(rc::check("faster links, faster collectives", [] {
    const Case any = any_case();
    const Seconds time = time_of(any, flat_cluster(any.ranks, 10, 5));
    RC_ASSERT(time_of(any, flat_cluster(any.ranks, 10 + *rc::gen::inRange(1, 90), 5)) <= time);
    RC_ASSERT(time_of(any, flat_cluster(any.ranks, 10, *rc::gen::inRange(1, 5))) <= time);
  }));
}

TEST_CASE("in rounds, twice the bytes over twice the bandwidth change nothing but latency") {
  CHECK(rc::check("only latency terms differ", [] {
    Case any = any_case();
    const Cluster slow = flat_cluster(any.ranks, 10, 5);
    const Cluster fast = flat_cluster(any.ranks, 20, 7);
    const CollectivePlan plan = plan_by(any.algorithm, slow, over_all_ranks(slow, any.operation));
    // a chunked phase cuts other sizes into other numbers of chunks
    for (const PhasePlan& phase : plan.phases) RC_PRE(phase.hops == 0);
    int messages = 0;
    for (const PhasePlan& phase : plan.phases) messages += phase.messages;
    const Seconds once = time_of(any, slow);
    any.size = any.size * 2;
    const Seconds twice = time_of(any, fast);
    RC_ASSERT(std::abs((twice - once).si() - 2e-6 * messages) < 1e-9 * once.si());
  }));
}

TEST_CASE("which hosts of a switch take part changes nothing") {
  CHECK(rc::check("any group of as many", [] {
    const Case any = any_case();
    const Cluster cluster = flat_cluster(64);
    std::vector<Rank> hosts = all_ranks(cluster);
    for (std::size_t i = 0; i + 1 < hosts.size(); ++i)
      std::swap(hosts[i], hosts[at(*rc::gen::inRange(static_cast<int>(i), 64))]);
    hosts.resize(at(any.ranks));
    std::ranges::sort(hosts);
    // trees are deeper from some places in the group than from others
    const int root = *rc::gen::inRange(0, any.ranks);
    const CollectiveRequest request{.operation = any.operation, .group = hosts, .root = hosts[at(root)]};
    const Seconds there = time_alone(cluster, plan_by(any.algorithm, cluster, request), any.size);
    RC_ASSERT(std::abs(there / time_of(any, flat_cluster(any.ranks), root) - 1) < 1e-12);
  }));
}

TEST_CASE("as many bytes are received as sent, and the links out of hosts carry just those") {
  CHECK(rc::check("conservation", [] {
    const Case any = any_case();
    const Cluster cluster = flat_cluster(any.ranks);
    const CollectivePlan plan = plan_by(any.algorithm, cluster, over_all_ranks(cluster, any.operation));
    const Traffic traffic = traffic_of(cluster, plan, any.size);
    const double sent = std::accumulate(traffic.sent.begin(), traffic.sent.end(), 0.0);
    const double received = std::accumulate(traffic.received.begin(), traffic.received.end(), 0.0);
    double out = 0;
    const Collective made = collective(plan, any.size, 0);
    for (const CollectivePhase& phase : made.phases) {
      for (const LinkUse& use : link_uses(plan.patterns[at(phase.pattern)])) {
        if (link_name(cluster, use.link).ends_with("->fabric"))
          out += phase.bytes.si() * phase.messages * use.times;
      }
    }
    RC_ASSERT(std::abs(received - sent) <= 1e-12 * sent);
    RC_ASSERT(std::abs(out - sent) <= 1e-12 * sent);
    // no rank sends less than the operation needs
    RC_ASSERT(sent >= any.size.si() * sent_share(any.operation, any.ranks) * (1 - 1e-12));
  }));
}

TEST_CASE("a protocol that reaches half of the links' rate takes twice as long for large sizes") {
  ProtocolOverheads half;
  for (ByProtocol<double>& part : half.efficiency) part.fill(0.5);
  for (const Cluster& cluster : {flat_cluster(8), even_cluster(4, 4)}) {
    for (const Operation operation : all_operations) {
      const CollectiveRequest request = over_all_ranks(cluster, operation);
      for (const Algorithm algorithm : possible_algorithms(cluster, request)) {
        CAPTURE(config::name_of(algorithm));
        CAPTURE(config::name_of(operation));
        const Seconds all = time_alone(cluster, plan_by(algorithm, cluster, request), Bytes{1e12});
        const Seconds slow = time_alone(cluster, plan_by(algorithm, cluster, half, request), Bytes{1e12});
        CHECK(slow / all == doctest::Approx(2).epsilon(1e-4));
      }
    }
  }
}

TEST_CASE("a connection's cap holds each edge between nodes, as many of them as a channel has") {
  const std::string capped = "{kind: single_switch, nic: 10 GB/s, latency: 2 us, per_flow: 2 GB/s}";
  const Cluster cluster = single_gpus(4, capped);
  const CollectiveRequest request = over_all_ranks(cluster, Operation::all_reduce);
  CHECK(plan_by(Algorithm::ring, cluster, request).phases[0].limit.si() == doctest::Approx(2e9));
  // two children, a parent and the other tree's share the port: 2.5 GB/s each
  CHECK(plan_by(Algorithm::tree, cluster, request).phases[0].limit.si() == doctest::Approx(2e9));
  CHECK(plan_by(Algorithm::torus2d, cluster, request).phases[0].limit.si() == doctest::Approx(2e9));
}
