// The matrix of nvidia-smi topo -m.

#include "interchange/smi_topology.hpp"

#include "interchange/inputs.hpp"
#include "platform/cluster.hpp"
#include "platform/connection.hpp"

#include <doctest/doctest.h>
#include <rapidcheck.h>

using namespace trainyard;
using testing::input;
using testing::message_of;

TEST_CASE("a matrix is read with its cards, affinities and legend") {
  const SmiTopology topology = read_smi_topology(input(testing::two_pairs));
  CHECK(topology.gpus() == 4);
  CHECK(topology.nics() == 2);
  CHECK(topology.rows == 6);
  CHECK(topology.cells[0][1] == "NV4");
  CHECK(topology.cells[2][5] == "PXB");
  CHECK(topology.card_names[4] == "mlx5_0");
  CHECK(topology.numa_affinity == std::vector<std::string>{"0", "0", "1", "1", "", ""});
}

TEST_CASE("the written platform joins its devices as the matrix says") {
  const SmiTopology topology = read_smi_topology(input(testing::two_pairs));
  const NodeLayout layout = layout_of(topology);
  CHECK(layout.warnings.empty());
  const Platform platform = testing::written_and_read(layout, testing::answers("a6000"));
  std::vector<DeviceId> devices = platform.gpus;
  devices.insert(devices.end(), platform.nics.begin(), platform.nics.end());
  REQUIRE(devices.size() == topology.devices.size());
  for (std::size_t i = 0; i < devices.size(); ++i) {
    for (std::size_t j = 0; j < devices.size(); ++j) {
      CHECK(connection(platform, devices[i], devices[j]) == topology.cells[i][j]);
    }
  }
}

TEST_CASE("equal NVLinks of all pairs are NVSwitches where a GPU has too few lanes for a mesh") {
  const auto switches = [](int gpus, const char* cell, const char* profile) {
    const NodeLayout layout = layout_of(read_smi_topology(input(testing::equal_matrix(gpus, cell))));
    return make_platform(layout, testing::answers(profile)).file.node.devices.nvswitch.count;
  };
  CHECK(switches(8, "NV12", "a100_sxm4_80gb") == 1);
  CHECK(switches(8, "NV18", "h100_sxm_80gb") == 1);
  CHECK(switches(4, "NV4", "a100_sxm4_40gb") == 0);
  CHECK(switches(2, "NV12", "a100_sxm4_80gb") == 0);
  CHECK(switches(4, "NV2", "v100_sxm2_16gb") == 0);
}

TEST_CASE("GPUs that NVSwitches join are on one crossbar, also if another GPU is off them") {
  const auto matrix = [](int gpus, const auto& cell) {
    std::string text;
    for (int i = 0; i < gpus; ++i) text += "  GPU" + std::to_string(i);
    text += "  CPU Affinity\n";
    for (int i = 0; i < gpus; ++i) {
      text += "GPU" + std::to_string(i);
      for (int j = 0; j < gpus; ++j) text += "  " + (i == j ? std::string("X") : std::string(cell(i, j)));
      text += "  0-31\n";
    }
    return layout_of(read_smi_topology(input(text)));
  };
  const auto off = matrix(8, [](int i, int j) { return i == 2 || j == 2 ? "NODE" : "NV18"; });
  const PlatformFile file = make_platform(off, testing::answers("b200_sxm_180gb")).file;
  CHECK(file.node.devices.nvswitch.count == 1);
  CHECK(file.node.links.front().between[0] == "gpu[0-1,3-7]");
  CHECK(file.node.links.front().lanes == 18);
  // two partitions of a virtual machine are two crossbars
  const auto parts = matrix(8, [](int i, int j) { return i / 4 == j / 4 ? "NV12" : "SYS"; });
  CHECK(make_platform(parts, testing::answers("a100_sxm4_80gb")).file.node.devices.nvswitch.count == 2);
  CHECK(make_cluster(testing::written_and_read(parts, testing::answers("a100_sxm4_80gb")), 1, 8).ranks() ==
        8);
  // more NVLinks than a GPU has, and no crossbar explains them
  const auto odd = matrix(4, [](int i, int j) { return i + j == 3 ? "SYS" : "NV12"; });
  CHECK(message_of([&] { make_platform(odd, testing::answers("a100_sxm4_80gb")); }).find("--nvlink 12") !=
        std::string::npos);
  const auto many = matrix(4, [](int, int) { return "NV18"; });
  CHECK(message_of([&] { make_platform(many, testing::answers("a100_sxm4_80gb")); }).find("has 54 NVLinks") !=
        std::string::npos);
}

TEST_CASE("cards of a Grace tray, which the matrix joins with nothing, have ports of its two sockets") {
  const std::string text =
      "GPU0 GPU1 NIC0 NIC1 NIC2 CPU Affinity NUMA Affinity\n"
      "GPU0 X NV18 SYS SYS SYS 0-71 0,3-9\n"
      "GPU1 NV18 X SYS SYS SYS 72-143 1,19-25\n"
      "NIC0 SYS SYS X SYS SYS\nNIC1 SYS SYS SYS X PIX\nNIC2 SYS SYS SYS PIX X\n";
  PlatformAnswers answers = testing::answers("gb200_186gb");
  const PlatformFile file = make_platform(layout_of(read_smi_topology(input(text))), answers).file;
  CHECK(file.node.devices.cpu.count == 2);
  CHECK(file.node.devices.nic.count == 3);
  int c2c = 0;
  for (const LinkFile& link : file.node.links) {
    c2c += link.bandwidth.value == Bandwidth(225e9) ? 1 : 0;
    CHECK_FALSE((link.kind == LinkKind::upi && link.bandwidth.value == Bandwidth(41.6e9)));
  }
  CHECK(c2c == 1);
  CHECK_NOTHROW((void)testing::written_and_read(layout_of(read_smi_topology(input(text))), answers));
}

