// nvidia-smi -q, what other files are, and several files together.

#include "interchange/inputs.hpp"
#include "interchange/link_rates.hpp"
#include "interchange/smi_query.hpp"
#include "interchange/smi_topology.hpp"
#include "platform/connection.hpp"

#include <doctest/doctest.h>
#include <string>

using namespace trainyard;
using testing::input;
using testing::message_of;
using testing::with;

namespace {

std::string query_xml(int gpus, const std::string& mig = "Disabled") {
  std::string text =
      "<?xml version=\"1.0\" ?>\n<!DOCTYPE nvidia_smi_log SYSTEM \"nvsmi_device_v12.dtd\">\n"
      "<nvidia_smi_log>\n<driver_version>535.54</driver_version>\n<attached_gpus>" +
      std::to_string(gpus) + "</attached_gpus>\n";
  for (int i = 0; i < gpus; ++i) {
    text +=
        "<gpu id=\"0000000" + std::to_string(i) +
        ":01:00.0\"><product_name>NVIDIA A100-SXM4-40GB</product_name><mig_mode><current_mig>" + mig +
        "</current_mig></mig_mode><pci><pci_device_id>20B010DE</pci_device_id><pci_gpu_link_info><pcie_gen>"
        "<max_link_gen>4</max_link_gen></pcie_gen><link_widths><max_link_width>16x</max_link_width>"
        "<current_link_width>8x</current_link_width></link_widths></pci_gpu_link_info></pci>"
        "<fb_memory_usage><total>40960 MiB</total></fb_memory_usage></gpu>\n";
  }
  return text + "</nvidia_smi_log>\n";
}

constexpr const char* query_text =
    "\n==============NVSMI LOG==============\n\n"
    "Timestamp                                 : Fri Aug  4 11:44:30 2023\n"
    "Driver Version                            : 535.54.03\n\n"
    "Attached GPUs                             : 1\n"
    "GPU 00000000:01:00.0\n"
    "    Product Name                          : NVIDIA H100 80GB HBM3\n"
    "    MIG Mode\n"
    "        Current                           : Disabled\n"
    "    PCI\n"
    "        Bus                               : 0x01\n"
    "        Device Id                         : 0x233010DE\n"
    "        GPU Link Info\n"
    "            PCIe Generation\n"
    "                Max                       : 5\n"
    "                Current                   : 1\n"
    "            Link Width\n"
    "                Max                       : 16x\n"
    "                Current                   : 16x\n"
    "    FB Memory Usage\n"
    "        Total                             : 81559 MiB\n"
    "        Used                              : 4 MiB\n";

}  // namespace

TEST_CASE("nvidia-smi -q says product, memory and PCIe link, as XML and as text") {
  const SmiQuery xml = read_smi_query(input(query_xml(2)));
  REQUIRE(xml.gpus.size() == 2);
  CHECK(xml.gpus[1].product == "NVIDIA A100-SXM4-40GB");
  CHECK(xml.gpus[1].pci_device == "10de:20b0");
  CHECK(xml.gpus[1].pcie_generation == 4);
  CHECK(xml.gpus[1].memory == Bytes(40960.0 * 1048576));
  const SmiQuery text = read_smi_query(input(query_text));
  REQUIRE(text.gpus.size() == 1);
  CHECK(text.driver == "535.54.03");
  CHECK(text.gpus[0].product == "NVIDIA H100 80GB HBM3");
  CHECK(text.gpus[0].pcie_generation == 5);
  CHECK(text.gpus[0].pcie_lanes == 16);
  CHECK(text.gpus[0].memory == Bytes(81559.0 * 1048576));
  CHECK(profile_of_gpus(layout_of(text)) == "h100_sxm_80gb");
}

TEST_CASE("a matrix and nvidia-smi -q of the same node are joined") {
  const NodeLayout layout =
      read_node({{"topo.txt", testing::equal_matrix(2, "NV12")}, {"q.xml", query_xml(2)}});
  CHECK(profile_of_gpus(layout) == "a100_sxm4_40gb");
  const LayoutDevice& gpu = layout.devices[layout.of_kind(DeviceKind::gpu)[0]];
  CHECK(gpu.up == PcieLink{16, 8});
  CHECK(layout.warnings.size() == 2);  // 8 of 16 lanes, kept
  const auto other = message_of([] {
    read_node({{"topo.txt", testing::equal_matrix(4, "NV12")}, {"q.xml", query_xml(2)}});
  });
  CHECK(other.find("2 GPUs here, 4 in") != std::string::npos);
}

TEST_CASE("a divided GPU, other counts and a second file of a kind are refused") {
  CHECK(message_of([] { read_node({{"q.xml", query_xml(1, "Enabled")}}); }).find("MIG") != std::string::npos);
  const std::string cut = with(query_xml(2), "<attached_gpus>2", "<attached_gpus>8");
  CHECK(message_of([&] {
          read_node({{"q.xml", cut}});
        }).find("8 GPUs are attached, but 2") != std::string::npos);
  const std::string text = testing::equal_matrix(2, "PIX");
  CHECK(message_of([&] {
          read_node({{"a.txt", text}, {"b.txt", text}});
        }).find("of the same kind as a.txt") != std::string::npos);
}

