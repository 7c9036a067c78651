#include "exports/nccl_topology_xml.hpp"

#include "config/diagnostic.hpp"
#include "interchange/known_gpus.hpp"
#include "interchange/pcie_rates.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <map>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

namespace trainyard {
namespace {

struct Neighbour {
  DeviceId device;
  const Link* link;
};

/// How NCCL knows a socket: by what its processor says of itself.
struct SocketNames {
  std::string_view arch, vendor;
  int family, model;
};

class TopologyWriter {
public:
  TopologyWriter(const Platform& platform, const GpuProfile& gpu) : platform_(platform), gpu_(gpu) {}

  std::string write() {
    if (platform_.ranks_on_processors || platform_.gpus.empty())
      throw InputError("NCCL's topology is one of GPUs, and this node has none");
    number_devices();
    text_ = "<system version=\"1\">\n";
    for (const DeviceId cpu : platform_.cpus) write_cpu(cpu);
    text_ += "</system>\n";
    check_all_are_written();
    return std::move(text_);
  }

private:
  [[nodiscard]] const Device& device(DeviceId id) const { return platform_.node[id]; }

  [[nodiscard]] std::vector<Neighbour> neighbours(DeviceId of) const {
    std::vector<Neighbour> found;
    const auto [begin, end] = boost::out_edges(of, platform_.node);
    for (auto edge = begin; edge != end; ++edge)
      found.push_back({boost::target(*edge, platform_.node), &platform_.node[*edge]});
    std::ranges::stable_sort(found, {}, [&](const Neighbour& one) {
      return std::pair(static_cast<int>(device(one.device).kind), device(one.device).number);
    });
    return found;
  }

  /// Of a device by its place in the graph, as no file of a platform says any.
  void number_devices() {
    const auto [begin, end] = boost::vertices(platform_.node);
    unsigned number = 0;
    constexpr unsigned of_domain = 256;
    for (auto id = begin; id != end; ++id) {
      if (device(*id).kind == DeviceKind::cpu) continue;
      ++number;
      bus_[*id] = fmt::format("{:04x}:{:02x}:00.0", number / of_domain, number % of_domain);
    }
  }

  /// By the link to the next socket; of a single one an assumed name, since NCCL takes none without.
  [[nodiscard]] SocketNames names_of(DeviceId cpu) const {
    for (const Neighbour& one : neighbours(cpu)) {
      if (device(one.device).kind != DeviceKind::cpu) continue;
      switch (one.link->kind) {
        case LinkKind::qpi:
          return SocketNames{"x86_64", "GenuineIntel", 6, 79};  // Broadwell
        case LinkKind::upi:
          return SocketNames{"x86_64", "GenuineIntel", 6, 85};  // Skylake
        case LinkKind::infinity_fabric:
          return SocketNames{"x86_64", "AuthenticAMD", 23, 49};  // Rome
        case LinkKind::xbus:
          return SocketNames{"ppc64", "", 0, 0};
        default:
          break;
      }
    }
    return SocketNames{"x86_64", "GenuineIntel", 6, 85};
  }

  void write_cpu(DeviceId cpu) {
    text_ += fmt::format("  <cpu numaid=\"{}\"", device(cpu).number);
    const SocketNames names = names_of(cpu);
    text_ += fmt::format(" arch=\"{}\"", names.arch);
    if (!names.vendor.empty())
      text_ += fmt::format(" vendor=\"{}\" familyid=\"{}\" modelid=\"{}\"", names.vendor, names.family,
                           names.model);
    text_ += ">\n";
    write_below(cpu, cpu, 2);
    text_ += "  </cpu>\n";
  }

  void write_below(DeviceId above, DeviceId from, int depth) {
    for (const Neighbour& one : neighbours(above)) {
      const DeviceKind kind = device(one.device).kind;
      if (one.device == from || !is_pcie(one.link->kind) || kind == DeviceKind::cpu) continue;
      const auto [known, is_new] = parent_.emplace(one.device, above);
      if (!is_new)
        throw InputError(fmt::format("{} is below {} and below {}", device(one.device).name,
                                     device(known->second).name, device(above).name),
                         "NCCL's topology is a tree");
      write_pci(one.device, above, *one.link, depth);
    }
  }

