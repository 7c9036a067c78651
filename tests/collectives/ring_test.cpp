#include "collectives/ring.hpp"

#include "collectives/algorithms.hpp"
#include "collectives/data_flow.hpp"

#include <doctest/doctest.h>
#include <rapidcheck.h>

using namespace trainyard;

TEST_CASE("the textbook formula: two ranks exchange their halves twice") {
  const Seconds time = ring_time(Operation::all_reduce, 2, Bytes{1e9}, Bandwidth{10e9}, Seconds{1e-6});
  CHECK(time.si() == doctest::Approx(0.1 + 2e-6).epsilon(1e-12));
}

TEST_CASE("rings: 25 MiB at 12.5 GB/s and 5 us, by hand") {
  const std::pair<int, double> by_hand[] = {
      {8, 3.740016e-3}, {64, 4.758768e-3}, {256, 6.72792e-3}, {1024, 14.420208e-3}};
  for (const auto& [ranks, seconds] : by_hand) {
    const Seconds time =
        ring_time(Operation::all_reduce, ranks, Bytes{25.0 * 1024 * 1024}, Bandwidth{12.5e9}, Seconds{5e-6});
    CHECK(time.si() == doctest::Approx(seconds).epsilon(1e-9));
  }
}

TEST_CASE("a ring on one rank costs nothing and has no phases") {
  CHECK(ring_time(Operation::all_reduce, 1, Bytes{1e9}, Bandwidth{10e9}, Seconds{1e-6}) == Seconds{});
  const Cluster cluster = flat_cluster(1);
  CHECK(ring(cluster, no_overheads(), over_all_ranks(cluster, Operation::all_reduce)).phases.empty());
}

TEST_CASE("rings equal their formula at 2 to 64 ranks") { CHECK(check_formula(Algorithm::ring) == 5 * 63); }

TEST_CASE("every rank of a ring sends 2(n-1)/n of its buffer, whatever the number of channels") {
  CHECK(rc::check("bytes sent", [] {
    const Cluster cluster = shipped_cluster("dgx2", *rc::gen::inRange(1, 5));
    const double size = *rc::gen::inRange(1, 1 << 30);
    const CollectivePlan plan = ring(cluster, no_overheads(), over_all_ranks(cluster, Operation::all_reduce));
    RC_ASSERT(plan.channels > 1);
    const Traffic traffic = traffic_of(cluster, plan, Bytes{size});
    const double expected = size * 2 * (cluster.ranks() - 1) / cluster.ranks();
    for (int rank = 0; rank < cluster.ranks(); ++rank) {
      RC_ASSERT(std::abs(traffic.sent[at(rank)] - expected) < 1e-9 * size);
      RC_ASSERT(std::abs(traffic.received[at(rank)] - expected) < 1e-9 * size);
    }
  }));
}

TEST_CASE("rings deliver: every rank has all sums, its own sum, or all parts") {
  for (int ranks = 2; ranks <= 9; ++ranks) {
    const Cluster cluster = flat_cluster(ranks);
    for (const Operation operation :
         {Operation::all_reduce, Operation::reduce_scatter, Operation::all_gather}) {
      const CollectivePlan plan = ring(cluster, no_overheads(), over_all_ranks(cluster, operation));
      const auto has =
          parts_after_ring(plan.patterns[0], 0, ranks, plan.phases[0].messages, reduces(operation));
      REQUIRE(has.size() == at(ranks));
      for (const std::set<int>& parts : has)
        CHECK(parts.size() == (operation == Operation::reduce_scatter ? 1 : at(ranks)));
    }
    for (const Operation operation : {Operation::broadcast, Operation::reduce}) {
      for (int root = 0; root < ranks; ++root) {
        const CollectivePlan plan = ring(cluster, no_overheads(), over_all_ranks(cluster, operation, root));
        CHECK(tree_delivers(plan.patterns[0], 1, operation, ranks, root));
      }
    }
  }
}

