#include "collectives/host_libraries.hpp"

#include "collectives/algorithms.hpp"

#include <doctest/doctest.h>
#include <limits>

using namespace trainyard;

namespace {

constexpr auto mpich = CommunicationLibrary::mpich;
constexpr auto open_mpi = CommunicationLibrary::open_mpi;
constexpr auto gloo = CommunicationLibrary::gloo;

/// Messages of an all_reduce whose sums take `sums`.
Seconds time_with_sums(Algorithm algorithm, const Cluster& cluster, Bytes size, Bandwidth sums) {
  ProtocolOverheads overheads;
  overheads.sums = sums;
  const CollectiveRequest request = over_all_ranks(cluster, Operation::all_reduce);
  return time_alone(cluster, plan_by(algorithm, cluster, overheads, request), size);
}

}  // namespace

TEST_CASE("MPICH's thresholds: short messages in few rounds, long ones in parts") {
  CHECK(host_choice(mpich, Operation::all_reduce, 8, Bytes{2048}) == Algorithm::recursive_doubling);
  CHECK(host_choice(mpich, Operation::all_reduce, 8, Bytes{2052}) == Algorithm::halving_doubling);
  // fewer values than ranks of the power of two below
  CHECK(host_choice(mpich, Operation::all_reduce, 1024, Bytes{4092}) == Algorithm::recursive_doubling);
  CHECK(host_choice(mpich, Operation::all_reduce, 1024, Bytes{4096}) == Algorithm::halving_doubling);
  CHECK(host_choice(mpich, Operation::broadcast, 8, Bytes{12284}) == Algorithm::binomial);
  CHECK(host_choice(mpich, Operation::broadcast, 8, Bytes{12288}) == Algorithm::scatter_allgather);
  CHECK(host_choice(mpich, Operation::broadcast, 7, Bytes{1e9}) == Algorithm::binomial);
  CHECK(host_choice(mpich, Operation::reduce, 8, Bytes{1e6}) == Algorithm::halving_doubling);
  CHECK(host_choice(mpich, Operation::all_gather, 8, Bytes{524284}) == Algorithm::recursive_doubling);
  CHECK(host_choice(mpich, Operation::all_gather, 8, Bytes{524288}) == Algorithm::ring);
  CHECK(host_choice(mpich, Operation::all_gather, 6, Bytes{1000}) == Algorithm::ring);
  CHECK(host_choice(mpich, Operation::reduce_scatter, 8, Bytes{1000}) == Algorithm::halving_doubling);
}

TEST_CASE("Open MPI's thresholds: recursive doubling below 10 kB, then a ring") {
  CHECK(host_choice(open_mpi, Operation::all_reduce, 8, Bytes{9996}) == Algorithm::recursive_doubling);
  CHECK(host_choice(open_mpi, Operation::all_reduce, 8, Bytes{10000}) == Algorithm::ring);
  CHECK(host_choice(open_mpi, Operation::broadcast, 8, Bytes{370724}) == Algorithm::binomial);
  CHECK(host_choice(open_mpi, Operation::broadcast, 8, Bytes{370728}) == Algorithm::chain);
  CHECK(host_choice(open_mpi, Operation::reduce_scatter, 8, Bytes{262144}) == Algorithm::halving_doubling);
  CHECK(host_choice(open_mpi, Operation::reduce_scatter, 6, Bytes{1000}) == Algorithm::ring);
}

TEST_CASE("Gloo sums around rings and broadcasts along a binomial tree") {
  CHECK(host_choice(gloo, Operation::all_reduce, 8, Bytes{8}) == Algorithm::ring);
  CHECK(host_choice(gloo, Operation::broadcast, 8, Bytes{1e9}) == Algorithm::binomial);
}

TEST_CASE("every choice can be carried out, at any number of ranks") {
  for (int ranks = 2; ranks <= 33; ++ranks) {
    const Cluster cluster = flat_cluster(ranks);
    for (const CommunicationLibrary library : {mpich, open_mpi, gloo}) {
      for (const Operation operation : {Operation::all_reduce, Operation::reduce_scatter,
                                        Operation::all_gather, Operation::broadcast, Operation::reduce}) {
        const CollectiveRequest request = over_all_ranks(cluster, operation);
        Planner planner(cluster, {.library = library, .overheads = {}},
                        {.operation = operation, .groups = {request.group}});
        for (const double size : {4.0, 4096.0, 1e5, 1e8}) {
          CAPTURE(ranks);
          CAPTURE(config::name_of(library));
          CAPTURE(config::name_of(operation));
          std::vector<Pattern> patterns;
          CHECK(planner.plan(Bytes{size}, patterns).algorithm ==
                host_choice(library, operation, ranks, Bytes{size}));
        }
      }
    }
  }
}

