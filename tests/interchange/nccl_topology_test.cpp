// NCCL's topology as XML.

#include "interchange/nccl_topology.hpp"

#include "interchange/inputs.hpp"
#include "platform/channels.hpp"
#include "platform/cluster.hpp"
#include "platform/connection.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <optional>
#include <string>

using namespace trainyard;
using testing::input;
using testing::message_of;
using testing::with;

namespace {

NodeLayout layout(const std::string& text) { return layout_of(read_nccl_topology(input(text))); }

std::string errors(const std::string& text) {
  return message_of([&] { layout(text); });
}

bool has(const std::vector<std::string>& texts, const std::string& part) {
  for (const std::string& text : texts) {
    if (text.find(part) != std::string::npos) return true;
  }
  return false;
}

/// A node of GPUs with these links, on one socket.
std::string node(const std::string& links_of_first, const std::string& links_of_second) {
  const auto gpu = [](const char* bus, const std::string& links) {
    return std::string("<pci busid=\"0000:") + bus +
           ":00.0\" class=\"0x030200\" link_speed=\"16 GT/s\" link_width=\"16\"><gpu sm=\"80\">" + links +
           "</gpu></pci>";
  };
  return "<system version=\"1\"><cpu numaid=\"0\">" + gpu("0a", links_of_first) + gpu("0b", links_of_second) +
         "</cpu></system>";
}

std::string nvlink(const char* bus, int count) {
  return std::string("<nvlink target=\"0000:") + bus + ":00.0\" count=\"" + std::to_string(count) +
         "\" tclass=\"0x030200\"/>";
}

}  // namespace

TEST_CASE("sockets, switches, GPUs, cards and NVSwitches of a dump become a platform") {
  const NodeLayout read = layout(testing::switched_node);
  CHECK(read.count(DeviceKind::cpu) == 2);
  CHECK(read.count(DeviceKind::pcie_switch) == 2);
  CHECK(read.count(DeviceKind::gpu) == 4);
  CHECK(read.count(DeviceKind::nic) == 2);
  CHECK(read.nics.transport == Transport::infiniband);
  CHECK(read.nics.gpudirect == true);
  CHECK(read.nvlink == LinkKind::nvlink3);
  CHECK(read.socket_link == LinkKind::infinity_fabric);
  CHECK(profile_of_gpus(read) == "a100_sxm4_80gb");

  const Platform platform = testing::written_and_read(read, testing::answers("a100_sxm4_80gb"));
  CHECK(connection(platform, platform.gpus[0], platform.gpus[3]) == "NV12");
  CHECK(connection(platform, platform.gpus[0], platform.nics[0]) == "PIX");
  CHECK(connection(platform, platform.gpus[0], platform.nics[1]) == "SYS");
  CHECK(platform.fabric.nic.value == Bandwidth(25e9));
}

TEST_CASE("virtual network ports are left out beside InfiniBand, and a narrow link is kept with a warning") {
  const NodeLayout read = layout(testing::switched_node);
  CHECK(has(read.warnings, "docker0"));
  CHECK(has(read.warnings, "(16 GT/s on 8 lanes) is slower"));
  const PlatformDraft draft = make_platform(read, testing::answers("a100_sxm4_80gb"));
  bool found = false;
  for (const LinkFile& link : draft.file.node.links) found = found || link.lanes == 8;
  CHECK(found);
}

TEST_CASE("a written platform has the links of the dump, one for one") {
  const NodeLayout read = layout(testing::switched_node);
  const Platform platform = testing::written_and_read(read, testing::answers("a100_sxm4_80gb"));
  // 4 GPUs, 2 cards and 2 switches upwards, 4 to the NVSwitch, 1 between sockets
  CHECK(num_edges(platform.node) == 13);
  for (auto [edge, end] = edges(platform.node); edge != end; ++edge) {
    const Link& link = platform.node[*edge];
    if (link.kind == LinkKind::nvlink3) CHECK(link.bandwidth.value == Bandwidth(300e9));
    if (link.kind == LinkKind::pcie4 && link.lanes == 16) CHECK(link.bandwidth.value == Bandwidth(31.5e9));
    if (link.kind == LinkKind::pcie4 && link.lanes == 8) CHECK(link.bandwidth.value == Bandwidth(15.75e9));
  }
}

