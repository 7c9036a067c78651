#include "collectives/nccl_shape.hpp"

#include "collectives/machines.hpp"
#include "collectives/nccl_tuning.hpp"

#include <doctest/doctest.h>

using namespace trainyard;

namespace {

NcclShape shape_of(const Cluster& cluster, NcclVersion version, int compute_capability) {
  const std::vector<Rank> group = all_ranks(cluster);
  return nccl_shape(cluster, version, compute_capability, Operation::all_reduce, group,
                    ring_channels(cluster, group));
}

}  // namespace

TEST_CASE("a cube mesh has six NVLink rings, twelve channels before 2.12") {
  const Cluster box = shipped_cluster("dgx1v", 1);
  const NcclShape shape = shape_of(box, NcclVersion::v2_7_8, 70);
  CHECK(shape.ranks == 8);
  CHECK(shape.nodes == 1);
  CHECK(shape.worst_inside == PathType::nvlink2);
  CHECK(shape.channels == 12);
  CHECK_FALSE(shape.same_order);
  CHECK(shape.cpu == CpuVendor::intel);
}

TEST_CASE("the GPU's generation is the caller's word, not a guess from the links") {
  const Cluster box = shipped_cluster("dgx1v", 1);
  const NcclShape volta = shape_of(box, NcclVersion::v2_7_8, 70);
  const NcclShape pascal = shape_of(box, NcclVersion::v2_7_8, 61);
  CHECK(volta.compute_capability == 70);
  CHECK(pascal.compute_capability == 61);
  CHECK(pascal.inside < volta.inside);
}

TEST_CASE("several nodes: what lies between GPU and NIC, and a NIC of 100 Gb/s counted as 12 GB/s") {
  const Cluster boxes = shipped_cluster("dlperf", 2);
  const NcclShape shape = shape_of(boxes, NcclVersion::v2_7_8, 70);
  CHECK(shape.nodes == 2);
  CHECK(shape.ranks == 16);
  CHECK(shape.between.si() * shape.channels == doctest::Approx(12e9));
  CHECK(shape.inside <= shape.between * 2);
}

TEST_CASE("a NIC counts no faster than its slot: 8 lanes of PCIe 3 are 6 GB/s") {
  Platform platform = shipped_cluster("p2_16xlarge", 1).platform;
  platform.fabric.nic.value = Bandwidth{50e9};
  const NcclShape shape = shape_of(make_cluster(platform, 2), NcclVersion::v2_7_8, 37);
  CHECK(shape.between.si() * shape.channels == doctest::Approx(6e9).epsilon(1e-3));
}

TEST_CASE("one GPU of each node: nothing inside nodes is faster than the network") {
  const Cluster boxes = make_cluster(shipped_cluster("p3dn_24xlarge", 1).platform, 2, 0, 1);
  const NcclShape shape = shape_of(boxes, NcclVersion::v2_7_8, 70);
  CHECK(shape.ranks == shape.nodes);
  CHECK(shape.inside == shape.between);
  // EFA: no LL128, which NCCL decides by the path to the NIC
  CHECK(shape.worst_to_nic >= PathType::phb);
}

TEST_CASE("before Hopper a group that leaves its node through another GPU has no LL128 from NCCL 2.12 on") {
  const Cluster boxes = shipped_cluster("dgx_a100", 2);
  const std::vector<Rank> group{Rank{0}, Rank{4}, Rank{8}, Rank{12}};
  const auto shape_with = [&](NcclVersion version, int compute_capability) {
    return nccl_shape(boxes, version, compute_capability, Operation::all_reduce, group,
                      ring_channels(boxes, group));
  };
  const auto allows_ll128 = [](const NcclShape& shape) {
    return nccl_time(shape, {Algorithm::ring, Protocol::ll128}, Bytes{1e6}).has_value();
  };
  REQUIRE(channel_facts(boxes, ring_channels(boxes, group)).has_proxies);
  CHECK(shape_with(NcclVersion::v2_12, 80).worst_to_nic >= PathType::phb);
  CHECK_FALSE(allows_ll128(shape_with(NcclVersion::v2_12, 80)));
  CHECK(shape_with(NcclVersion::v2_7_8, 80).worst_to_nic < PathType::phb);
  CHECK(allows_ll128(shape_with(NcclVersion::v2_7_8, 80)));
  CHECK(shape_with(NcclVersion::v2_12, 90).worst_to_nic < PathType::phb);
}
