#include "collectives/nvls.hpp"

#include "collectives/algorithms.hpp"
#include "collectives/bounds.hpp"
#include "collectives/nccl_tuning.hpp"

#include <doctest/doctest.h>

using namespace trainyard;

namespace {

constexpr double mebi = 1024.0 * 1024;

Cluster hopper(int nodes = 1, int gpus = 0) { return shipped_cluster("dgx_h100", nodes, gpus); }

CollectiveRequest all_reduce_of(const Cluster& cluster) {
  return over_all_ranks(cluster, Operation::all_reduce);
}

/// How often a pattern uses each link.
std::vector<int> times_of(const CollectivePlan& plan) {
  std::vector<int> times;
  for (const LinkUse& use : link_uses(plan.patterns.front())) times.push_back(use.times);
  return times;
}

NcclShape shape_of(int ranks, int switch_lanes, int compute_capability) {
  const NcclChannels channels = nccl_channels(NcclVersion::v2_30, 18, PathType::nvlink4, compute_capability);
  return {.version = NcclVersion::v2_30,
          .operation = Operation::all_reduce,
          .ranks = ranks,
          .channels = channels.count,
          .inside = channels.each,
          .switch_lanes = switch_lanes,
          .worst_inside = PathType::nvlink4,
          .compute_capability = compute_capability};
}

NcclShape hopper_shape(int ranks) { return shape_of(ranks, 18, 90); }

Algorithm chosen(const NcclShape& shape, double size) { return nccl_choice(shape, Bytes{size}).algorithm; }

Planner planner_of(const Cluster& cluster, std::optional<Protocol> protocol, RankGroups groups) {
  return {cluster,
          {.version = NcclVersion::v2_30, .overheads = {}, .compute_capability = 90},
          {.operation = Operation::all_reduce, .groups = std::move(groups), .protocol = protocol}};
}

}  // namespace

TEST_CASE("only NVSwitches of the third generation and later add, and only for ranks of one node") {
  const Cluster two = hopper(2);
  const std::vector<Rank> all = all_ranks(two);
  const auto through = adding_switch(two, std::span(all).first(8));
  REQUIRE(through);
  CHECK(through->links == PathType::nvlink4);
  CHECK(through->lanes == 18);
  CHECK(through->latency.si() == doctest::Approx(2.5e-6));
  REQUIRE(through->ports.size() == 8);
  CHECK(link_name(two, through->ports[3].out) == "node0.gpu3->nvswitch0");
  CHECK(link_name(two, through->ports[3].in) == "node0.nvswitch0->gpu3");
  CHECK_FALSE(adding_switch(two, all));
  CHECK_FALSE(adding_switch(two, std::span(all).first(1)));
  for (const char* name : {"dgx_a100", "dgx2", "dgx1v"}) {
    const Cluster older = shipped_cluster(name, 1);
    CHECK_FALSE(adding_switch(older, all_ranks(older)));
  }
}

TEST_CASE("chunks grow with the size by NCCL's rule") {
  // eight heads with 16 channels each: a round of 16 KiB chunks moves 2 MiB
  CHECK(nvls_rounds(Bytes{1}, 128) == 1);
  CHECK(nvls_rounds(Bytes{2 * mebi}, 128) == 1);
  CHECK(nvls_rounds(Bytes{2 * mebi + 1}, 128) == 2);
  CHECK(nvls_rounds(Bytes{8 * mebi - 1}, 128) == 4);
  CHECK(nvls_rounds(Bytes{8 * mebi}, 128) == 2);  // of 32 KiB
  CHECK(nvls_rounds(Bytes{64 * mebi - 1}, 128) == 16);
  CHECK(nvls_rounds(Bytes{64 * mebi}, 128) == 8);  // of 64 KiB
  CHECK(nvls_rounds(Bytes{1024 * mebi - 1}, 128) == 128);
  CHECK(nvls_rounds(Bytes{1024 * mebi}, 128) == 64);  // of 128 KiB
}

TEST_CASE("every link carries the buffer once and a head's part of the sums once more") {
  const Cluster cluster = hopper();
  const CollectivePlan plan = plan_by(Algorithm::nvls, cluster, all_reduce_of(cluster));
  CHECK(plan.channels == 16);
  CHECK(times_of(plan) == std::vector<int>(16, 9));
  const Bytes size{64 * mebi};
  const Collective made = collective(plan, size, 0);
  REQUIRE(made.phases.size() == 1);
  const CollectivePhase& phase = made.phases.front();
  CHECK(phase.bytes.si() * phase.messages * 9 == doctest::Approx(size.si() * 9 / 8));
  CHECK(bytes_sent(phase, plan.patterns.front()).si() == doctest::Approx(size.si() * 9));

  // 32 of the 72 GPUs of a rack are heads
  const Cluster rack = shipped_cluster("gb200_nvl72", 1);
  const CollectivePlan large = plan_by(Algorithm::nvls, rack, all_reduce_of(rack));
  CHECK(large.channels == 24);
  const std::vector<int> times = times_of(large);
  CHECK(std::ranges::count(times, 33) == 2 * 32);
  CHECK(std::ranges::count(times, 32) == 2 * 40);
}