TEST_CASE("NVLinks to the GPU itself or to nothing are dropped; of one direction they are refused") {
  CHECK(has(layout(node(nvlink("0a", 4), "")).warnings, "to itself"));
  CHECK(layout(node(nvlink("0a", 4), "")).gpu_links.empty());
  CHECK(has(layout(node(nvlink("77", 4), "")).warnings, "not in the file"));
  const NodeLayout both = layout(node(nvlink("0b", 4), nvlink("0a", 4)));
  REQUIRE(both.gpu_links.size() == 1);
  CHECK(both.gpu_links[0].lanes == 4);
  CHECK(errors(node(nvlink("0b", 4), "")).find("has 4 lanes to gpu1") != std::string::npos);
  CHECK(errors(node(nvlink("0b", 12), nvlink("0a", 1))).find("in the opposite direction") !=
        std::string::npos);
}

TEST_CASE("a provider's file without GPU elements is read by class; without classes it is refused") {
  const std::string provider =
      R"(<system version="1"><cpu numaid="0"><pci busid="ffff:ff:01.0" class="0x060400" link_speed="16 GT/s" link_width="16">
      <pci busid="0001:00:00.0" class="0x030200" link_speed="16 GT/s" link_width="16"/>
      <pci busid="0101:00:00.0" class="0x020700" link_speed="16 GT/s" link_width="16"/></pci></cpu></system>)";
  const NodeLayout read = layout(provider);
  CHECK(read.count(DeviceKind::gpu) == 1);
  CHECK(read.count(DeviceKind::nic) == 1);
  CHECK_FALSE(read.nics.rate);
  PlatformAnswers answers = testing::answers("a100_sxm4_40gb");
  CHECK(make_platform(read, answers).file.fabric->nic->provenance == Provenance::assumed);
  answers.nic_rate = Bandwidth(25e9);
  CHECK(make_platform(read, answers).file.fabric->nic->value == Bandwidth(25e9));
  const std::string bare = with(with(provider, R"( class="0x030200")", ""), R"( class="0x020700")", "");
  CHECK(errors(bare).find("have no class") != std::string::npos);
}

TEST_CASE("ports of a card are one card; slower cards and cards under two sockets are left out") {
  const auto with_nets = [](const std::string& nets) {
    return with(
        node("", ""), "</cpu>",
        "<pci busid=\"0000:20:00.0\" class=\"0x020000\" link_speed=\"16 GT/s\" link_width=\"16\"><nic>" +
            nets + "</nic></pci></cpu>");
  };
  const auto net = [](const char* name, int speed, int port, const char* guid) {
    return std::string("<net name=\"") + name + "\" speed=\"" + std::to_string(speed) + "\" port=\"" +
           std::to_string(port) + "\" guid=\"" + guid + "\" gdr=\"1\"/>";
  };
  const NodeLayout two_ports =
      layout(with_nets(net("mlx5_0", 100000, 1, "0x1") + net("mlx5_1", 100000, 2, "0x1")));
  CHECK(two_ports.count(DeviceKind::nic) == 1);
  CHECK(two_ports.nics.rate == Bandwidth(25e9));
  CHECK(two_ports.nics.transport == Transport::roce);
  const NodeLayout two_cards =
      layout(with_nets(net("mlx5_0", 100000, 1, "0x1") + net("mlx5_1", 400000, 1, "0x2")));
  CHECK(two_cards.count(DeviceKind::nic) == 1);
  CHECK(has(two_cards.warnings, "mlx5_0"));
  const NodeLayout ethernet =
      layout(with_nets(net("eth0", 10000, 0, "0x0") + net("veth12", 10000, 0, "0x1")));
  CHECK(ethernet.count(DeviceKind::nic) == 1);
  CHECK(ethernet.nics.transport == Transport::tcp);
}

TEST_CASE("xGMI links of AMD's GPUs have a kind of their own and their rate") {
  std::string text = node(nvlink("0b", 1), nvlink("0a", 1));
  for (std::size_t at = 0; (at = text.find("nvlink", at)) != std::string::npos;) text.replace(at, 6, "xgmi");
  text = with(text, "sm=\"80\"", "sm=\"304\" gcn=\"gfx942\"");
  const NodeLayout read = layout(text);
  CHECK(read.is_xgmi);
  const PlatformDraft draft = make_platform(read, testing::answers("mi300x_192gb"));
  const LinkFile& link = draft.file.node.links.front();
  CHECK(link.kind == LinkKind::xgmi);
  CHECK(link.bandwidth.value == Bandwidth(64e9));
}