TEST_CASE("links used several times in a round are counted so") {
  Pattern pattern;
  const LinkId way[] = {LinkId{4}, LinkId{2}};
  pattern.add_edge({Rank{0}, Rank{1}}, way);
  pattern.add_edge({Rank{1}, Rank{2}}, std::span(way).first(1));
  const std::vector<LinkUse> uses = link_uses(pattern);
  REQUIRE(uses.size() == 2);
  CHECK(uses[0].link == LinkId{2});
  CHECK(uses[0].times == 1);
  CHECK(uses[1].times == 2);
  const std::vector<Bandwidth> capacities(5, Bandwidth{10e9});
  CHECK(lockstep_rate(uses, capacities) == Bandwidth{5e9});
}

TEST_CASE("DGX-2, 12 GPUs: within 4 % of the measured bus bandwidth at 128 MiB and 1 GiB") {
  // nccl-tests on a DGX-2, jgwohlbier's fork, README; 12 of 16 GPUs. Steps as in NVIDIA/nccl v2.7.8.
  const std::pair<double, double> measured[] = {{134217728, 120.17}, {1073741824, 123.14}};
  const Cluster cluster = shipped_cluster("dgx2", 1, 12);
  ProtocolOverheads overheads;
  overheads.step[static_cast<std::size_t>(PathType::nvlink2)].fill(Seconds{3.4e-6});
  const CollectivePlan plan = ring(cluster, overheads, over_all_ranks(cluster, Operation::all_reduce));
  for (const auto& [size, rate] : measured) {
    const Seconds time = time_alone(cluster, plan, Bytes{size});
    CHECK(busbw(Operation::all_reduce, 12, Bytes{size}, time).si() / 1e9 ==
          doctest::Approx(rate).epsilon(0.04));
  }
}

TEST_CASE("a chunk crosses the network 2N(n-1)/n times in a ring over N nodes") {
  const Cluster cluster = shipped_cluster("dgx2", 4);
  ProtocolOverheads overheads;
  for (ByProtocol<Seconds>& step : overheads.step) step.fill(Seconds{1e-3});
  overheads.step[static_cast<std::size_t>(PathType::network)].fill(Seconds{2.0});
  const CollectivePlan plan = ring(cluster, overheads, over_all_ranks(cluster, Operation::all_reduce));
  const double total = plan.phases[0].latency.si() * plan.phases[0].messages;
  const double crossings = 2.0 * 4 * 63 / 64;
  CHECK(plan.phases[0].messages == 126);
  CHECK(total == doctest::Approx(crossings * 2.0 + (126 - crossings) * 1e-3).epsilon(1e-4));
}

TEST_CASE("rings cannot carry out what is no ring's, and not where NVLinks hold none") {
  const Cluster flat = flat_cluster(4);
  const Said all_to_all = refusal_of(Algorithm::ring, flat, over_all_ranks(flat, Operation::all_to_all));
  CHECK(all_to_all.message.starts_with("ring cannot carry out all_to_all on these 4 ranks: "));
  CHECK(all_to_all.hint == "algorithm: direct");
  const Cluster five = shipped_cluster("dgx1v", 1, 5);
  const Said nvlinks = refusal_of(Algorithm::ring, five, over_all_ranks(five, Operation::all_reduce));
  CHECK(nvlinks.message == "ring cannot carry out all_reduce on these 5 ranks: " + no_ring(5));
  CHECK(nvlinks.hint == "algorithm: chain, tree, halving_doubling, recursive_doubling, direct");
}

TEST_CASE("RCCL's rings on two nodes of MI300X carry a lane of xGMI for each GPU") {
  const Cluster cluster = shipped_cluster("server_mi300x", 2);
  const CollectivePlan plan = ring(cluster, no_overheads(), over_all_ranks(cluster, Operation::all_reduce));
  CHECK(plan.channels == 8);
  const Bytes size{16e9};
  const Bandwidth lane{45.2e9};  // below the 48 GB/s of a NIC
  const double latencies = time_alone(cluster, plan, Bytes{1e-6}).si();
  const double expected = latencies + size.si() * 2 * 15 / 16 / (8 * lane.si());
  CHECK(time_alone(cluster, plan, size).si() == doctest::Approx(expected).epsilon(1e-9));
}
