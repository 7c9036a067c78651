#include "collectives/nccl_tuning.hpp"

#include <cmath>
#include <doctest/doctest.h>
#include <rapidcheck.h>
#include <utility>
#include <vector>

using namespace trainyard;

namespace {

constexpr double mib = 1024.0 * 1024;

NcclShape in_one_node(NcclVersion version, int ranks, int rings, PathType path, int compute_capability) {
  const NcclChannels channels = nccl_channels(version, rings, path, compute_capability);
  return {.version = version,
          .operation = Operation::all_reduce,
          .ranks = ranks,
          .channels = channels.count,
          .inside = channels.each,
          .worst_inside = path,
          .compute_capability = compute_capability};
}

/// Rings of the cube mesh, by number of V100; tests/platform finds them.
int rings_of_v100(int ranks) {
  const int rings[] = {0, 0, 1, 2, 4, 0, 2, 4, 6};
  return rings[ranks];
}

NcclShape v100(NcclVersion version, int ranks) {
  return in_one_node(version, ranks, rings_of_v100(ranks), PathType::nvlink2, 70);
}

NcclShape a100(int ranks) { return in_one_node(NcclVersion::v2_30, ranks, 12, PathType::nvlink3, 80); }

/// 16 GPUs on two nodes with one 100 Gb/s NIC each.
NcclShape on_two_nodes(NcclVersion version, PathType to_nic) {
  return {.version = version,
          .operation = Operation::all_reduce,
          .ranks = 16,
          .nodes = 2,
          .channels = 1,
          .inside = Bandwidth{24e9},
          .between = Bandwidth{12e9},
          .worst_inside = PathType::nvlink2,
          .worst_to_nic = to_nic,
          .compute_capability = 70};
}

/// The smallest size, in MiB, from which rings use Simple.
double first_simple_mib(const NcclShape& shape) {
  double below = 1;
  double above = 1 << 30;
  while (above - below > 1) {
    const double middle = std::floor((below + above) / 2);
    const bool is_simple = nccl_choice(shape, Bytes{middle}, Algorithm::ring).protocol == Protocol::simple;
    (is_simple ? above : below) = middle;
  }
  return above / mib;
}

}  // namespace

TEST_CASE("protocol Simple begins at the sizes worked out from NCCL's tables by hand") {
  // Rings of LL128 and Simple cost the same if the differences in latency and bandwidth cancel: 2(n-1)/n of
  // the size over 0.92 of the bus and over all of it, as long as no limit per channel is reached.
  for (const int ranks : {3, 4, 6, 7, 8}) {
    const double bus = rings_of_v100(ranks) * 21e9;
    const double latencies = (8.4 - 10) * 1e-6 + 2 * (ranks - 1) * (3.4 - 1.9) * 1e-6;
    const double per_byte = 2.0 * (ranks - 1) / ranks * (1 / (0.92 * bus) - 1 / bus);
    CAPTURE(ranks);
    CHECK(first_simple_mib(v100(NcclVersion::v2_7_8, ranks)) ==
          doctest::Approx(latencies / per_byte / mib).epsilon(1e-6));
  }
}

TEST_CASE("protocol Simple begins on V100s at the sizes that the published study gives") {
  const double given[] = {0, 0, 0, 1.6, 4.6, 0, 3.8, 8.9, 15.4};
  for (const int ranks : {3, 4, 6, 7, 8}) {
    CAPTURE(ranks);
    CHECK(first_simple_mib(v100(NcclVersion::v2_7_8, ranks)) == doctest::Approx(given[ranks]).epsilon(0.05));
  }
  const NcclShape dgx2 = in_one_node(NcclVersion::v2_7_8, 12, 6, PathType::nvlink2, 70);
  CHECK(first_simple_mib(dgx2) == doctest::Approx(22.6).epsilon(0.05));
}