TEST_CASE("a full mesh of xGMI links has a ring for each link of a GPU, as RCCL finds them") {
  constexpr int gpus = 8;
  std::string text = "<system version=\"2\"><cpu numaid=\"0\" vendor=\"AuthenticAMD\">";
  for (int i = 0; i < gpus; ++i) {
    text += fmt::format(
        "<pci busid=\"0000:0{}:00.0\" class=\"0x120000\" vendor=\"0x1002\" device=\"0x74a1\" "
        "link_speed=\"32 GT/s\" link_width=\"16\"><gpu sm=\"304\" gcn=\"gfx942\">",
        i);
    for (int j = 0; j < gpus; ++j) {
      if (i != j) text += fmt::format("<xgmi target=\"0000:0{}:00.0\" count=\"1\" tclass=\"0x120000\"/>", j);
    }
    text += "</gpu></pci>";
  }
  const Platform platform =
      testing::written_and_read(layout(text + "</cpu></system>"), testing::answers("mi300x_192gb"));
  const Cluster cluster = make_cluster(platform, 1, gpus);
  CHECK(ring_channels(cluster).size() == gpus - 1);
}

TEST_CASE("NVLinks to switches that are listed once for each peer are a GPU's own, or refused") {
  const auto listed = [](const std::string& links) { return node(links, links); };
  const auto link = [](const char* bus, int count) {
    return with(nvlink(bus, count), "0x030200", "0x068000");
  };
  const NodeLayout each = layout(listed(link("0c", 12) + link("0d", 12) + link("0e", 12)));  // sm 80 has 12
  REQUIRE(each.gpu_links.size() == 2);
  CHECK(each.gpu_links[0].lanes == 12);
  CHECK(has(each.assumptions, "once for each peer"));
  const NodeLayout divided = layout(listed(link("0c", 4) + link("0d", 4) + link("0e", 2) + link("0f", 2)));
  CHECK(divided.gpu_links[0].lanes == 12);
  CHECK(divided.assumptions.empty());
  CHECK(errors(listed(link("0c", 12) + link("0d", 6))).find("has 18 NVLinks to NVSwitches") !=
        std::string::npos);
}

TEST_CASE("a link of width 0 has 16 lanes, assumed, also below an emulated bridge of one lane") {
  const NodeLayout read = layout(
      R"(<system version="1"><cpu numaid="0"><pci busid="0000:10:00.0" class="0x060400" link_speed="2.5 GT/s" link_width="1">
      <pci busid="0000:11:00.0" class="0x020000" link_speed="32 GT/s" link_width="0"><nic><net name="mlx5_0" speed="200000" port="1" guid="1"/></nic></pci>
      <pci busid="0000:13:00.0" class="0x030200" link_speed="32 GT/s" link_width="0"><gpu sm="90"/></pci></pci></cpu></system>)");
  CHECK(read.devices[read.of_kind(DeviceKind::gpu)[0]].up == PcieLink{32, 16});
  CHECK(read.devices[read.of_kind(DeviceKind::nic)[0]].up == PcieLink{32, 16});
  for (const LinkFile& link : make_platform(read, testing::answers("h100_sxm_80gb")).file.node.links) {
    if (link.lanes != 16) continue;
    CHECK(link.bandwidth.provenance == Provenance::assumed);
    CHECK(link.bandwidth.source.find("topo.cc") != std::string::npos);
  }
}

TEST_CASE("a file without NVLinks of a GPU that has them on its board is a warning with the option") {
  const auto warnings = [](const std::string& links, const char* profile, std::optional<int> answer) {
    PlatformAnswers answers = testing::answers(profile);
    answers.nvlink = answer;
    return make_platform(layout(node(links, with(links.empty() ? "0b" : links, "0b", "0a"))), answers)
        .warnings;
  };
  CHECK(has(warnings("", "h100_sxm_80gb", {}), "--nvlink 18"));
  CHECK(has(warnings("", "a100_sxm4_80gb", {}), "--nvlink 12"));
  CHECK_FALSE(has(warnings("", "a100_sxm4_80gb", 12), "--nvlink"));
  CHECK_FALSE(has(warnings("", "a100_sxm4_80gb", 0), "--nvlink"));
  CHECK_FALSE(has(warnings("", "a100_pcie_80gb", {}), "--nvlink"));  // bridges may be there or not
  CHECK_FALSE(has(warnings(nvlink("0b", 12), "a100_sxm4_80gb", {}), "--nvlink"));
}

TEST_CASE("a superchip's GPU reaches its socket over NVLink-C2C, and its tray is part of a rack") {
  std::string text = node("<c2c bw=\"22500\" count=\"10\"/>", "<c2c bw=\"22500\" count=\"10\"/>");
  text = with(text, "numaid=\"0\"", "numaid=\"0\" arch=\"arm64\" vendor=\"ARM\"");
  PlatformAnswers answers = testing::answers("gb200_186gb");
  answers.nvlink = 18;
  const PlatformDraft draft = make_platform(layout(text), answers);
  CHECK(has(draft.warnings, "gb200_nvl72"));
  int found = 0;
  for (const LinkFile& link : draft.file.node.links) {
    if (link.between[1] != "cpu0") continue;
    ++found;
    CHECK(link.between[0] == "gpu[0-1]");
    CHECK(link.bandwidth.value == Bandwidth(225e9));
    CHECK(link.bandwidth.provenance == Provenance::specified);
  }
  CHECK(found == 1);  // and no PCIe beside it
}

