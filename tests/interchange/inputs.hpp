#pragma once
// Small descriptions of nodes, written for these tests.

#include "config/document.hpp"
#include "errors_of.hpp"
#include "interchange/make_platform.hpp"
#include "interchange/platform_text.hpp"
#include "interchange/recognise.hpp"
#include "platform/load.hpp"
#include "platform/platform.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace trainyard::testing {

/// Four GPUs in two pairs, a card below each pair's switch.
inline constexpr const char* two_pairs =
    "\tGPU0\tGPU1\tGPU2\tGPU3\tNIC0\tNIC1\tCPU Affinity\tNUMA Affinity\n"
    "GPU0\t X \tNV4\tSYS\tSYS\tPIX\tSYS\t0-15\t0\n"
    "GPU1\tNV4\t X \tSYS\tSYS\tPIX\tSYS\t0-15\t0\n"
    "GPU2\tSYS\tSYS\t X \tNV4\tSYS\tPXB\t16-31\t1\n"
    "GPU3\tSYS\tSYS\tNV4\t X \tSYS\tPXB\t16-31\t1\n"
    "NIC0\tPIX\tPIX\tSYS\tSYS\t X \tSYS\n"
    "NIC1\tSYS\tSYS\tPXB\tPXB\tSYS\t X \n"
    "\n"
    "Legend:\n\n"
    "  X    = Self\n"
    "  PIX  = Connection traversing at most a single PCIe bridge\n\n"
    "NIC Legend:\n\n"
    "  NIC0: mlx5_0\n"
    "  NIC1: mlx5_1\n";

/// A matrix of GPUs that are all joined in the same way.
inline std::string equal_matrix(int gpus, const std::string& cell) {
  std::string text;
  for (int i = 0; i < gpus; ++i) text += "  GPU" + std::to_string(i);
  text += "  CPU Affinity  NUMA Affinity\n";
  for (int i = 0; i < gpus; ++i) {
    text += "GPU" + std::to_string(i);
    for (int j = 0; j < gpus; ++j) text += i == j ? "  X" : "  " + cell;
    text += i < (gpus + 1) / 2 ? "  0-31  0\n" : "  32-63  1\n";
  }
  return text;
}

/// Two sockets, each with a switch that has two GPUs and a card; NVLinks to one NVSwitch.
inline constexpr const char* switched_node = R"(<system version="1">
  <cpu numaid="0" arch="x86_64" vendor="AuthenticAMD" familyid="143" modelid="49">
    <pci busid="0000:01:00.0" class="0x060400" link_speed="16.0 GT/s PCIe" link_width="16">
      <pci busid="0000:02:00.0" class="0x030200" vendor="0x10de" device="0x20b2" link_speed="16.0 GT/s PCIe" link_width="16">
        <gpu dev="0" sm="80" rank="0" gdr="1"><nvlink target="0000:c1:00.0" count="12" tclass="0x068000"/></gpu>
      </pci>
      <pci busid="0000:03:00.0" class="0x030200" vendor="0x10de" device="0x20b2" link_speed="16.0 GT/s PCIe" link_width="16">
        <gpu dev="1" sm="80" rank="1" gdr="1"><nvlink target="0000:c1:00.0" count="12" tclass="0x068000"/></gpu>
      </pci>
      <pci busid="0000:04:00.0" class="0x020700" link_speed="16.0 GT/s PCIe" link_width="16">
        <nic><net name="mlx5_0" dev="0" speed="200000" port="1" guid="0x1" gdr="1"/></nic>
      </pci>
    </pci>
    <nic><net name="docker0" dev="9" speed="10000" port="0" guid="0x9" gdr="0"/></nic>
  </cpu>
  <cpu numaid="1" arch="x86_64" vendor="AuthenticAMD" familyid="143" modelid="49">
    <pci busid="0000:81:00.0" class="0x060400" link_speed="16.0 GT/s PCIe" link_width="8">
      <pci busid="0000:82:00.0" class="0x030200" vendor="0x10de" device="0x20b2" link_speed="16.0 GT/s PCIe" link_width="16">
        <gpu dev="2" sm="80" rank="2" gdr="1"><nvlink target="0000:c1:00.0" count="12" tclass="0x068000"/></gpu>
      </pci>
      <pci busid="0000:83:00.0" class="0x030200" vendor="0x10de" device="0x20b2" link_speed="16.0 GT/s PCIe" link_width="16">
        <gpu dev="3" sm="80" rank="3" gdr="1"><nvlink target="0000:c1:00.0" count="12" tclass="0x068000"/></gpu>
      </pci>
      <pci busid="0000:84:00.0" class="0x020700" link_speed="16.0 GT/s PCIe" link_width="16">
        <nic><net name="mlx5_1" dev="1" speed="200000" port="1" guid="0x2" gdr="1"/></nic>
      </pci>
    </pci>
  </cpu>
</system>
)";

inline InputText input(std::string_view text) { return plain_input("node.txt", text); }

/// All messages and hints of the InputError that `read` throws; empty if it throws none.
template <class Read>
std::string message_of(Read read) {
  std::string text;
  for (const Diagnostic& diagnostic : errors_of(read)) text += to_string(diagnostic) + '\n';
  return text;
}

/// The text with another in place of the first match.
inline std::string with(std::string text, const std::string& from, const std::string& to) {
  return text.replace(text.find(from), from.size(), to);
}

inline PlatformAnswers answers(const std::string& gpu) {
  PlatformAnswers answers;
  answers.name = "mine";
  answers.gpu = gpu;
  return answers;
}

/// The platform that the program would write, read again.
inline Platform written_and_read(const NodeLayout& layout, const PlatformAnswers& given) {
  return load_platform(config::parse("mine.yaml", platform_text(make_platform(layout, given))));
}

}  // namespace trainyard::testing