TEST_CASE("protocol Simple begins on A100s at the sizes that the published study gives") {
  const double given[] = {0, 0, 0, 0, 0, 10.4, 14.6, 18.8, 22.8};
  for (int ranks = 5; ranks <= 8; ++ranks) {
    CAPTURE(ranks);
    CHECK(first_simple_mib(a100(ranks)) == doctest::Approx(given[ranks]).epsilon(0.03));
  }
}

TEST_CASE("with the tables of 2.12 Simple begins on V100s between the sizes where the measured times break") {
  // vTrain's times on 3, 4, 6, 7 and 8 V100: the whole MiB before which they leave LL128's slope.
  const double last[] = {0, 0, 0, 1, 4, 0, 3, 8, 13};
  for (const int ranks : {3, 4, 6, 7, 8}) {
    CAPTURE(ranks);
    const double found = first_simple_mib(v100(NcclVersion::v2_12, ranks));
    CHECK(found > last[ranks]);
    CHECK(found <= last[ranks] + 1);
  }
}

TEST_CASE("measured times break where the tables say, on a DGX-2 and on five and eight A100") {
  const double dgx2 = first_simple_mib(in_one_node(NcclVersion::v2_7_8, 12, 6, PathType::nvlink2, 70));
  CHECK(dgx2 > 16);
  CHECK(dgx2 <= 32);
  CHECK(first_simple_mib(a100(5)) > 10);
  CHECK(first_simple_mib(a100(5)) <= 11);
  CHECK(first_simple_mib(a100(8)) > 23);
  CHECK(first_simple_mib(a100(8)) <= 24);
}

TEST_CASE(
    "the tables of 2.6 switch where the measured times on 12 GPUs of a DGX-2 break, for all operations") {
  NcclShape shape = in_one_node(NcclVersion::v2_6, 12, 6, PathType::nvlink2, 70);
  const auto protocol_at = [&](Operation operation, double bytes) {
    shape.operation = operation;
    return nccl_choice(shape, Bytes{bytes}).protocol;
  };
  CHECK(protocol_at(Operation::all_reduce, mib) == Protocol::ll);
  CHECK(protocol_at(Operation::all_reduce, 2 * mib) == Protocol::ll128);
  CHECK(protocol_at(Operation::all_reduce, 16 * mib) == Protocol::ll128);
  CHECK(protocol_at(Operation::all_reduce, 32 * mib) == Protocol::simple);
  CHECK(protocol_at(Operation::broadcast, mib / 16) == Protocol::ll);
  CHECK(protocol_at(Operation::broadcast, mib / 8) == Protocol::ll128);
  CHECK(protocol_at(Operation::all_gather, 1048560) == Protocol::ll);
  CHECK(protocol_at(Operation::all_gather, 2097120) == Protocol::ll128);
  CHECK(protocol_at(Operation::all_gather, 33554400) == Protocol::ll128);
  CHECK(protocol_at(Operation::all_gather, 67108848) == Protocol::simple);
}

TEST_CASE("2.6 estimates times by its own table") {
  const NcclShape shape = in_one_node(NcclVersion::v2_6, 12, 6, PathType::nvlink2, 70);
  const auto estimate = [&](Protocol protocol) {
    return nccl_time(shape, {Algorithm::ring, protocol}, Bytes{12e6})->si() * 1e6;
  };
  // 22 steps and 22e6 bytes at 126 GB/s, a quarter of it, and 100 GB/s
  CHECK(estimate(Protocol::simple) == doctest::Approx(8.4 + 22 * 5.7 + 22e6 / 126e3));
  CHECK(estimate(Protocol::ll) == doctest::Approx(3.6 + 22 * 0.4 + 22e6 / 31.5e3));
  CHECK(estimate(Protocol::ll128) == doctest::Approx(3.6 + 22 * 2.5 + 22e6 / 100e3));
  // every step of several nodes counts as one between them
  const NcclShape two = on_two_nodes(NcclVersion::v2_6, PathType::phb);
  CHECK(nccl_time(two, {Algorithm::ring, Protocol::simple}, Bytes{16e6})->si() * 1e6 ==
        doctest::Approx(8.4 + 30 * 6.6 + 30e6 / 12e3));
  CHECK_FALSE(nccl_time(a100(8), {Algorithm::ring, Protocol::ll128}, Bytes{1e6}) == std::nullopt);
  NcclShape ampere = a100(8);
  ampere.version = NcclVersion::v2_6;
  CHECK(nccl_time(ampere, {Algorithm::ring, Protocol::ll128}, Bytes{1e6}) == std::nullopt);
}