TEST_CASE("the time is that of all rounds and of two more, and no shorter than the bound") {
  const Cluster cluster = hopper();
  const CollectivePlan wire = plan_by(Algorithm::nvls, cluster, all_reduce_of(cluster));
  const auto expected = [](double size, double rounds, double step, double rate) {
    return (rounds + 2) * (step + size / rounds * 9 / 8 / rate);
  };
  const double links = 18 * 21.4e9;
  for (const auto& [size, rounds] : {std::pair{1 * mebi, 1.0}, {8 * mebi, 2.0}, {1024 * mebi, 64.0}}) {
    const Seconds time = time_alone(cluster, wire, Bytes{size});
    CHECK(time.si() == doctest::Approx(expected(size, rounds, 2.5e-6, links)).epsilon(1e-12));
    const auto bound =
        collective_bound(cluster, no_overheads(), Operation::all_reduce, all_ranks(cluster), Bytes{size});
    CHECK(time > bound);
  }
  ProtocolOverheads costs;
  costs.base[static_cast<std::size_t>(Protocol::simple)] = Seconds{1e-5};
  costs.nvls_step = Seconds{3e-6};
  costs.nvls_efficiency = 0.9;
  const CollectivePlan slower = plan_by(Algorithm::nvls, cluster, costs, all_reduce_of(cluster));
  CHECK(time_alone(cluster, slower, Bytes{8 * mebi}).si() ==
        doctest::Approx(1e-5 + expected(8 * mebi, 2, 3e-6, 0.9 * links)).epsilon(1e-12));
}

TEST_CASE("more than eight ranks copy their values no faster, and chunks of more heads one after the other") {
  const Cluster rack = shipped_cluster("gb200_nvl72", 1);
  const std::vector<Rank> all = all_ranks(rack);
  ProtocolOverheads costs;
  costs.nvls_step = Seconds{6e-6};
  costs.nvls_efficiency = 0.75;
  const auto time_of = [&](int ranks, double size) {
    CollectiveRequest request = all_reduce_of(rack);
    request.group = {all.begin(), all.begin() + ranks};
    return time_alone(rack, plan_by(Algorithm::nvls, rack, costs, request), Bytes{size}).si();
  };
  const double links = 18 * 44.4e9;
  for (const int heads : {8, 16, 32}) {
    const double size = 24.0 * heads * 64 * 128 * 1024;  // 64 rounds of chunks of 128 KiB
    const double round = 6e-6 * heads / 8 + size / 64 * 9 / 8 / (0.75 * links);
    CHECK(time_of(heads, size) == doctest::Approx((64 + 2) * round).epsilon(1e-9));
  }
  CHECK(time_of(72, 8192 * mebi) == doctest::Approx(time_of(32, 8192 * mebi)));
}

TEST_CASE("faster than any ring of the same links could be") {
  const Cluster cluster = hopper();
  const CollectiveRequest request = all_reduce_of(cluster);
  const Bytes size{8192 * mebi};
  CHECK(time_alone(cluster, plan_by(Algorithm::nvls, cluster, request), size) <
        0.7 * time_alone(cluster, plan_by(Algorithm::ring, cluster, request), size));
}

TEST_CASE("groups of one node share no link, so each takes as long as alone") {
  const Cluster cluster = hopper();
  const std::vector<Rank> all = all_ranks(cluster);
  CollectiveRequest request = all_reduce_of(cluster);
  request.group = {all.begin(), all.begin() + 4};
  const CollectivePlan alone = plan_by(Algorithm::nvls, cluster, request);
  const RankGroups others{{all.begin() + 4, all.end()}};
  request.concurrent = others;
  const CollectivePlan both = plan_by(Algorithm::nvls, cluster, request);
  CHECK(both.groups == 2);
  CHECK(both.participants == 8);
  CHECK(times_of(both) == std::vector<int>(16, 5));
  CHECK(time_alone(cluster, both, Bytes{1e8}) == time_alone(cluster, alone, Bytes{1e8}));
}

TEST_CASE("refused: other operations, other protocols, several nodes, switches that do not add") {
  const Cluster cluster = hopper();
  const auto refused = [](const Cluster& on, const CollectiveRequest& request) {
    return refusal_of(Algorithm::nvls, on, request).message;
  };
  CHECK(refused(cluster, over_all_ranks(cluster, Operation::all_gather)) ==
        "nvls cannot carry out all_gather on these 8 ranks: the algorithm does not support the operation");
  CollectiveRequest request = all_reduce_of(cluster);
  request.protocol = Protocol::ll;
  CHECK(refused(cluster, request) ==
        "nvls cannot carry out all_reduce on these 8 ranks: it has only protocol Simple");
  const Cluster two = hopper(2);
  CHECK(refused(two, all_reduce_of(two)) ==
        "nvls cannot carry out all_reduce on these 16 ranks: the ranks are on several nodes");
  const Cluster older = shipped_cluster("dgx_a100", 1);
  CHECK(refused(older, all_reduce_of(older)) ==
        "nvls cannot carry out all_reduce on these 8 ranks: no NVSwitch with NVLinks of the fourth "
        "generation or "
        "later, which adds, joins them");
  // a group on one node beside one on two
  const std::vector<Rank> all = all_ranks(two);
  const RankGroups others{{all[6], all[7], all[8], all[9]}};
  CollectiveRequest mixed = all_reduce_of(two);
  mixed.group = {all.begin(), all.begin() + 4};
  mixed.concurrent = others;
  CHECK(refused(two, mixed) ==
        "nvls cannot carry out all_reduce on these 4 ranks: the ranks are on several nodes");
}

