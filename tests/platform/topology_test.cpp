#include "platform/topology.hpp"

#include "platform/connection.hpp"
#include "platform/machines.hpp"
#include "platform/min_cut.hpp"
#include "platform/parallel_links.hpp"

#include <doctest/doctest.h>
#include <string>

using namespace trainyard;

namespace {

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

std::string between(const Platform& platform, const char* one, const char* other) {
  const auto find = [&](const std::string& name) {
    DeviceId device = 0;
    while (platform.node[device].name != name) ++device;
    return device;
  };
  return connection(platform, find(one), find(other));
}

}  // namespace

TEST_CASE("a DGX-2 connects as its nvidia-smi topo -m says") {
  const Platform platform = dgx2();
  CHECK(between(platform, "gpu0", "gpu0") == "X");
  CHECK(between(platform, "gpu0", "gpu15") == "NV6");
  CHECK(between(platform, "gpu1", "nic0") == "PIX");
  CHECK(between(platform, "gpu1", "nic1") == "PXB");
  CHECK(between(platform, "gpu2", "nic1") == "PIX");
  CHECK(between(platform, "gpu4", "nic2") == "PIX");
  CHECK(between(platform, "gpu0", "nic2") == "NODE");
  CHECK(between(platform, "gpu0", "nic4") == "SYS");
  CHECK(between(platform, "nic4", "nic5") == "PXB");
}

TEST_CASE("the cube mesh connects as OneFlow's topo -m says, with one host bridge per socket") {
  const Platform platform = load_box(cube_mesh_text());
  for (std::size_t one = 0; one < 8; ++one) {
    for (std::size_t other = 0; other < 8; ++other) {
      const int lanes = cube_mesh()[one][other];
      if (lanes == 0) continue;
      CHECK(connection(platform, platform.gpus[one], platform.gpus[other]) == "NV" + std::to_string(lanes));
    }
  }
  CHECK(between(platform, "gpu0", "gpu5") == "SYS");
  CHECK(between(platform, "gpu2", "nic1") == "PIX");
  CHECK(between(platform, "gpu0", "nic1") == "PHB");
}

TEST_CASE("devices that nothing joins have a dash") {
  const Platform platform = load_box("name: box\nnode: {gpus: {count: 2, profile: some_gpu}}\n");
  CHECK(between(platform, "gpu0", "gpu1") == "-");
  CHECK(nearest_cpu(platform, platform.gpus[0]) == -1);
}

TEST_CASE("half a DGX-2 exchanges what the NVLinks of eight GPUs carry, and two PCIe roots more") {
  const Platform platform = dgx2();
  CHECK(minimum_cut(platform, Rate::specified, true).si() == doctest::Approx(8 * 150e9));
  CHECK(minimum_cut(platform, Rate::effective, true).si() == doctest::Approx(8 * 6 * 20.4e9));
  // two root ports of 15.75 GB/s per socket; at the rates reached by NCCL the UPI links limit to 10 GB/s
  // instead
  CHECK(minimum_cut(platform, Rate::specified, false).si() == doctest::Approx(8 * 150e9 + 2 * 15.75e9));
  CHECK(minimum_cut(platform, Rate::effective, false).si() == doctest::Approx(8 * 6 * 20.4e9 + 10e9));
}

TEST_CASE("the halves of the cube mesh are joined by the lanes between them") {
  // 0-4 two, 1-5 two, 2-6 one, 3-7 one
  CHECK(minimum_cut(load_box(cube_mesh_text()), Rate::specified, true).si() == doctest::Approx(6 * 25e9));
}

TEST_CASE("a cut can lie inside a half, and one GPU has none") {
  const Platform platform = load_box(R"(name: box
node:
  gpus: {count: 2, profile: some_gpu}
  devices: {cpu: {count: 1}}
  links:
    - {between: [gpu0, cpu], kind: pcie3, bandwidth: 16 GB/s, latency: 1 us}
    - {between: [gpu1, cpu], kind: pcie3, bandwidth: 4 GB/s, latency: 1 us}
)");
  CHECK(minimum_cut(platform, Rate::specified, false) == Bandwidth(4e9));
  CHECK(minimum_cut(platform, Rate::specified, true) == Bandwidth(0));
  const Platform single = load_box("name: box\nnode: {gpus: {count: 1, profile: some_gpu}}\n");
  CHECK(minimum_cut(single, Rate::specified, false) == Bandwidth(0));
}

TEST_CASE("device lists are written as platform files write them") {
  CHECK(device_list(DeviceKind::gpu, {3}) == "gpu3");
  CHECK(device_list(DeviceKind::gpu, {2, 0, 1, 8, 0}) == "gpu[0-2,8]");
  CHECK(device_list(DeviceKind::pcie_switch, {0, 2}) == "pcie_switch[0,2]");
}

TEST_CASE("NVLinks among GPUs are arcs as wide as their lanes below the drawing") {
  const Platform platform =
      load_platform(config::load(std::string(TRAINYARD_SOURCE_DIR) + "/platforms/dgx1v.yaml"));
  const std::string dot = topology_dot(platform);
  const std::string look = ", tailport=s, headport=s, constraint=false];\n";
  CHECK(contains(dot, "  gpu0 -> gpu1 [color=\"#4f9a3a\", penwidth=1.2" + look));
  CHECK(contains(dot, "  gpu0 -> gpu3 [color=\"#4f9a3a\", penwidth=2.4" + look));
}

TEST_CASE("the drawing has every device once and every link once") {
  const Platform platform = dgx2();
  const std::string dot = topology_dot(platform);
  const auto count = [&](const std::string& part) {
    int found = 0;
    for (std::size_t at = dot.find(part); at != std::string::npos; at = dot.find(part, at + 1)) ++found;
    return found;
  };
  for (DeviceId device = 0; device < num_vertices(platform.node); ++device) {
    CHECK(count("\n  " + platform.node[device].name + " [label=") == 1);
  }
  CHECK(count(" -> nvswitch0 [") == 16);
  CHECK(count(" -> level0_0 [color") == 8);
  CHECK(count("  pcie_switch3 -> gpu") == 2);
  CHECK(count("  cpu0 -> pcie_switch") == 2);
  CHECK(count("subgraph cluster_socket") == 2);
}

TEST_CASE("names that mean something to Graphviz are quoted") {
  const Platform platform = load_box(
      "name: box\ntitle: \"<b> & 'c'\"\nnode: {gpus: {count: 1, profile: some_gpu}, devices: {cpu: {count: "
      "1, model: "
      "'a \"fast\" \\ one'}}}\n");
  const std::string dot = topology_dot(platform);
  CHECK(contains(dot, "<B>box: &lt;b&gt; &amp; 'c'</B>"));
  CHECK(contains(dot, R"(cpu0\na \"fast\" \\ one)"));
}

TEST_CASE("xGMI links are named as rocm-smi names them, also in the legend") {
  const Platform box = testing::shipped_platform("server_mi300x");
  CHECK(connection(box, box.gpus[0], box.gpus[7]) == "XGMI");
  CHECK(connection(box, box.gpus[0], box.nics[0]) == "PIX");
  CHECK(connection_legend(true).find("XGMI  ") != std::string::npos);
  CHECK(connection_legend(true).find("NV#") == std::string::npos);
  CHECK(connection_legend(false).find("NV#") != std::string::npos);
}