TEST_CASE("protocols come in the order of their bandwidths as sizes grow on a ring") {
  CHECK(rc::check("LL, LL128, Simple", [] {
    const auto version = *rc::gen::element(NcclVersion::v2_4, NcclVersion::v2_6, NcclVersion::v2_7_8,
                                           NcclVersion::v2_12, NcclVersion::v2_30);
    const int capability = *rc::gen::element(60, 70, 75, 80, 90, 100);
    const auto path =
        *rc::gen::element(PathType::nvlink2, PathType::nvlink3, PathType::pix, PathType::phb, PathType::sys);
    NcclShape shape =
        in_one_node(version, *rc::gen::inRange(2, 17), *rc::gen::inRange(1, 13), path, capability);
    shape.operation = *rc::gen::element(Operation::all_reduce, Operation::all_gather,
                                        Operation::reduce_scatter, Operation::broadcast, Operation::reduce);
    Protocol before = Protocol::ll;
    for (double size = 1; size < 1e10; size *= 1.7) {
      const Protocol now = nccl_choice(shape, Bytes{size}, Algorithm::ring).protocol;
      RC_ASSERT(now >= before);
      before = now;
    }
    RC_ASSERT(before == Protocol::simple);
  }));
}

TEST_CASE("NCCL takes what it believes to be the fastest") {
  CHECK(rc::check("least time", [] {
    const auto version =
        *rc::gen::element(NcclVersion::v2_6, NcclVersion::v2_7_8, NcclVersion::v2_12, NcclVersion::v2_30);
    NcclShape shape = on_two_nodes(version, *rc::gen::element(PathType::pix, PathType::phb));
    shape.nodes = *rc::gen::inRange(1, 9);
    shape.ranks = shape.nodes * *rc::gen::inRange(2, 9);
    shape.cpu = *rc::gen::element(CpuVendor::intel, CpuVendor::amd, CpuVendor::power);
    const Bytes size{std::exp2(*rc::gen::inRange(0, 34))};
    const Seconds chosen = nccl_time(shape, nccl_choice(shape, size), size).value();
    for (const Algorithm algorithm : {Algorithm::ring, Algorithm::tree}) {
      for (const Protocol protocol : {Protocol::ll, Protocol::ll128, Protocol::simple})
        RC_ASSERT(chosen <= nccl_time(shape, {algorithm, protocol}, size).value_or(chosen));
    }
  }));
}

TEST_CASE("LL128 needs NVLink on every path inside nodes and PCIe switches to the NIC") {
  const Bytes size{2 * mib};
  const NcclChoice ll128{Algorithm::ring, Protocol::ll128};
  const auto is_considered = [&](const NcclShape& shape) {
    return nccl_time(shape, ll128, size).has_value();
  };
  CHECK(is_considered(v100(NcclVersion::v2_7_8, 8)));
  CHECK_FALSE(is_considered(in_one_node(NcclVersion::v2_7_8, 8, 1, PathType::pix, 70)));
  CHECK(is_considered(on_two_nodes(NcclVersion::v2_7_8, PathType::pxb)));
  CHECK_FALSE(is_considered(on_two_nodes(NcclVersion::v2_7_8, PathType::phb)));
  // Only GPUs it was tested on; since 2.30 all from Volta on.
  CHECK_FALSE(is_considered(in_one_node(NcclVersion::v2_12, 2, 1, PathType::nvlink2, 75)));
  CHECK(is_considered(in_one_node(NcclVersion::v2_30, 2, 1, PathType::nvlink2, 75)));
  CHECK_FALSE(is_considered(in_one_node(NcclVersion::v2_30, 4, 2, PathType::nvlink1, 60)));
}

