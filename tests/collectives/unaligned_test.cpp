#include "collectives/unaligned.hpp"

#include "collectives/machines.hpp"
#include "collectives/planner.hpp"
#include "collectives/ring.hpp"

#include <doctest/doctest.h>

using namespace trainyard;

namespace {

constexpr double one_mib = 1024.0 * 1024;

UnalignedRounds rounds(Operation operation, double bytes, bool is_direct, int ranks = 12) {
  return unaligned_rounds(NcclVersion::v2_7_8, operation, ranks, Bytes{bytes}, is_direct);
}

ProtocolOverheads costs() {
  ProtocolOverheads overheads;
  for (ByProtocol<double>& row : overheads.efficiency) row = {0.2, 0.8, 1};
  return overheads;
}

Seconds ring_time_of(const Cluster& cluster, Operation operation, UnalignedRounds unaligned, Bytes size) {
  CollectiveRequest request = over_all_ranks(cluster, operation);
  request.unaligned = unaligned;
  return time_alone(cluster, ring(cluster, costs(), request), size);
}

}  // namespace

TEST_CASE("parts that are a multiple of 16 bytes are copied 16 bytes at a time") {
  CHECK(rounds(Operation::all_gather, 12 * 16 * 1000, true) == UnalignedRounds::none);
  CHECK(rounds(Operation::reduce_scatter, 8 * one_mib, false, 8) == UnalignedRounds::none);
}

TEST_CASE("an all_gather whose process drives all GPUs copies only its own part by elements") {
  CHECK(rounds(Operation::all_gather, 12 * 4 * 1001, true) == UnalignedRounds::first);
  CHECK(rounds(Operation::all_gather, 12 * 4 * 1001, false) == UnalignedRounds::all);
}

TEST_CASE("a reduce_scatter reads its unaligned input in every round") {
  CHECK(rounds(Operation::reduce_scatter, 12 * 4 * 1001, true) == UnalignedRounds::all);
  CHECK(rounds(Operation::all_reduce, 12 * 4 * 1001, true) == UnalignedRounds::none);
}

TEST_CASE("newer versions copy several elements at a time") {
  for (const NcclVersion version : {NcclVersion::none, NcclVersion::v2_12, NcclVersion::v2_30}) {
    CHECK(unaligned_rounds(version, Operation::all_gather, 12, Bytes{48e6 + 4 * 12}, false) ==
          UnalignedRounds::none);
  }
  CHECK(unaligned_rounds(NcclVersion::v2_4, Operation::all_gather, 12, Bytes{48.0 * 1001}, false) ==
        UnalignedRounds::all);
}

TEST_CASE("a slow round runs at the rate of protocol LL, the others as before") {
  const Cluster cluster = shipped_cluster("dgx2", 1, 12);
  const Bytes size{12e9};
  const double fast = ring_time_of(cluster, Operation::all_gather, UnalignedRounds::none, size).si();
  // eleven rounds; a slow one takes five times as long
  CHECK(ring_time_of(cluster, Operation::all_gather, UnalignedRounds::first, size).si() ==
        doctest::Approx(fast * 15 / 11).epsilon(1e-3));
  CHECK(ring_time_of(cluster, Operation::all_gather, UnalignedRounds::all, size).si() ==
        doctest::Approx(fast * 5).epsilon(1e-3));
}

TEST_CASE("LL128 takes twice as many lines for unaligned parts: 62 instead of 47") {
  const Cluster cluster = shipped_cluster("dgx2", 1, 12);
  CollectiveRequest request = over_all_ranks(cluster, Operation::all_gather);
  request.protocol = Protocol::ll128;
  const Seconds fast = time_alone(cluster, ring(cluster, costs(), request), Bytes{12e9});
  request.unaligned = UnalignedRounds::all;
  CHECK(time_alone(cluster, ring(cluster, costs(), request), Bytes{12e9}) / fast ==
        doctest::Approx(62.0 / 47).epsilon(1e-3));
}

TEST_CASE("only sizes taken as they are have slow rounds, with Simple and one process only the first") {
  const Cluster cluster = shipped_cluster("dgx2", 1, 12);
  const auto plan_of = [&](PartAlignment parts, Protocol protocol, double bytes) {
    Planner planner(cluster, {.version = NcclVersion::v2_7_8, .overheads = costs(), .compute_capability = 70},
                    {.operation = Operation::all_gather,
                     .groups = {all_ranks(cluster)},
                     .algorithm = Algorithm::ring,
                     .protocol = protocol,
                     .parts = parts,
                     .gpus_per_process = 12});
    std::vector<Pattern> patterns;
    return planner.plan(Bytes{bytes}, patterns);
  };
  const double odd = 12 * 4 * 1e6 + 12 * 4;
  CHECK(plan_of(PartAlignment::as_sized, Protocol::simple, odd).phases.size() == 2);
  CHECK(plan_of(PartAlignment::as_sized, Protocol::simple, 12 * 16e6).phases.size() == 1);
  CHECK(plan_of(PartAlignment::as_sized, Protocol::ll, odd).unaligned == UnalignedRounds::none);
  CHECK(plan_of(PartAlignment::whole, Protocol::simple, odd).phases.size() == 1);
  CHECK(plan_of(PartAlignment::as_sized, Protocol::ll128, odd).unaligned == UnalignedRounds::all);
}