TEST_CASE("NCCL's estimate: 25 us and the highest speed of its list that the links allow") {
  const NcclChoice through{.algorithm = Algorithm::nvls, .protocol = Protocol::simple};
  const auto rate = [&](const NcclShape& shape) {
    const Seconds latency{25e-6};
    const Bytes size{1e9};
    return size / (*nccl_time(shape, through, size) - latency) / Bandwidth{1e9};
  };
  // nine at 40 GB/s of 370.8; bus bandwidth 40 x 0.85 x 7 x 2 GB/s
  CHECK(rate(hopper_shape(8)) == doctest::Approx(476 * 8.0 / 14));
  // six at 60 GB/s, but no more than those 60 for a head
  CHECK(rate(hopper_shape(5)) == doctest::Approx(60 * 5 * 5.0 / 8));
  // nine at 80 GB/s of 721.8, but no more than 90 for a head
  CHECK(rate(shape_of(8, 18, 100)) == doctest::Approx(90 * 8 * 8.0 / 14));
  // 32 heads of 72: 33 at 20 GB/s
  CHECK(rate(shape_of(72, 18, 100)) == doctest::Approx(20 * 0.74 * 62 * 72 / 142));
  CHECK(chosen(hopper_shape(8), 1e9) == Algorithm::nvls);
  CHECK(chosen(hopper_shape(8), 1e5) == Algorithm::ring);
  CHECK(chosen(hopper_shape(5), 3e6) == Algorithm::nvls);
  CHECK(chosen(hopper_shape(5), 1e9) == Algorithm::ring);
  CHECK(chosen(shape_of(8, 18, 100), 1e11) == Algorithm::nvls);
  CHECK(chosen(hopper_shape(4), 1e9) == Algorithm::ring);
  CHECK(chosen(hopper_shape(2), 1e9) == Algorithm::ring);

  NcclShape other = hopper_shape(8);
  CHECK_FALSE(nccl_time(other, {.algorithm = Algorithm::nvls, .protocol = Protocol::ll}, Bytes{1e9}));
  other.operation = Operation::all_gather;
  CHECK_FALSE(nccl_time(other, through, Bytes{1e9}));
  other = hopper_shape(8);
  other.version = NcclVersion::v2_12;
  CHECK_FALSE(nccl_time(other, through, Bytes{1e9}));
  CHECK_FALSE(nccl_time(shape_of(8, 0, 90), through, Bytes{1e9}));
  CHECK_FALSE(nccl_time(shape_of(8, 18, 80), through, Bytes{1e9}));
}

TEST_CASE("auto takes it where NCCL would, and a ring if another protocol is demanded") {
  const Cluster cluster = hopper();
  const std::vector<Rank> all = all_ranks(cluster);
  std::vector<Pattern> patterns;
  const auto algorithm = [&](std::optional<Protocol> protocol, RankGroups groups) {
    return planner_of(cluster, protocol, std::move(groups)).plan(Bytes{1e9}, patterns).algorithm;
  };
  CHECK(algorithm({}, {all}) == Algorithm::nvls);
  CHECK(algorithm(Protocol::simple, {all}) == Algorithm::nvls);
  CHECK(algorithm(Protocol::ll, {all}) == Algorithm::ring);
  CHECK(algorithm({}, {{all.begin(), all.begin() + 4}, {all.begin() + 4, all.end()}}) == Algorithm::ring);
}

TEST_CASE("until NCCL 2.27 five sixths of the heads' speed count, since then what a switch passes on") {
  const auto bandwidth = [](NcclVersion version, int compute_capability) {
    NcclShape shape = shape_of(8, 18, compute_capability);
    shape.version = version;
    const NcclChoice nvls{Algorithm::nvls, Protocol::simple};
    const Seconds more = *nccl_time(shape, nvls, Bytes{2e9}) - *nccl_time(shape, nvls, Bytes{1e9});
    return (Bytes{1e9} / more).si() * 1e-9;
  };
  // 8 heads of 40 GB/s on Hopper, of 80 on Blackwell
  CHECK(bandwidth(NcclVersion::v2_27, 90) == doctest::Approx(8 * 40 * 5.0 / 6));
  CHECK(bandwidth(NcclVersion::v2_28, 90) == doctest::Approx(8 * 40 * 0.85));
  CHECK(bandwidth(NcclVersion::v2_27, 100) == doctest::Approx(8 * 80 * 5.0 / 6));
  CHECK(bandwidth(NcclVersion::v2_28, 100) ==
        doctest::Approx(8 * 90 * 8.0 / 14));  // held by the highest speed, 90
}
