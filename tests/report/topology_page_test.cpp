#include "report/topology_page.hpp"

#include "document/writers.hpp"
#include "has_all.hpp"
#include "platform/machines.hpp"

#include <doctest/doctest.h>
#include <string>

using namespace trainyard;

namespace {

std::string topology_report(const Platform& platform, const PrintStyle& style = {},
                            const std::string& changed = {}) {
  return doc::text(topology_document(platform, changed), style);
}

}  // namespace

TEST_CASE("GPUs that nothing joins have no ring, and one GPU no cut") {
  const Platform platform = load_box("name: box\nnode: {gpus: {count: 2, profile: some_gpu}}\n");
  CHECK(has_all(topology_report(platform), "Ring channels: none, gpu1 of box cannot be reached from gpu0"));
  CHECK(has_all(topology_report(load_box("name: box\nnode: {gpus: {count: 1, profile: some_gpu}}\n")),
                "\nMinimum cut: none, the node has one GPU\n"));
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
  CHECK(has_all(topology_report(platform), " 16 GB/s"));
  platform.has_peer_to_peer = false;
  platform.staged.value = Bandwidth(8.5e9);
  CHECK(has_all(topology_report(platform), " 8.5 GB/s"));
  CHECK(has_all(topology_report(platform), " 16.0 GB/s"));
  platform.staged.value = Bandwidth(1.125e9);
  CHECK(has_all(topology_report(platform), " 16.00 GB/s"));
}

TEST_CASE("keys of the machine that were set stand below the title of its report") {
  CHECK(has_all(topology_report(dgx2(), {}, "platform.node.nics=4"),
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
    CHECK(has_all(report, line));
  }
}

TEST_CASE("NVLinks among GPUs are one line of the table") {
  const Platform platform =
      load_platform(config::load(std::string(TRAINYARD_SOURCE_DIR) + "/platforms/dgx1v.yaml"));
  const std::string report = topology_report(platform);
  CHECK(has_all(report, "  pairs of gpu[0-7]            8      nvlink2   1      25.00 GB/s [1] "));
  CHECK(has_all(report, "  pairs of gpu[0-7]            8      nvlink2   2      50.00 GB/s [4] "));
  CHECK(has_all(report, "  gpu[0-7] - pcie_switch[0-3]  8      pcie3 "));
}

TEST_CASE("figures without a source are said to have none") {
  CHECK(has_all(topology_report(load_box(pcie_box_text)), "[1]  no source stated\n"));
}

TEST_CASE("cores and memory of the sockets are printed with their sources") {
  const std::string report = topology_report(
      load_box("name: box\nnode: {gpus: {count: 1, profile: some_gpu}, devices: {cpu: {count: 2, cores: 20, "
               "memory_bandwidth: {value: 68.3 GB/s, specified: four channels}}}}\n"));
  CHECK(has_all(report, "  cores per CPU             20 [1]\n  memory bandwidth per CPU  68.3 GB/s [2]\n"));
  CHECK(has_all(report, "  [2]  specified: four channels\n"));
}

TEST_CASE("single lanes hold four rings through a DGX-1's eight P100, a K80's halves share a switch") {
  const auto report = [](const std::string& name) {
    return topology_report(load_platform(config::load(TRAINYARD_SOURCE_DIR "/platforms/" + name + ".yaml")));
  };
  CHECK(has_all(report("dgx1_p100"), "Ring channels of one node: 4\n"));
  CHECK(has_all(report("p2_8xlarge"), "  GPU0  X     PIX   PXB   PXB   PHB "));
}

TEST_CASE(
    "a machine as Markdown and as a page has the tables of its report, and heads that the text leaves out") {
  const doc::Document page = topology_document(dgx2(), "platform.node.nics=4");
  CHECK(has_all(doc::markdown(page), "set on the command line: platform.node.nics=4",
                "| number | device | model |", "v100_sxm3", "| NVLink only |"));
  CHECK(has_all(doc::html(page), "<h1>dgx2: NVIDIA DGX-2</h1>", "<th>device</th>", "<td>NVLink only</td>",
                "<li>[1]  specified: "));
}