TEST_CASE("binomial trees equal their formula") {
  CHECK(check_formula(Algorithm::binomial) == 2 * 63);
  CHECK(check_formula(Algorithm::scatter_allgather) == 63);
}

TEST_CASE("a rank sums what it has received before it sends again: the closed forms of the time it takes") {
  constexpr Bytes size{1e8};
  constexpr Bandwidth sums{1e9};
  constexpr Bandwidth none{std::numeric_limits<double>::infinity()};
  const double whole = (size / sums).si();
  for (const int ranks : {2, 8, 16}) {
    const Cluster cluster = flat_cluster(ranks);
    const auto longer = [&](Algorithm algorithm) {
      return (time_with_sums(algorithm, cluster, size, sums) - time_with_sums(algorithm, cluster, size, none))
          .si();
    };
    CAPTURE(ranks);
    const double parts = (ranks - 1.0) / ranks;
    CHECK(longer(Algorithm::ring) == doctest::Approx(parts * whole).epsilon(1e-12));
    CHECK(longer(Algorithm::halving_doubling) == doctest::Approx(parts * whole).epsilon(1e-12));
    CHECK(longer(Algorithm::recursive_doubling) ==
          doctest::Approx((std::bit_width(static_cast<unsigned>(ranks)) - 1) * whole).epsilon(1e-12));
    // both rounds receive a part from every other rank, and only the first one sums
    CHECK(longer(Algorithm::direct) == doctest::Approx(parts * whole).epsilon(1e-12));
  }
}

TEST_CASE("a chunked tree sums while it receives: its edges are no faster than the sums") {
  const Cluster cluster = flat_cluster(8);
  constexpr Bytes size{1e9};
  const double slow = time_with_sums(Algorithm::chain, cluster, size, Bandwidth{1e9}).si();
  CHECK(slow == doctest::Approx(1.0).epsilon(0.05));
  CHECK(time_with_sums(Algorithm::chain, cluster, size, Bandwidth{1e12}) ==
        time_with_sums(Algorithm::chain, cluster, size, Bandwidth{std::numeric_limits<double>::infinity()}));
}

TEST_CASE("a tree's rank adds the data of all its children: the whole buffer, at the rate of its sums") {
  constexpr Bytes size{1e9};
  constexpr Bandwidth sums{1e9};
  for (const int ranks : {2, 4, 8, 9, 33}) {
    const Cluster cluster = flat_cluster(ranks);
    CAPTURE(ranks);
    // with two ranks, each adds one half
    const double least = ranks == 2 ? 0.5 : 1;
    CHECK(time_with_sums(Algorithm::tree, cluster, size, sums).si() == doctest::Approx(least).epsilon(0.06));
    CHECK(time_with_sums(Algorithm::hierarchical_tree, cluster, size, sums).si() ==
          doctest::Approx(least).epsilon(0.06));
  }
}

TEST_CASE("a library that sums while it receives takes the longer of both, in the rounds that sum") {
  constexpr Bytes size{1e9};
  ProtocolOverheads overheads;
  overheads.sums_beside = true;
  const Cluster cluster = flat_cluster(8);
  const auto time = [&](double rate, Operation operation) {
    overheads.sums = Bandwidth{rate};
    return time_alone(cluster,
                      plan_by(Algorithm::ring, cluster, overheads, over_all_ranks(cluster, operation)), size)
        .si();
  };
  // ports of 10 GB/s
  const double gather = 0.1 * 7 / 8;
  CHECK(time(20e9, Operation::all_reduce) == doctest::Approx(2 * gather).epsilon(1e-3));
  CHECK(time(1e9, Operation::all_reduce) == doctest::Approx(10 * gather + gather).epsilon(1e-3));
  CHECK(time(1e9, Operation::reduce_scatter) == doctest::Approx(10 * gather).epsilon(1e-3));
  CHECK(time(1e9, Operation::all_gather) == doctest::Approx(gather).epsilon(1e-3));
}