TEST_CASE("2.4 leaves LL at 64 bytes per thread, channel and rank, 32 before Volta, twice that on nodes") {
  const auto switches_at = [](const NcclShape& shape, double size) {
    return nccl_choice(shape, Bytes{size}).protocol == Protocol::ll &&
           nccl_choice(shape, Bytes{size + 1}).protocol == Protocol::simple;
  };
  // Measured: a break after 32 KiB on two RTX 2080 Ti, after 1 MiB on eight V100.
  CHECK(switches_at(in_one_node(NcclVersion::v2_4, 2, 1, PathType::staged, 75), 16384 * 2));
  CHECK(switches_at(v100(NcclVersion::v2_4, 8), 16384.0 * 8 * 12));
  CHECK(switches_at(in_one_node(NcclVersion::v2_4, 2, 1, PathType::pix, 60), 8192 * 2));
  NcclShape broadcast = v100(NcclVersion::v2_4, 8);
  broadcast.operation = Operation::broadcast;
  CHECK(switches_at(broadcast, 16384.0 * 12));
  NcclShape without_tree = on_two_nodes(NcclVersion::v2_4, PathType::phb);
  CHECK(nccl_choice(without_tree, Bytes{524288}, Algorithm::ring).protocol == Protocol::ll);
  CHECK(nccl_choice(without_tree, Bytes{524289}, Algorithm::ring).protocol == Protocol::simple);
}

TEST_CASE("2.4 takes trees on two NVLink nodes always, on more up to a size, never in one") {
  NcclShape shape = on_two_nodes(NcclVersion::v2_4, PathType::phb);
  CHECK(nccl_choice(shape, Bytes{1e9}).algorithm == Algorithm::tree);
  CHECK(nccl_choice(v100(NcclVersion::v2_4, 8), Bytes{8}).algorithm == Algorithm::ring);
  // Four nodes of 8: 6 * 31 us for a ring against 15 * 2 + 4 * 7 for a tree, 5,000 and 3,750 bytes per us.
  shape.nodes = 4;
  shape.ranks = 32;
  const double limit = 5000.0 * 3750 / 1250 * (6 * 31 - 58);
  CHECK(nccl_choice(shape, Bytes{limit}).algorithm == Algorithm::tree);
  CHECK(nccl_choice(shape, Bytes{limit + 1}).algorithm == Algorithm::ring);
}

TEST_CASE("only all-reduce has a tree") {
  NcclShape shape = on_two_nodes(NcclVersion::v2_12, PathType::pix);
  CHECK(nccl_time(shape, {Algorithm::tree, Protocol::simple}, Bytes{1e6}));
  shape.operation = Operation::all_gather;
  CHECK_FALSE(nccl_time(shape, {Algorithm::tree, Protocol::simple}, Bytes{1e6}));
  CHECK(nccl_choice(shape, Bytes{8}).algorithm == Algorithm::ring);
}

TEST_CASE("several nodes take a tree for a few bytes and a ring of one NIC for many") {
  // 16 ranks: 2 * (7 * 0.94 + 5) + 4.4 us for a tree with LL against 3.6 + 28 * 0.85 + 2 * 2.7 for a ring.
  const NcclShape shape = on_two_nodes(NcclVersion::v2_7_8, PathType::phb);
  CHECK(nccl_choice(shape, Bytes{8}) == NcclChoice{Algorithm::tree, Protocol::ll});
  CHECK(nccl_time(shape, {Algorithm::tree, Protocol::ll}, Bytes{64})->si() ==
        doctest::Approx((4.4 + 2 * (7 * 0.936 + 5)) * 1e-6 + 64 / (24e9 * 0.9 / 3.8 / 2)));
  CHECK(nccl_time(shape, {Algorithm::ring, Protocol::simple}, Bytes{1e9})->si() ==
        doctest::Approx(1.9 * (8.4 + 28 * 3.4 + 2 * 9.6) * 1e-6 + 1e9 * 30 / 16 / 12e9));
}

