// The shipped machines compared with published output of `nvidia-smi topo -m`.

#include "platform/channels.hpp"
#include "platform/connection.hpp"
#include "platform/machines.hpp"

#include <algorithm>
#include <doctest/doctest.h>
#include <set>
#include <string>
#include <vector>

using namespace trainyard;

namespace {

using Matrix = std::vector<std::vector<std::string>>;

Platform machine(const std::string& name) { return testing::shipped_platform(name); }

/// Rows and columns are the devices in this order.
Matrix connections(const Platform& platform, const std::vector<DeviceId>& devices) {
  Matrix matrix;
  for (const DeviceId one : devices) {
    matrix.emplace_back();
    for (const DeviceId other : devices) matrix.back().push_back(connection(platform, one, other));
  }
  return matrix;
}

std::vector<DeviceId> gpus_and_nics(const Platform& platform) {
  std::vector<DeviceId> devices = platform.gpus;
  devices.insert(devices.end(), platform.nics.begin(), platform.nics.end());
  return devices;
}

}  // namespace

TEST_CASE("a p3.8xlarge connects as the dump of its NVLinks in HUVM's README") {
  const Platform platform = machine("p3_8xlarge");
  CHECK(connections(platform, platform.gpus) == Matrix{{"X", "NV1", "NV1", "NV2"},
                                                       {"NV1", "X", "NV2", "NV1"},
                                                       {"NV1", "NV2", "X", "NV2"},
                                                       {"NV2", "NV1", "NV2", "X"}});
}

TEST_CASE("an AC922 connects as a node of Princeton's Traverse, one port of its adapter per socket") {
  const Platform platform = machine("ac922");
  CHECK(connections(platform, gpus_and_nics(platform)) == Matrix{{"X", "NV3", "SYS", "SYS", "NODE", "SYS"},
                                                                 {"NV3", "X", "SYS", "SYS", "NODE", "SYS"},
                                                                 {"SYS", "SYS", "X", "NV3", "SYS", "NODE"},
                                                                 {"SYS", "SYS", "NV3", "X", "SYS", "NODE"},
                                                                 {"NODE", "NODE", "SYS", "SYS", "X", "SYS"},
                                                                 {"SYS", "SYS", "NODE", "NODE", "SYS", "X"}});
}

TEST_CASE("p3.16xlarge and p3dn.24xlarge have the NVLinks of MXNet's link matrix") {
  // 3 two lanes, 2 one lane, 1 none; tests/cpp/kvstore/gpu_topology_test.cc
  const std::vector<std::vector<int>> weights{
      {0, 2, 2, 3, 3, 1, 1, 1}, {2, 0, 3, 2, 1, 3, 1, 1}, {2, 3, 0, 3, 1, 1, 2, 1}, {3, 2, 3, 0, 1, 1, 1, 2},
      {3, 1, 1, 1, 0, 2, 2, 3}, {1, 3, 1, 1, 2, 0, 3, 2}, {1, 1, 2, 1, 2, 3, 0, 3}, {1, 1, 1, 2, 3, 2, 3, 0}};
  for (const char* name : {"p3_16xlarge", "p3dn_24xlarge"}) {
    CAPTURE(name);
    const Platform platform = machine(name);
    const Matrix matrix = connections(platform, platform.gpus);
    for (std::size_t one = 0; one < 8; ++one) {
      for (std::size_t other = 0; other < 8; ++other) {
        const int lanes = std::max(weights[one][other] - 1, 0);
        if (lanes > 0) CHECK(matrix[one][other] == "NV" + std::to_string(lanes));
        if (lanes == 0 && one != other) CHECK_FALSE(matrix[one][other].starts_with("NV"));
      }
    }
  }
}

TEST_CASE("a DGX A100 joins all GPUs by twelve lanes and each two of them with two NICs") {
  const Platform platform = machine("dgx_a100");
  const Matrix matrix = connections(platform, gpus_and_nics(platform));
  for (std::size_t gpu = 0; gpu < 8; ++gpu) {
    for (std::size_t other = 0; other < 8; ++other) {
      if (other != gpu) CHECK(matrix[gpu][other] == "NV12");
      const std::string& to_nic = matrix[gpu][8 + other];
      CHECK((to_nic == "PIX") == (gpu / 2 == other / 2));  // the dump's PXB is inside one chip
      CHECK((to_nic == "SYS") == (gpu / 4 != other / 4));
    }
  }
}

TEST_CASE("rings of two NICs beside the same two GPUs enter at one each and leave at the other") {
  const std::vector<Channel> channels = ring_channels(make_cluster(machine("dgx_a100"), 2, 16));
  REQUIRE(channels.size() == 8);
  std::set<int> entries;
  std::set<int> exits;
  for (const Channel& channel : channels) {
    entries.insert(index(channel.order[0]));
    exits.insert(index(channel.order[7]));
    CHECK(index(channel.order[0]) / 2 == channel.nic / 2);
    CHECK(index(channel.order[7]) / 2 == channel.nic / 2);
  }
  CHECK(entries.size() == 8);
  CHECK(exits.size() == 8);
}