TEST_CASE(
    "nvidia-smi -q of one GPU out of all holds for all, and MIG is the reason even if some are missing") {
  const std::string one = with(query_xml(1), "<attached_gpus>1", "<attached_gpus>2");
  const NodeLayout layout = read_node({{"topo.txt", testing::equal_matrix(2, "NV12")}, {"q.xml", one}});
  CHECK(layout.products.size() == 2);
  CHECK(profile_of_gpus(layout) == "a100_sxm4_40gb");
  const std::string divided = with(query_xml(1, "Enabled"), "<attached_gpus>1", "<attached_gpus>4");
  CHECK(message_of([&] { read_node({{"q.xml", divided}}); }).find("MIG") != std::string::npos);
}

TEST_CASE("files that would take long are refused at once") {
  std::string nets = "<system version=\"1\"><cpu><nic>";
  for (int i = 0; i < 5000; ++i)
    nets += "<net name=\"mlx5_" + std::to_string(i) + "\" port=\"1\" guid=\"" + std::to_string(i) + "\"/>";
  nets += "</nic><pci busid=\"0\"><gpu/></pci></cpu></system>";
  CHECK(message_of([&] {
          read_node({{"a.xml", nets}});
        }).find("more than 1280 devices") != std::string::npos);
  std::string attributes = "<system";
  for (int i = 0; i < 1000; ++i) attributes += " a" + std::to_string(i) + "=\"\"";
  CHECK(message_of([&] {
          read_node({{"a.xml", attributes + "/>"}});
        }).find("attributes") != std::string::npos);
}

TEST_CASE("files of other programs are named for what they are") {
  const auto error = [](const std::string& text) {
    return message_of([&] { recognise_node_file(input(text)); });
  };
  CHECK(error("<graphs version=\"1\"/>").find("graph dump of NCCL") != std::string::npos);
  CHECK(error("<topology version=\"2.0\"/>").find("topology of lstopo") != std::string::npos);
  CHECK(error("<?xml version='1.0'?>\n<platform version=\"4.1\"/>").find("SimGrid") != std::string::npos);
  CHECK(error("{\"traceEvents\": []}").find("Chrome trace") != std::string::npos);
  CHECK(error("# nThread 1 nGpus 8\n").find("nccl-tests") != std::string::npos);
  CHECK(error("name: x\nnode:\n  gpus: 1\n").find("trainyard") != std::string::npos);
  CHECK(error("<unheard/>").find("<'unheard'>") != std::string::npos);
  CHECK(error("==== ROCm System Management Interface ====\n       GPU0   GPU1\nGPU0   0      15\n")
            .find("NCCL_TOPO_DUMP_FILE") != std::string::npos);
  CHECK(error("LINK TYPE TABLE:\n 0000:05:00.0\n").find("amd-smi") != std::string::npos);
  CHECK(error("SwitchName=leaf1 Nodes=n[1-2]\n").find("docs/network.md") != std::string::npos);
  CHECK(error("hello\n").find("no description of a node") != std::string::npos);
}

TEST_CASE("binary, empty and UTF-16 files are refused before they are read") {
  CHECK(message_of([] { input(""); }).find("empty") != std::string::npos);
  CHECK(message_of([] { input(std::string_view("GPU0\0", 5)); }).find("binary") != std::string::npos);
  CHECK(message_of([] { input("\xff\xfeG"); }).find("UTF-16") != std::string::npos);
}

TEST_CASE("PCIe speeds are read in all their spellings") {
  CHECK(transfers_in("16.0 GT/s PCIe") == 16);
  CHECK(transfers_in("2.5 GT/s") == 2.5);
  CHECK(transfers_in("32 GT/s PCIe/s") == 32);
  CHECK_FALSE(transfers_in(""));
  CHECK_FALSE(transfers_in("Unknown"));
  CHECK_FALSE(transfers_in("-8 GT/s"));
  CHECK_FALSE(transfers_in("1e9 GT/s"));
  CHECK(pcie_bandwidth({8, 16}) == Bandwidth(15.75e9));
  CHECK(pcie_bandwidth({5, 8}) == Bandwidth(4e9));
  CHECK(pcie_bandwidth({32, 16}) == Bandwidth(63e9));
}

TEST_CASE("no change of a byte ends the program, whatever it does to the meaning") {
  for (const std::string& text : {std::string(testing::two_pairs), std::string(testing::switched_node),
                                  query_xml(2), std::string(query_text)}) {
    for (std::size_t at = 0; at < text.size(); at += 7) {
      for (const char c : {'\x01', '<', '>', '"', '9', ' ', '\n', '\xff'}) {
        std::string other = text;
        other[at] = c;
        try {
          const NodeLayout layout = read_node({input(other)});
          make_platform(layout, testing::answers("a100_sxm4_80gb"));
        } catch (const InputError&) {
        }
      }
      try {
        read_node({input(text.substr(0, at + 1))});
      } catch (const InputError&) {
      }
    }
  }
}