TEST_CASE("old words, terminal colours, Windows line ends and blanks in place of tabs are read") {
  const std::string text = testing::equal_matrix(2, "SOC");
  CHECK(read_smi_topology(input("\xef\xbb\xbf\x1b[4m" + text + "\x1b[0m")).cells[0][1] == "SYS");
  std::string windows;
  for (const char c : text) windows += c == '\n' ? std::string("\r\n") : std::string(1, c);
  CHECK(read_smi_topology(input(windows)).cells[0][1] == "SYS");
  CHECK(read_smi_topology(input("some prompt$ nvidia-smi topo -m\n" + text)).gpus() == 2);
  for (const std::string blank : {"\xc2\xa0", "\xe2\x80\xaf", "\xe2\x80\x87", "\xe2\x80\x8b "}) {
    std::string pasted;
    for (const char c : text) pasted += c == ' ' ? blank : std::string(1, c);
    CHECK(read_smi_topology(input(pasted)).cells[0][1] == "SYS");
  }
}

TEST_CASE("a matrix that is not symmetric is refused with its pair") {
  const std::string text = testing::with(testing::equal_matrix(3, "PHB"), "GPU1  PHB", "GPU1  PIX");
  const std::string errors = testing::message_of([&] { read_smi_topology(input(text)); });
  CHECK(errors.find("GPU0 to GPU1 is PHB, but GPU1 to GPU0 is PIX") != std::string::npos);
}

TEST_CASE("missing rows, short rows, unknown words and huge numbers of lanes are refused with the line") {
  const auto errors = [](const std::string& text) {
    return testing::message_of([&] { read_smi_topology(input(text)); });
  };
  const std::string two = testing::equal_matrix(2, "PIX");
  CHECK(errors(two.substr(0, two.find("GPU1  PIX"))).find("GPU1 has a column, but no row") !=
        std::string::npos);
  CHECK(errors("GPU0 GPU1\nGPU0 X\n").find(":2:") != std::string::npos);
  CHECK(errors(testing::equal_matrix(2, "NV0")).find("'NV0' is not a connection") != std::string::npos);
  CHECK(errors(testing::equal_matrix(2, "NV99999999999999999999")).find("not a connection") !=
        std::string::npos);
  CHECK(errors(testing::equal_matrix(2, "NV4096")).find("not a connection") != std::string::npos);
  CHECK(errors("GPU0 GPU0\nGPU0 X PIX\n").find("'GPU0' twice") != std::string::npos);
  std::string wide = "GPU0";
  for (int i = 1; i < 600; ++i) wide += " GPU" + std::to_string(i);
  CHECK(errors(wide + "\n").find("600 devices") != std::string::npos);
}

TEST_CASE("the output of nvidia-smi topo -p2p is refused by its name") {
  const std::string errors =
      testing::message_of([&] { read_smi_topology(input(testing::equal_matrix(4, "OK"))); });
  CHECK(errors.find("nvidia-smi topo -p2p") != std::string::npos);
}

TEST_CASE("rows of cards without a column are left out with a warning") {
  const std::string text = testing::equal_matrix(2, "NV4") + "NIC0  PIX  PIX\n";
  const SmiTopology topology = read_smi_topology(input(text));
  CHECK(topology.nics() == 0);
  CHECK(topology.rows == 3);
  REQUIRE(layout_of(topology).warnings.size() == 1);
  CHECK(layout_of(topology).warnings[0].find("NIC0") != std::string::npos);
}

TEST_CASE("any tree of sockets and switches comes back from its matrix") {
  CHECK(rc::check("matrix -> platform -> matrix", [] {
    const int gpus = *rc::gen::inRange(1, 9);
    std::vector<int> place;  // socket and switch: devices with equal numbers are PIX, equal / 2 are PHB
    for (int i = 0; i < gpus; ++i) place.push_back(*rc::gen::inRange(0, 8));
    std::string text;
    for (int i = 0; i < gpus; ++i) text += " GPU" + std::to_string(i);
    text += "\n";
    for (int i = 0; i < gpus; ++i) {
      text += "GPU" + std::to_string(i);
      for (int j = 0; j < gpus; ++j) {
        text += i == j                         ? " X"
                : place[i] == place[j]         ? " PIX"
                : place[i] / 2 == place[j] / 2 ? " PHB"
                                               : " SYS";
      }
      text += "\n";
    }
    const SmiTopology topology = read_smi_topology(input(text));
    const Platform platform = testing::written_and_read(layout_of(topology), testing::answers("t4"));
    for (int i = 0; i < gpus; ++i) {
      for (int j = 0; j < gpus; ++j) {
        RC_ASSERT(connection(platform, platform.gpus[i], platform.gpus[j]) == topology.cells[i][j]);
      }
    }
  }));
}
