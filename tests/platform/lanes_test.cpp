// node.lanes: more or fewer lanes of NVLinks, for what-ifs.

#include "errors_of.hpp"
#include "platform/channels.hpp"
#include "platform/cluster.hpp"
#include "platform/load.hpp"
#include "platform/machines.hpp"

#include <cmath>
#include <doctest/doctest.h>
#include <set>
#include <string>
#include <utility>

using namespace trainyard;

namespace {

/// A shipped platform with other lanes; empty: those of its file.
Platform with_lanes(const std::string& name, const std::string& lanes) {
  config::Document document =
      config::load(std::string(TRAINYARD_SOURCE_DIR) + "/platforms/" + name + ".yaml");
  if (!lanes.empty()) config::set(document, "node.lanes.nvlink", lanes, "platform.", nullptr);
  return load_platform(document);
}

std::size_t rings(const std::string& name, const std::string& lanes) {
  return ring_channels(make_cluster(with_lanes(name, lanes), 1)).size();
}

/// Lanes of a node's NVLinks, or of its other links.
std::set<int> lanes_of(const Platform& platform, bool are_nvlinks) {
  std::set<int> all;
  for (auto [edge, end] = edges(platform.node); edge != end; ++edge) {
    if (is_nvlink(platform.node[*edge].kind) == are_nvlinks) all.insert(platform.node[*edge].lanes);
  }
  return all;
}

/// The specified and the effective rate per lane of all NVLinks, in GB/s, rounded to MB/s.
std::set<std::pair<long, long>> rates_per_lane(const Platform& platform) {
  std::set<std::pair<long, long>> all;
  for (auto [edge, end] = edges(platform.node); edge != end; ++edge) {
    const Link& link = platform.node[*edge];
    if (!is_nvlink(link.kind)) continue;
    all.emplace(std::lround(link.bandwidth.value.si() / link.lanes / 1e6),
                std::lround(link.effective.value.si() / link.lanes / 1e6));
  }
  return all;
}

}  // namespace

TEST_CASE("all NVLinks get the lanes, each as fast as before, and other links keep theirs") {
  CHECK(lanes_of(with_lanes("dgx1v", ""), true) == std::set{1, 2});
  for (const char* const machine : {"dgx1v", "dgx2", "dgx_a100"}) {
    CAPTURE(machine);
    const Platform own = with_lanes(machine, "");
    for (const int lanes : {1, 2, 7, 12}) {
      const Platform other = with_lanes(machine, std::to_string(lanes));
      CHECK(lanes_of(other, true) == std::set{lanes});
      CHECK(lanes_of(other, false) == lanes_of(own, false));
      CHECK(rates_per_lane(other) == rates_per_lane(own));
    }
  }
}

TEST_CASE("with more lanes the search finds more rings, over links between GPUs and through NVSwitches") {
  // four neighbours of each GPU of a cube mesh, which are joined by one lane or two
  CHECK(rings("dgx1v", "") == 6);
  CHECK(rings("dgx1v", "1") == 4);
  CHECK(rings("dgx1v", "2") == 8);
  CHECK(rings("dgx1v", "4") == 16);
  CHECK(rings("dgx2", "") == 6);
  CHECK(rings("dgx2", "6") == 6);
  CHECK(rings("dgx2", "3") == 3);
  CHECK(rings("dgx2", "18") == 18);
  CHECK(rings("dgx_a100", "") == 12);
  CHECK(rings("dgx_a100", "32") == 32);
}

TEST_CASE(
    "the figures of links with other lanes are assumed, and those with the same ones keep their source") {
  const auto provenances = [](const Platform& platform) {
    std::set<Provenance> all;
    for (auto [edge, end] = edges(platform.node); edge != end; ++edge) {
      const Link& link = platform.node[*edge];
      if (is_nvlink(link.kind)) all.insert(link.bandwidth.provenance);
    }
    return all;
  };
  CHECK(provenances(with_lanes("dgx2", "6")) == std::set{Provenance::specified});
  CHECK(provenances(with_lanes("dgx2", "5")) == std::set{Provenance::assumed});
  CHECK(provenances(with_lanes("dgx1v", "2")) == std::set{Provenance::specified, Provenance::assumed});
}

TEST_CASE("a node without NVLinks has no lanes to set, and numbers of lanes have bounds") {
  const auto error = [](const std::string& machine, const std::string& lanes) {
    const auto errors = errors_of([&] { with_lanes(machine, lanes); });
    return errors.empty() ? Diagnostic{} : errors.front();
  };
  CHECK(error("xeon_cluster", "2").key_path == "node.lanes.nvlink");
  CHECK(!error("xeon_cluster", "2").hint.empty());
  CHECK(error("dgx2", "0").key_path == "node.lanes.nvlink");
  CHECK(error("dgx2", "33").key_path == "node.lanes.nvlink");
  CHECK(error("dgx2", "1.5").key_path == "node.lanes.nvlink");
  CHECK(error("dgx2", "32").message.empty());
}
