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
  CHECK(contains(topology_report(platform), "Ring channels: none, gpu1 of box cannot be reached from gpu0"));
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

TEST_CASE("bandwidths have the decimals that transfers through host memory need, and two at most") {
  Platform platform = load_box(R"(name: box
node:
  gpus: {count: 2, profile: some_gpu}
  devices: {cpu: {count: 1}}
  links:
    - {between: [gpu0, cpu], kind: pcie3, bandwidth: 16 GB/s, latency: 1 us}
    - {between: [gpu1, cpu], kind: pcie3, bandwidth: 16 GB/s, latency: 1 us}
)");
  CHECK(contains(topology_report(platform), " 16 GB/s"));
  platform.has_peer_to_peer = false;
  platform.staged.value = Bandwidth(8.5e9);
  CHECK(contains(topology_report(platform), " 8.5 GB/s"));
  CHECK(contains(topology_report(platform), " 16.0 GB/s"));
  platform.staged.value = Bandwidth(1.125e9);
  CHECK(contains(topology_report(platform), " 16.00 GB/s"));
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

TEST_CASE("keys of the machine that were set stand below the title of its report") {
  CHECK(contains(topology_report(dgx2(), {}, "platform.node.nics=4"),
                 "dgx2: NVIDIA DGX-2\nset on the command line: platform.node.nics=4\n\n"));
}

TEST_CASE("the report of a DGX-2 has its matrix, links, cuts, rings and sources") {
  const std::string report = topology_report(dgx2(), {.width = 200});  // the whole matrix in one block
  for (const char* const line : {
           "dgx2: NVIDIA DGX-2\n",
           "   16  gpu          v100_sxm3_32gb\n",
           "  GPU0   X     NV6   NV6   NV6   NV6   NV6   NV6   NV6   NV6   NV6   NV6    NV6    NV6    NV6    "
           "NV6    NV6    "
           "PIX   PXB   NODE  NODE  SYS   SYS   SYS   SYS   0\n",
           "  gpu[0-15] - nvswitch0                 16     nvlink2   6      150.00 GB/s [1]  "
           "122.40 GB/s [2]   1.25 us [3]\n",
           "  nic[0-7] - fabric                     8      fat_tree          12.50 GB/s [9]   "
           "12.00 GB/s [10]  1.8 us [11]\n",
           "  NICs access GPU memory directly (GPUDirect) [14]\n",
           "Minimum cut between gpu[0-7] and gpu[8-15], per direction\n",
           "  NVLink only  1200.0 GB/s  979.2 GB/s\n",
           "  all links    1231.5 GB/s  989.2 GB/s\n",
           "Ring channels of one node: 6\n",
           "  5  ring  0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15\n",
           "Ring channels between nodes: 8, ",
           "  nic7  14 0 1 2 3 4 5 6 7 8 9 10 11 12 13 15\n",
           "  [1]  specified: 6 NVLink2 lanes of 25 GB/s; NVIDIA V100 whitepaper\n",
       }) {
    CAPTURE(line);
    CHECK(contains(report, line));
  }
}

TEST_CASE("NVLinks among GPUs are one line of the table, and arcs as wide as their lanes below the drawing") {
  const Platform platform =
      load_platform(config::load(std::string(TRAINYARD_SOURCE_DIR) + "/platforms/dgx1v.yaml"));
  const std::string report = topology_report(platform);
  CHECK(contains(report, "  pairs of gpu[0-7]            8      nvlink2   1      25.00 GB/s [1] "));
  CHECK(contains(report, "  pairs of gpu[0-7]            8      nvlink2   2      50.00 GB/s [4] "));
  CHECK(contains(report, "  gpu[0-7] - pcie_switch[0-3]  8      pcie3 "));
  const std::string dot = topology_dot(platform);
  const std::string look = ", tailport=s, headport=s, constraint=false];\n";
  CHECK(contains(dot, "  gpu0 -> gpu1 [color=\"#4f9a3a\", penwidth=1.2" + look));
  CHECK(contains(dot, "  gpu0 -> gpu3 [color=\"#4f9a3a\", penwidth=2.4" + look));
}

TEST_CASE("figures without a source are said to have none") {
  CHECK(contains(topology_report(load_box(pcie_box_text)), "[1]  no source stated\n"));
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

TEST_CASE("cores and memory of the sockets are printed with their sources") {
  const std::string report = topology_report(
      load_box("name: box\nnode: {gpus: {count: 1, profile: some_gpu}, devices: {cpu: {count: 2, cores: 20, "
               "memory_bandwidth: {value: 68.3 GB/s, specified: four channels}}}}\n"));
  CHECK(contains(report, "  cores per CPU             20 [1]\n  memory bandwidth per CPU  68.3 GB/s [2]\n"));
  CHECK(contains(report, "  [2]  specified: four channels\n"));
}

TEST_CASE("single lanes hold four rings through a DGX-1's eight P100, a K80's halves share a switch") {
  const auto report = [](const std::string& name) {
    return topology_report(load_platform(config::load(TRAINYARD_SOURCE_DIR "/platforms/" + name + ".yaml")));
  };
  CHECK(contains(report("dgx1_p100"), "Ring channels of one node: 4\n"));
  CHECK(contains(report("p2_8xlarge"), "  GPU0  X     PIX   PXB   PXB   PHB "));
}