TEST_CASE("a broadcast whose rings take different orders is believed to wait at every rank") {
  NcclShape shape = v100(NcclVersion::v2_7_8, 8);
  shape.operation = Operation::broadcast;
  const NcclChoice ll{Algorithm::ring, Protocol::ll};
  const double together = nccl_time(shape, ll, Bytes{8})->si();
  shape.same_order = false;
  CHECK(nccl_time(shape, ll, Bytes{8})->si() - together == doctest::Approx(7 * 0.47e-6));
}

TEST_CASE("channels are rings, doubled before 2.12, at what NCCL believes of their links") {
  const NcclChannels old = nccl_channels(NcclVersion::v2_7_8, 6, PathType::nvlink2, 70);
  CHECK(old.count == 12);
  CHECK(old.each.si() == doctest::Approx(10.5e9));
  const NcclChannels newer = nccl_channels(NcclVersion::v2_12, 6, PathType::nvlink2, 70);
  CHECK(newer.count == 6);
  CHECK(newer.each.si() == doctest::Approx(22e9));
  CHECK(nccl_channels(NcclVersion::v2_30, 1, PathType::pix, 70).each.si() == doctest::Approx(12e9));
  CHECK(nccl_channels(NcclVersion::v2_30, 1, PathType::phb, 70).each.si() == doctest::Approx(10e9));
  CHECK(nccl_channels(NcclVersion::v2_7_8, 1, PathType::sys, 60).each.si() == doctest::Approx(6.75e9));
}

TEST_CASE("since Hopper a node's search takes fewer, faster channels than lanes, and divides them in two") {
  const auto found = [](NcclVersion version, int lanes, int capability, int nodes = 1) {
    const NcclChannels channels = nccl_channels(version, lanes, PathType::nvlink5, capability, nodes);
    return std::pair{channels.count, std::round(channels.each.si() * 1e-8) / 10};
  };
  for (const NcclVersion version : {NcclVersion::v2_27, NcclVersion::v2_30}) {
    CHECK(found(version, 18, 90) == std::pair{12, 30.0});   // 6 of 60 GB/s
    CHECK(found(version, 18, 100) == std::pair{16, 45.0});  // 8 of 90 GB/s
    CHECK(found(version, 1, 100) == std::pair{2, 20.0});
    CHECK(found(version, 1, 90) == std::pair{1, 20.0});  // too slow to be divided
    CHECK(found(version, 2, 90) == std::pair{2, 20.0});  // one of 40 is few enough
  }
  CHECK(found(NcclVersion::v2_30, 18, 90, 2) == std::pair{18, 20.0});
  CHECK(found(NcclVersion::v2_30, 12, 80) == std::pair{12, 20.0});
}

TEST_CASE("a CPU's model names its vendor") {
  CHECK(cpu_vendor("EPYC 7742") == CpuVendor::amd);
  CHECK(cpu_vendor("POWER9") == CpuVendor::power);
  CHECK(cpu_vendor("Xeon Platinum 8168") == CpuVendor::intel);
}

