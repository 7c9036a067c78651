#include "interchange/nccl_topology.hpp"

#include "interchange/xml.hpp"
#include "units/text.hpp"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <fmt/format.h>
#include <set>

namespace trainyard {
namespace {

std::string lower(std::string_view text) {
  std::string result(text);
  std::ranges::transform(result, result.begin(), [](unsigned char c) { return std::tolower(c); });
  return result;
}

/// A whole number, decimal or with 0x.
int whole(const InputText& input, const XmlElement& element, std::string_view name, int otherwise) {
  std::string_view text = element.attribute(name);
  if (text.empty()) return otherwise;
  const std::string_view written = text;
  const bool is_hexadecimal = text.starts_with("0x") || text.starts_with("0X");
  if (is_hexadecimal) text.remove_prefix(2);
  int number = 0;
  const auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), number, is_hexadecimal ? 16 : 10);
  if (error != std::errc{} || end != text.data() + text.size()) {
    throw input_error(
        input.name, element.line,
        fmt::format("{} of <{}> is {}, not a whole number", name, element.name, shown(written)));
  }
  return number;
}

std::optional<bool> flag(const XmlElement& element, std::string_view name) {
  if (!element.has(name)) return std::nullopt;
  return element.attribute(name) != "0";
}

InputError misplaced(const InputText& input, const XmlElement& element, const std::string& place) {
  return input_error(input.name, element.line, fmt::format("<{}> outside <{}>", element.name, place),
                     "NCCL writes <system>, <cpu>, <pci>, then <gpu> or <nic>");
}

class NcclReader {
public:
  explicit NcclReader(const InputText& input) : input_(input) {}

  NcclTopology read() {
    const XmlElement root = parse_xml(input_);
    NcclTopology topology;
    topology.file = input_.name;
    topology.version = whole(input_, root, "version", 0);
    for (const XmlElement& child : root.children) {
      if (child.name == "cpu") topology.cpus.push_back(cpu(child));
      if (child.name == "pci" || child.name == "gpu" || child.name == "net")
        throw misplaced(input_, child, child.name == "pci" ? "cpu" : "pci");
    }
    if (topology.cpus.empty()) {
      throw input_error(input_.name, root.line, "a topology without <cpu>",
                        "NCCL writes one with NCCL_TOPO_DUMP_FILE=topo.xml");
    }
    return topology;
  }

private:
  NcclNet net(const XmlElement& element) {
    NcclNet net;
    net.name = element.attribute("name");
    net.megabits = whole(input_, element, "speed", 0);
    // The plugin of Slingshot's cards (cxi) reports kbit/s: 200000000 is 200 Gb/s.
    constexpr double most_megabits = 1e7;  // 10 Tb/s
    constexpr double kilobits = 1000;
    if (net.megabits >= most_megabits) net.megabits /= kilobits;
    if (net.megabits < 0) {
      throw input_error(input_.name, element.line, fmt::format("a speed of {} Mbit/s", net.megabits));
    }
    net.port = whole(input_, element, "port", 0);
    net.guid = element.attribute("guid");
    net.gdr = flag(element, "gdr");
    return net;
  }

  std::vector<NcclNet> nets(const XmlElement& nic) {
    std::vector<NcclNet> all;
    for (const XmlElement& child : nic.children) {
      if (child.name == "net") all.push_back(net(child));
    }
    return all;
  }

  NcclGpu gpu(const XmlElement& element) {
    NcclGpu gpu;
    gpu.sm = whole(input_, element, "sm", 0);
    gpu.gcn = element.attribute("gcn");
    gpu.gdr = flag(element, "gdr");
    for (const XmlElement& child : element.children) {
      NcclLink link;
      if (child.name == "nvlink")
        link.kind = NcclLink::Kind::nvlink;
      else if (child.name == "xgmi")
        link.kind = NcclLink::Kind::xgmi;
      else if (child.name == "c2c")
        link.kind = NcclLink::Kind::c2c;
      else
        continue;
      link.target = lower(child.attribute("target"));
      link.target_class = lower(child.attribute("tclass"));
      link.count = whole(input_, child, "count", 1);
      link.megabytes = whole(input_, child, "bw", 0);
      link.line = child.line;
      constexpr int most = 256;
      if (link.count < 1 || link.count > most) {
        throw input_error(input_.name, child.line, fmt::format("<{}> with {} lanes", child.name, link.count),
                          "1 to 256");
      }
      gpu.links.push_back(link);
    }
    return gpu;
  }

  NcclPci pci(const XmlElement& element) {
    NcclPci pci;
    pci.bus = lower(element.attribute("busid"));
    if (pci.bus.empty()) throw input_error(input_.name, element.line, "<pci> without busid");
    if (!buses_.insert(pci.bus).second) {
      throw input_error(input_.name, element.line, fmt::format("bus {} twice", shown(pci.bus)),
                        "each device stands once in the tree");
    }
    pci.pci_class = lower(element.attribute("class"));
    pci.vendor = lower(element.attribute("vendor"));
    pci.device = lower(element.attribute("device"));
    pci.speed = element.attribute("link_speed");
    pci.width = whole(input_, element, "link_width", 0);
    if (pci.width < 0 || pci.width > 64) {
      throw input_error(input_.name, element.line, fmt::format("link_width of {} lanes", pci.width));
    }
    pci.line = element.line;
    for (const XmlElement& child : element.children) {
      if (child.name == "pci") pci.children.push_back(this->pci(child));
      if (child.name == "gpu") pci.gpu = gpu(child);
      if (child.name == "cpu") throw misplaced(input_, child, "system");
      if (child.name == "nic") {
        pci.has_nic = true;
        std::ranges::move(nets(child), std::back_inserter(pci.nets));
      }
    }
    return pci;
  }

  NcclCpu cpu(const XmlElement& element) {
    NcclCpu cpu;
    cpu.numa = whole(input_, element, "numaid", -1);
    cpu.arch = element.attribute("arch");
    cpu.vendor = element.attribute("vendor");
    cpu.host = element.attribute("host_hash");
    cpu.model = whole(input_, element, "modelid", 0);
    if (cpu.host != host_) buses_.clear();  // bus numbers are those of a host
    host_ = cpu.host;
    for (const XmlElement& child : element.children) {
      if (child.name == "pci") cpu.pci.push_back(pci(child));
      if (child.name == "nic") std::ranges::move(nets(child), std::back_inserter(cpu.nets));
      if (child.name == "cpu") throw misplaced(input_, child, "system");
      if (child.name == "gpu") throw misplaced(input_, child, "pci");
    }
    return cpu;
  }

  const InputText& input_;
  std::set<std::string> buses_;
  std::string host_;
};

}  // namespace

bool is_gpu(const NcclPci& pci) {
  if (pci.gpu) return true;
  for (const char* const known : {"0x0302", "0x0300", "0x0380", "0x1200"}) {
    if (pci.pci_class.starts_with(known)) return pci.children.empty() && !pci.has_nic;
  }
  return false;
}

bool is_nic(const NcclPci& pci) {
  return !pci.gpu &&
         (pci.has_nic || pci.pci_class.starts_with("0x0200") || pci.pci_class.starts_with("0x0207"));
}

bool is_nvswitch(const NcclPci& pci) { return pci.pci_class.starts_with("0x0680"); }

NcclTopology read_nccl_topology(const InputText& input) { return NcclReader(input).read(); }

}  // namespace trainyard
