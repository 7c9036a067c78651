#include "collectives/bounds.hpp"

#include "collectives/algorithms.hpp"

#include <doctest/doctest.h>
#include <rapidcheck.h>

using namespace trainyard;

namespace {

Cluster some_cluster() {
  switch (*rc::gen::inRange(0, 9)) {
    case 0:
      return flat_cluster(*rc::gen::inRange(2, 33));
    case 1:
      return even_cluster(*rc::gen::inRange(1, 5), *rc::gen::inRange(2, 9));
    case 2:
      return shipped_cluster("dgx1v", *rc::gen::inRange(1, 4));
    case 3:
      return shipped_cluster("dgx2", *rc::gen::inRange(1, 3));
    case 4:
      return even_cluster(8, 2,
                          "{kind: fat_tree, nic: 10 GB/s, latency: 2 us, nodes_per_leaf: 2, "
                          "oversubscription: 4}");
    case 5:
      return single_gpus(16,
                         "{kind: torus2d, nic: 40 GB/s, latency: 2 us, hop_latency: 0 us, "
                         "dimensions: [4, 4], link: 10 GB/s}");
    case 6:
      return shipped_cluster("dgx_h100", *rc::gen::inRange(1, 3));
    case 7:
      return even_cluster(8, 2,
                          "{kind: dragonfly, nic: 10 GB/s, latency: 2 us, hop_latency: 1 us, groups: 2, "
                          "routers_per_group: 2, nodes_per_router: 2, local_link: 10 GB/s, "
                          "global_link: 5 GB/s}");
    default:
      return even_cluster(8, 2,
                          "{kind: rail_optimised, nic: 10 GB/s, latency: 2 us, hop_latency: 1 us, "
                          "nodes_per_rail: 2, oversubscription: 4}");
  }
}

Bytes some_size() { return Bytes{static_cast<double>(*rc::gen::inRange(1, 1 << 30))}; }

/// Any operation over some of the ranks.
CollectiveRequest some_request(const Cluster& cluster) {
  CollectiveRequest request{.operation = *rc::gen::elementOf(all_operations), .group = {}};
  for (const Rank rank : all_ranks(cluster)) {
    if (*rc::gen::inRange(0, 4) > 0) request.group.push_back(rank);
  }
  if (request.group.size() < 2) request.group = {Rank{0}, Rank{1}};
  request.root = *rc::gen::elementOf(request.group);
  return request;
}

}  // namespace

TEST_CASE("no algorithm beats the bound of its operation, on any fabric and group") {
  CHECK(rc::check("time >= bound", [] {
    const Cluster cluster = some_cluster();
    const CollectiveRequest request = some_request(cluster);
    const Bytes size = some_size();
    const Seconds bound = collective_bound(cluster, no_overheads(), request.operation, request.group, size);
    RC_ASSERT(bound > Seconds{});
    const std::vector<Algorithm> possible = possible_algorithms(cluster, request);
    RC_ASSERT(!possible.empty());
    for (const Algorithm algorithm : possible) {
      const Seconds time = time_alone(cluster, plan_by(algorithm, cluster, request), size);
      RC_LOG() << config::name_of(algorithm) << ' ' << config::name_of(request.operation) << ' '
               << time / bound << '\n';
      RC_ASSERT(time >= bound * (1 - 1e-12));
    }
  }));
}

TEST_CASE("what the bound is, by hand") {
  const Cluster flat = flat_cluster(8);
  const auto bound = [](const Cluster& cluster, Operation operation, double size) {
    return collective_bound(cluster, no_overheads(), operation, all_ranks(cluster), Bytes{size}).si();
  };
  // the NICs, at 10 GB/s
  CHECK(bound(flat, Operation::all_reduce, 8e9) == doctest::Approx(1.4));
  CHECK(bound(flat, Operation::all_gather, 8e9) == doctest::Approx(0.7));
  CHECK(bound(flat, Operation::reduce_scatter, 8e9) == doctest::Approx(0.7));
  CHECK(bound(flat, Operation::all_to_all, 8e9) == doctest::Approx(0.7));
  CHECK(bound(flat, Operation::broadcast, 8e9) == doctest::Approx(0.8));
  CHECK(bound(flat, Operation::gather, 8e9) == doctest::Approx(0.7));
  CHECK(bound(flat, Operation::scatter, 8e9) == doctest::Approx(0.7));
  CHECK(bound(flat, Operation::send_recv, 8e9) == doctest::Approx(0.8));
  // one hop
  CHECK(bound(flat, Operation::all_reduce, 1) == doctest::Approx(5e-6));
  CHECK(bound(flat_cluster(1), Operation::all_reduce, 1e9) == 0);
  // four leaves of 2 nodes x 2 NICs: a quarter of 40 GB/s leaves each, 12/16 of 4 ranks' bytes
  const Cluster narrow = even_cluster(
      8, 2, "{kind: fat_tree, nic: 10 GB/s, latency: 2 us, nodes_per_leaf: 2, oversubscription: 4}");
  CHECK(bound(narrow, Operation::all_to_all, 1e9) == doctest::Approx(3e9 / 10e9));
  CHECK(bound(narrow, Operation::all_reduce, 1e9) == doctest::Approx(1.5e9 / 10e9));
  // 8 links cross the middle of a 4 x 4 torus
  const Cluster torus = single_gpus(16,
                                    "{kind: torus2d, nic: 1000 GB/s, latency: 2 us, hop_latency: 1 us, "
                                    "dimensions: [4, 4], link: 10 GB/s}");
  CHECK(bound(torus, Operation::all_to_all, 16e9) == doctest::Approx(64e9 / 80e9));
}

TEST_CASE("a DGX-2 is bound by its GPUs' links, two of one GPU each by their nodes' NICs") {
  const Cluster one = shipped_cluster("dgx2", 1);
  const std::vector<Rank> pair{Rank{0}, Rank{1}};
  CHECK(collective_bound(one, no_overheads(), Operation::all_reduce, pair, Bytes{1e9}) <
        collective_bound(one, no_overheads(), Operation::all_reduce, all_ranks(one), Bytes{1e9}));
  const Cluster two = shipped_cluster("dgx2", 2);
  const std::vector<Rank> apart{Rank{0}, Rank{16}};
  CHECK(collective_bound(two, no_overheads(), Operation::all_reduce, apart, Bytes{1e9}).si() ==
        doctest::Approx(1e9 / 100e9).epsilon(1e-9));
}