TEST_CASE("a speed in kbit/s, as Slingshot's plugin reports it, is that of the card") {
  const auto rate = [](const char* speed) {
    return layout(with(testing::switched_node, "speed=\"200000\"", std::string("speed=\"") + speed + "\""))
        .nics.rate;
  };
  CHECK(rate("200000000") == Bandwidth(25e9));
  CHECK(rate("400000000") == Bandwidth(50e9));
  CHECK(rate("800000") == Bandwidth(100e9));
}

TEST_CASE("hosts of a rack are nodes that have to be alike") {
  const auto host = [](const char* name, int gpus) {
    std::string text = std::string("<cpu numaid=\"0\" host_hash=\"") + name + "\">";
    for (int i = 0; i < gpus; ++i)
      text += "<pci busid=\"0000:0" + std::to_string(i) + ":00.0\" class=\"0x030200\"><gpu sm=\"90\"/></pci>";
    return text + "</cpu>";
  };
  const auto system = [](const std::string& hosts) { return "<system version=\"2\">" + hosts + "</system>"; };
  const NodeLayout read = layout(system(host("0x1", 4) + host("0x2", 4)));
  CHECK(read.count(DeviceKind::gpu) == 4);
  CHECK(has(read.warnings, "2 hosts"));
  CHECK(errors(system(host("0x1", 4) + host("0x2", 3))).find("hosts with 4 and 3 GPUs") != std::string::npos);
}

TEST_CASE("wrong nesting, repeated devices, wrong numbers and huge counts are refused with the line") {
  const std::string good = testing::switched_node;
  CHECK(errors(with(good, "<cpu numaid=\"0\"", "<net name=\"x\"/><cpu numaid=\"0\"")).find("outside <pci>") !=
        std::string::npos);
  CHECK(errors(with(good, "0000:03:00.0", "0000:02:00.0")).find(":7:1: error: bus '0000:02:00.0' twice") !=
        std::string::npos);
  CHECK(errors(with(good, "sm=\"80\"", "sm=\"many\"")).find("not a whole number") != std::string::npos);
  CHECK(errors(with(good, "count=\"12\"", "count=\"4000000\"")).find("with 4000000 lanes") !=
        std::string::npos);
  CHECK(errors(with(good, "link_width=\"16\"", "link_width=\"-1\"")).find("link_width") != std::string::npos);
  CHECK(errors(with(good, "</system>", "")).find("not well-formed") != std::string::npos);
  CHECK(errors("<system version=\"1\"/>").find("without <cpu>") != std::string::npos);
  CHECK(errors("<system version=\"1\"><cpu numaid=\"0\"/></system>").find("names no GPU") !=
        std::string::npos);
  std::string deep = "<system version=\"1\"><cpu>";
  for (int i = 0; i < 100; ++i) deep += "<pci busid=\"" + std::to_string(i) + "\">";
  for (int i = 0; i < 100; ++i) deep += "</pci>";
  CHECK(errors(deep + "</cpu></system>").find("deep") != std::string::npos);
  std::string many = "<system version=\"1\"><cpu>";
  for (int i = 0; i < 300; ++i) many += "<pci busid=\"" + std::to_string(i) + "\"><gpu/></pci>";
  CHECK(errors(many + "</cpu></system>").find("300 devices of kind gpu") != std::string::npos);
}

TEST_CASE("speeds that are missing are those of the switch above, or assumed") {
  const std::string text =
      with(testing::switched_node, R"(device="0x20b2" link_speed="16.0 GT/s PCIe" link_width="16")",
           R"(device="0x20b2" link_speed="" link_width="0")");
  const NodeLayout read = layout(text);
  CHECK(read.devices[read.of_kind(DeviceKind::gpu)[0]].up == PcieLink{16, 16});
  const NodeLayout flat = layout(with(node("", ""), "link_speed=\"16 GT/s\" link_width=\"16\"", ""));
  CHECK(flat.devices[flat.of_kind(DeviceKind::gpu)[0]].up == PcieLink{});
  const PlatformDraft draft = make_platform(flat, testing::answers("a100_pcie_80gb"));
  CHECK(draft.file.node.links.front().bandwidth.provenance == Provenance::assumed);
}