  void write_pci(DeviceId id, DeviceId above, const Link& up, int depth) {
    const std::string margin(2 * static_cast<std::size_t>(depth), ' ');
    const DeviceKind kind = device(id).kind;
    text_ += fmt::format("{}<pci busid=\"{}\" class=\"{}\"", margin, bus_.at(id), class_of(kind));
    if (kind == DeviceKind::gpu) text_ += pci_ids();
    text_ +=
        fmt::format(" link_speed=\"{:.1f} GT/s PCIe\" link_width=\"{}\">\n", transfers_of(up.kind), up.lanes);
    if (kind == DeviceKind::gpu) write_gpu(id, margin + "  ");
    if (kind == DeviceKind::nic) write_nic(id, margin + "  ");
    write_below(id, above, depth + 1);
    text_ += fmt::format("{}</pci>\n", margin);
  }

  [[nodiscard]] std::string_view class_of(DeviceKind kind) const {
    if (kind == DeviceKind::gpu) return "0x030200";
    if (kind != DeviceKind::nic) return "0x060400";
    return platform_.fabric.transport == Transport::infiniband ? "0x020700" : "0x020000";
  }

  /// By which `trainyard init platform` and NCCL's plugins know the product.
  [[nodiscard]] std::string pci_ids() const {
    for (const KnownGpu& known : known_gpus()) {
      if (known.profile != gpu_.name || known.pci_devices.empty() || !known.remark.empty()) continue;
      const std::string_view id = known.pci_devices.front();
      return fmt::format(" vendor=\"0x{}\" device=\"0x{}\"", id.substr(0, 4), id.substr(5));
    }
    return {};
  }

  static double transfers_of(LinkKind kind) {
    return transfers_of_generation(3 + static_cast<int>(kind) - static_cast<int>(LinkKind::pcie3));
  }

  void write_gpu(DeviceId id, const std::string& margin) {
    const int number = device(id).number;
    text_ += fmt::format("{0}<gpu dev=\"{1}\" sm=\"{2}\" rank=\"{1}\" gdr=\"{3}\">\n", margin, number,
                         compute_capability(gpu_), platform_.fabric.gpudirect.value ? 1 : 0);
    for (const Neighbour& one : neighbours(id)) {
      if (is_pcie(one.link->kind)) continue;
      const DeviceKind kind = device(one.device).kind;
      if (!is_nvlink(one.link->kind) || kind == DeviceKind::cpu)
        throw InputError(fmt::format("{} and {} are joined by {}", device(id).name, device(one.device).name,
                                     config::name_of(one.link->kind)),
                         "only NVLinks between GPUs and to NVSwitches can be exported");
      text_ +=
          fmt::format("{}  <nvlink target=\"{}\" count=\"{}\" tclass=\"{}\"/>\n", margin, bus_.at(one.device),
                      one.link->lanes, kind == DeviceKind::gpu ? "0x030200" : "0x068000");
    }
    text_ += margin + "</gpu>\n";
  }

  void write_nic(DeviceId id, const std::string& margin) {
    const bool reaches_fabric =
        platform_.fabric.exists() && std::ranges::find(platform_.nics, id) != platform_.nics.end();
    if (!reaches_fabric) {
      text_ += margin + "<nic/>\n";
      return;
    }
    const int number = device(id).number;
    const bool is_socket = platform_.fabric.transport == Transport::tcp;
    text_ += fmt::format(
        "{0}<nic>\n{0}  <net name=\"nic{1}\" dev=\"{1}\" speed=\"{2}\" port=\"{3}\" guid=\"0x{4:x}\" "
        "gdr=\"{5}\"/>\n{0}</nic>\n",
        margin, number, std::llround(platform_.fabric.nic.value.si() * 8 / 1e6), is_socket ? 0 : 1,
        number + 1, platform_.fabric.gpudirect.value ? 1 : 0);
  }

  void check_all_are_written() const {
    for (const DeviceId gpu : platform_.gpus) {
      if (!parent_.contains(gpu))
        throw InputError(fmt::format("{} is below no socket over PCIe", device(gpu).name),
                         "NCCL's topology has a GPU only there");
    }
    const auto [begin, end] = boost::vertices(platform_.node);
    for (auto id = begin; id != end; ++id) {
      const DeviceKind kind = device(*id).kind;
      if (kind == DeviceKind::cpu || kind == DeviceKind::nvswitch || parent_.contains(*id)) continue;
      throw InputError(fmt::format("{} is below no socket over PCIe", device(*id).name));
    }
  }

  const Platform& platform_;
  const GpuProfile& gpu_;
  std::map<DeviceId, std::string> bus_;
  std::map<DeviceId, DeviceId> parent_;
  std::string text_;
};

}  // namespace

std::string nccl_topology_xml(const Platform& platform, const GpuProfile& gpu) {
  return TopologyWriter(platform, gpu).write();
}

}  // namespace trainyard