TEST_CASE("since NCCL 2.18 messages of up to 16 KiB go by LL, in 2.22 to 2.28 so many on each channel") {
  constexpr Bytes most{16384};
  constexpr int channels = 32;
  CHECK(nccl_message_protocol(NcclVersion::v2_30, most, channels) == Protocol::ll);
  CHECK(nccl_message_protocol(NcclVersion::v2_30, most + Bytes{1}, channels) == Protocol::simple);
  CHECK(nccl_message_protocol(NcclVersion::v2_29, most + Bytes{1}, channels) == Protocol::simple);
  for (const NcclVersion version : {NcclVersion::v2_27, NcclVersion::v2_28}) {
    CHECK(nccl_message_protocol(version, most * channels, channels) == Protocol::ll);
    CHECK(nccl_message_protocol(version, most * channels + Bytes{1}, channels) == Protocol::simple);
  }
  CHECK(nccl_least_part(NcclVersion::v2_28, Protocol::ll) == Bytes{8192});
  CHECK(nccl_least_part(NcclVersion::v2_29, Protocol::ll) == Bytes{65536});  // one channel for all of LL
  CHECK(nccl_least_part(NcclVersion::v2_28, Protocol::simple) == Bytes{65536});
  CHECK(nccl_message_protocol(NcclVersion::v2_12, most, channels) == Protocol::simple);
  CHECK(nccl_message_protocol(NcclVersion::none, most, channels) == Protocol::simple);
}

TEST_CASE("up to Hopper, versions 2.27 to 2.30 have one table of rings and trees") {
  for (const int capability : {70, 80, 90}) {
    for (const Operation operation : {Operation::all_reduce, Operation::all_gather, Operation::broadcast}) {
      for (double size = 64; size < 1e9; size *= 3) {
        NcclShape shape = a100(8);
        shape.compute_capability = capability;
        shape.operation = operation;
        const NcclChoice newest = nccl_choice(shape, Bytes{size});
        const std::optional<Seconds> time = nccl_time(shape, newest, Bytes{size});
        for (const NcclVersion version : {NcclVersion::v2_27, NcclVersion::v2_28, NcclVersion::v2_29}) {
          shape.version = version;
          CHECK(nccl_choice(shape, Bytes{size}) == newest);
          CHECK(nccl_time(shape, newest, Bytes{size}) == time);
        }
      }
    }
  }
}

TEST_CASE("on Blackwell, limits of LL128 and of trees differ from version to version") {
  // GB/s of each channel, if the links give 100
  const auto most = [](NcclVersion version, Algorithm algorithm, Protocol protocol, int nodes) {
    NcclShape shape = in_one_node(version, 8 * nodes, 18, PathType::nvlink5, 100);
    shape.nodes = nodes;
    shape.inside = shape.between = Bandwidth{100e9};
    shape.worst_to_nic = PathType::pix;
    const Bytes size{1024 * mib};  // beyond the sizes for which trees are corrected
    const NcclChoice choice{algorithm, protocol};
    const Seconds more = *nccl_time(shape, choice, size * 2) - *nccl_time(shape, choice, size);
    const double steps = algorithm == Algorithm::tree ? 2 : 2.0 * (shape.ranks - 1) / shape.ranks;
    return (size / more).si() * 1e-9 / shape.channels * steps;
  };
  struct Limits {
    NcclVersion version;
    double ring, ring_of_two_nodes, tree, tree_ll128;  // rings of one and two nodes, trees of four
  };
  for (const Limits& limits :
       {Limits{NcclVersion::v2_27, 73.4, 73.4, 72, 58}, Limits{NcclVersion::v2_28, 73.4, 34.6, 24, 20},
        Limits{NcclVersion::v2_29, 34.5, 34.6, 24, 20}, Limits{NcclVersion::v2_30, 40, 40, 24, 20}}) {
    CHECK(most(limits.version, Algorithm::ring, Protocol::ll128, 1) == doctest::Approx(limits.ring));
    CHECK(most(limits.version, Algorithm::ring, Protocol::ll128, 2) ==
          doctest::Approx(limits.ring_of_two_nodes));
    // trees that enter and leave a node at one GPU
    CHECK(most(limits.version, Algorithm::tree, Protocol::simple, 4) == doctest::Approx(0.85 * limits.tree));
    CHECK(most(limits.version, Algorithm::tree, Protocol::ll128, 4) ==
          doctest::Approx(0.85 * limits.tree_ll128));
  }
}
