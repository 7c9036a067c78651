// Graphs that NCCL found, beside the rings of a platform.

#include "interchange/nccl_graph.hpp"

#include "errors_of.hpp"
#include "platform/channels.hpp"
#include "platform/cluster.hpp"
#include "platform/load.hpp"

#include <doctest/doctest.h>
#include <string>
#include <vector>

using namespace trainyard;

namespace {

/// Four GPUs, each with a lane to every other.
Platform four_joined_gpus() {
  return load_platform(config::parse("own.yaml", R"(
name: own
node:
  gpus: {count: 4, profile: v100_sxm2_16gb}
  devices: {cpu: {count: 1}}
  links:
    - {between: ["gpu[0-3]", cpu0], kind: pcie3, lanes: 16, bandwidth: {value: 15.75 GB/s, specified: test}, latency: {value: 0.2 us, assumed: test}}
    - {between: [gpu0, "gpu[1-3]"], kind: nvlink2, lanes: 1, bandwidth: {value: 25 GB/s, specified: test}, latency: {value: 1 us, assumed: test}}
    - {between: [gpu1, "gpu[2-3]"], kind: nvlink2, lanes: 1, bandwidth: {value: 25 GB/s, specified: test}, latency: {value: 1 us, assumed: test}}
    - {between: [gpu2, gpu3], kind: nvlink2, lanes: 1, bandwidth: {value: 25 GB/s, specified: test}, latency: {value: 1 us, assumed: test}}
)"));
}

std::string graph_dump(const std::vector<std::vector<int>>& rings, int stated) {
  std::string text =
      "<graphs version=\"1\">\n<graph id=\"1\" pattern=\"1\" nchannels=\"0\" speedintra=\"12\" "
      "speedinter=\"12\"/>\n"
      "<graph id=\"0\" pattern=\"4\" nchannels=\"" +
      std::to_string(stated) +
      "\" speedintra=\"20\" speedinter=\"20.5\" typeintra=\"NVL\" typeinter=\"PIX\">\n";
  for (const std::vector<int>& ring : rings) {
    text += "<channel><net dev=\"0\"/>";
    for (const int gpu : ring) text += "<gpu dev=\"0x" + std::to_string(gpu) + "\"/>";
    text += "</channel>\n";
  }
  return text + "</graph></graphs>";
}

RingComparison rings_beside(const std::string& dump) {
  return compare_rings(read_nccl_graphs(plain_input("graph.xml", dump)), four_joined_gpus());
}

}  // namespace

TEST_CASE("rings of a dump are as many and as fast as the platform's, whatever their start and direction") {
  const Platform platform = four_joined_gpus();
  std::vector<std::vector<int>> own;
  for (const Channel& channel : ring_channels(make_cluster(platform, 1))) {
    std::vector<int>& order = own.emplace_back();
    for (auto rank = channel.order.rbegin(); rank != channel.order.rend(); ++rank)
      order.push_back(index(*rank));
  }
  REQUIRE(!own.empty());
  const RingComparison its = rings_beside(graph_dump(own, static_cast<int>(own.size())));
  CHECK(its.theirs == its.ours);
  CHECK(its.common == its.distinct);
  CHECK(its.distinct >= 1);
  CHECK(its.their_rate.si() == doctest::Approx(20e9 * its.theirs));
  CHECK(its.our_rate.si() == doctest::Approx(25e9 * its.ours));
  CHECK(its.type_inside == "NVL");
  const std::string text = ring_comparison_text(its, "own");
  CHECK(text.find("GB/s in all") != std::string::npos);
}

TEST_CASE("graphs that are none, or of another node, are refused") {
  const auto refused = [](const std::string& dump, std::string_view part) {
    const auto errors = errors_of([&] { rings_beside(dump); });
    REQUIRE(errors.size() == 1);
    CAPTURE(errors.front().message);
    CHECK(errors.front().message.find(part) != std::string::npos);
  };
  refused("<system version=\"1\"/>", "<system>, not the graphs");
  refused(graph_dump({{0, 1, 2, 3}}, 2), "2 channels of graph 0 are stated, but there are 1");
  refused(graph_dump({}, 0), "no rings");
  refused(graph_dump({{0, 1, 2, 3, 4, 5}}, 1), "a node of own has 4");
  refused(graph_dump({{0}}, 1), "fewer than two GPUs");
  refused("<graphs><graph id=\"0\" pattern=\"ring\"/></graphs>", "pattern of <graph> is 'ring'");
}
