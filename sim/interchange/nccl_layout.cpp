// The tree of NCCL's topology as a layout: which links and cards count, and what is dropped.

#include "interchange/link_rates.hpp"
#include "interchange/nccl_topology.hpp"
#include "units/plural.hpp"
#include "units/text.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <map>
#include <numeric>
#include <set>
#include <utility>

namespace trainyard {
namespace {

/// Bridges and containers of the operating system: no cards.
bool is_virtual(const std::string& name) {
  for (const char* const prefix : {"docker", "veth", "br-", "virbr", "lxc", "lxd", "lo", "cni", "flannel",
                                   "cali", "tun", "tap", "vnet"}) {
    if (name.starts_with(prefix)) return true;
  }
  return false;
}

/// NVLinks of a GPU. Source: NVIDIA's data sheets of P100, V100, A100, H100 and B200.
int own_nvlinks(int sm) {
  if (sm >= 90 || sm == 0) return 18;
  if (sm >= 80) return 12;
  return sm >= 70 ? 6 : 4;
}

LinkKind nvlink_of(int sm) {
  if (sm < 70) return LinkKind::nvlink1;
  if (sm < 80) return LinkKind::nvlink2;
  if (sm < 90) return LinkKind::nvlink3;
  return sm < 100 ? LinkKind::nvlink4 : LinkKind::nvlink5;
}

/// A card of the platform: the ports of one PCI device with the same guid.
struct Card {
  int parent = -1;  ///< place in the layout; -1: not yet known
  PcieLink up = {};
  std::string name = {};
  std::vector<NcclNet> ports = {};
  std::string pci_class = {}, vendor = {};
  std::string assumed = {};  ///< as LayoutDevice has it
};

constexpr int lanes_unless_stated = 16;

class TreeLayout {
public:
  explicit TreeLayout(const NcclTopology& topology) : topology_(topology) {
    layout_.origin = "NCCL's topology (" + base_name(topology.file) + ")";
  }

  NodeLayout make() {
    const std::vector<const NcclCpu*> cpus = first_host();
    for (const NcclCpu* cpu : cpus) add_cpu(*cpu);
    add_cards();
    add_gpu_links();
    note_sockets(cpus);
    check_counts(layout_, topology_.file);
    note_unknown_links();
    return std::move(layout_);
  }

private:
  std::vector<const NcclCpu*> first_host() {
    std::map<std::string, std::vector<const NcclCpu*>> hosts;
    for (const NcclCpu& cpu : topology_.cpus) hosts[cpu.host].push_back(&cpu);
    const std::vector<const NcclCpu*> first = hosts[topology_.cpus.front().host];
    for (const auto& [host, cpus] : hosts) {
      if (gpus_below(cpus) == gpus_below(first)) continue;
      throw input_error(topology_.file, 0,
                        fmt::format("hosts with {} and {} GPUs", gpus_below(first), gpus_below(cpus)),
                        "all nodes of a platform are alike: describe one of them");
    }
    if (hosts.size() > 1) {
      layout_.warnings.push_back(
          fmt::format("the file has {} hosts: the platform's node is the first", hosts.size()));
    }
    return first;
  }

  static int gpus_below(const std::vector<NcclPci>& devices) {
    int count = 0;
    for (const NcclPci& pci : devices) count += int{is_gpu(pci)} + gpus_below(pci.children);
    return count;
  }
  static int gpus_below(const std::vector<const NcclCpu*>& cpus) {
    int count = 0;
    for (const NcclCpu* cpu : cpus) count += gpus_below(cpu->pci);
    return count;
  }

  int add(LayoutDevice device) {
    if (layout_.devices.size() >= most_layout_devices) throw too_many_devices(topology_.file);
    layout_.devices.push_back(std::move(device));
    return static_cast<int>(layout_.devices.size()) - 1;
  }

  void add_cpu(const NcclCpu& cpu) {
    const int place = add({DeviceKind::cpu, -1, {}, fmt::format("NUMA node {}", cpu.numa)});
    if (cpu.numa < 0) layout_.is_affinity_known = false;
    for (const NcclPci& pci : cpu.pci) add_pci(pci, place, {});
    for (const NcclNet& net : cpu.nets) {
      if (cards_.size() >= most_layout_devices) throw too_many_devices(topology_.file);
      cards_.push_back({.parent = place, .name = net.name, .ports = {net}});
    }
  }

  /// `above`: the link of the switch above, for devices whose own is not stated.
  void add_pci(const NcclPci& pci, int parent, const PcieLink& above) {
    PcieLink up{transfers_in(pci.speed).value_or(0), pci.width};
    std::string assumed;
    if (up.transfers == 0 || up.lanes == 0) {
      if (!pci.speed.empty() || pci.width != 0) unstated_.push_back(pci.bus);
      // The bridges above a device of a virtual machine are emulated, often as one slow lane.
      if (up.transfers != 0) {
        up.lanes = lanes_unless_stated;
        assumed = fmt::format("link_width 0 counts as {} lanes, as NCCL takes it; NCCL src/graph/topo.cc",
                              lanes_unless_stated);
      } else {
        up.transfers = above.transfers;
        if (up.lanes == 0) up.lanes = above.lanes;
      }
    }
    if (is_gpu(pci)) {
      add_gpu(pci, {DeviceKind::gpu, parent, up, pci.bus, assumed});
    } else if (is_nic(pci)) {
      add_ports(pci, {.parent = parent, .up = up, .assumed = assumed});
    } else if (!pci.children.empty()) {
      const int place = add({DeviceKind::pcie_switch, parent, up, pci.bus, assumed});
      for (const NcclPci& child : pci.children) add_pci(child, place, up);
      note_narrow(place);
    } else if (pci.pci_class.empty()) {
      ++without_class_;
    }
  }

  /// A switch whose link upwards is slower than all below it: the fault that such files are read for.
  void note_narrow(int place) {
    const PcieLink& up = layout_.devices[place].up;
    if (up.transfers == 0 || up.lanes == 0) return;
    Bandwidth below;
    for (const LayoutDevice& device : layout_.devices) {
      if (device.parent == place && device.up.transfers != 0)
        below = std::max(below, pcie_bandwidth(device.up));
    }
    if (pcie_bandwidth(up) < below) {
      narrow_[fmt::format("{} GT/s on {} lanes", shortest(up.transfers), up.lanes)].push_back(
          layout_.devices[place].name);
    }
  }

  void add_gpu(const NcclPci& pci, LayoutDevice gpu) {
    const int place = add(std::move(gpu));
    gpu_places_[pci.bus] = place;
    gpus_.emplace_back(place, &pci);
    const auto short_id = [](const std::string& id) { return id.starts_with("0x") ? id.substr(2) : id; };
    layout_.pci_devices.push_back(pci.device.empty() ? std::string()
                                                     : short_id(pci.vendor) + ':' + short_id(pci.device));
  }

  /// Ports of one card share a guid; a virtual machine may show several cards as one device.
  void add_ports(const NcclPci& pci, Card card) {
    card.pci_class = pci.pci_class;
    card.vendor = pci.vendor;
    card.name = pci.bus;
    if (pci.nets.empty()) cards_.push_back(card);
    const std::size_t before = cards_.size();
    for (const NcclNet& net : pci.nets) {
      if (cards_.size() >= most_layout_devices) throw too_many_devices(topology_.file);
      const auto same =
          std::find_if(cards_.begin() + static_cast<std::ptrdiff_t>(before), cards_.end(),
                       [&](const Card& one) { return net.port > 0 && one.ports.front().guid == net.guid; });
      if (same != cards_.end()) {
        same->ports.push_back(net);
        continue;
      }
      card.name = net.name;
      card.ports = {net};
      cards_.push_back(card);
    }
  }

  /// A port under several sockets counts once.
  void drop_repeated_ports() {
    std::set<std::pair<std::string, std::string>> seen;
    std::erase_if(cards_, [&](const Card& card) {
      if (card.ports.empty()) return false;
      const NcclNet& port = card.ports.front();
      return !seen.emplace(port.name, port.port > 0 ? port.guid : std::string()).second;
    });
  }

  static double speed_of(const Card& card) {
    double most = 0;
    for (const NcclNet& port : card.ports) most = std::max(most, port.megabits);
    return most;
  }

  /// Keeps those for which `is_kept` holds, and names the omitted ones.
  template <class IsKept>
  void keep_cards(const IsKept& is_kept, const std::string& why) {
    std::vector<std::string> dropped;
    for (const Card& card : cards_) {
      if (is_kept(card)) continue;
      for (const NcclNet& port : card.ports) dropped.push_back(port.name);
    }
    std::erase_if(cards_, [&](const Card& card) { return !is_kept(card); });
    if (!dropped.empty()) {
      layout_.warnings.push_back(fmt::format("{} left out ({}): {}",
                                             plural(std::ssize(dropped), "network port"), why,
                                             fmt::join(dropped, ", ")));
    }
  }

  void add_cards() {
    drop_repeated_ports();
    const auto is_hca = [](const Card& card) {
      return card.ports.empty() || std::ranges::any_of(card.ports, [](const auto& p) { return p.port > 0; });
    };
    const auto is_real = [](const Card& card) { return card.ports.empty() || !is_virtual(card.name); };
    if (std::ranges::any_of(cards_, is_hca)) {
      keep_cards(is_hca, "no InfiniBand or RoCE");
    } else if (std::ranges::any_of(cards_, is_real)) {
      keep_cards(is_real, "virtual");
    }
    double fastest = 0;
    for (const Card& card : cards_) fastest = std::max(fastest, speed_of(card));
    keep_cards([&](const Card& card) { return speed_of(card) == fastest; }, "slower than the others");
    if (cards_.empty()) return;
    for (const Card& card : cards_) add({DeviceKind::nic, card.parent, card.up, card.name, card.assumed});
    describe_cards(fastest);
  }

  void describe_cards(double megabits) {
    LayoutNics& nics = layout_.nics;
    std::size_t ports = 0;
    bool is_ethernet = true, is_socket = false, is_efa = false;
    for (const Card& card : cards_) {
      ports = std::max(ports, card.ports.size());
      is_ethernet = is_ethernet && !card.pci_class.starts_with("0x0207");
      is_efa = is_efa || card.vendor == "0x1d0f";
      for (const NcclNet& port : card.ports) {
        is_socket = is_socket || port.port == 0;
        if (port.gdr) nics.gpudirect = nics.gpudirect.value_or(true) && *port.gdr;
      }
    }
    nics.ports = static_cast<int>(std::max<std::size_t>(ports, 1));
    if (megabits > 0) nics.rate = Bandwidth(megabits * 1e6 / 8 * nics.ports);
    const bool has_class = std::ranges::any_of(cards_, [](const Card& c) { return !c.pci_class.empty(); });
    if (is_efa) {
      nics.transport = Transport::efa;
    } else if (is_socket) {
      nics.transport = Transport::tcp;
    } else if (has_class) {
      nics.transport = is_ethernet ? Transport::roce : Transport::infiniband;
    }
    if (nics.ports > 1) {
      layout_.assumptions.push_back(
          fmt::format("the {} ports of a card are one card of their rate together", nics.ports));
    }
  }

  void add_gpu_links() {
    std::map<std::pair<int, int>, int> lanes;     // by both ends, in this direction
    std::map<int, std::vector<int>> to_switches;  // by GPU
    std::vector<std::string> to_itself, to_nowhere;
    for (const auto& [place, pci] : gpus_) {
      if (!pci->gpu) continue;
      if (pci->gpu->sm != 0 && pci->gpu->gcn.empty()) layout_.nvlink = nvlink_of(pci->gpu->sm);
      if (!pci->gpu->gcn.empty()) layout_.amd_generation = pci->gpu->gcn;
      if (pci->gpu->gdr && !*pci->gpu->gdr) layout_.nics.gpudirect = false;
      for (const NcclLink& link : pci->gpu->links) {
        if (link.kind == NcclLink::Kind::c2c) {
          add_c2c(place, link);
          continue;
        }
        layout_.is_xgmi = layout_.is_xgmi || link.kind == NcclLink::Kind::xgmi;
        const auto target = gpu_places_.find(link.target);
        if (link.target_class.starts_with("0x0680")) {
          to_switches[place].push_back(link.count);
        } else if (link.target == pci->bus) {
          to_itself.push_back(pci->bus);
        } else if (target == gpu_places_.end()) {
          to_nowhere.push_back(fmt::format("{} to {}", pci->bus, link.target));
        } else {
          lanes[{place, target->second}] += link.count;
        }
      }
    }
    const std::string_view kind = layout_.is_xgmi ? "xGMI" : "NVLink";
    if (!to_itself.empty())
      layout_.warnings.push_back(
          fmt::format("{}s of a GPU to itself are left out: {}", kind, fmt::join(to_itself, ", ")));
    if (!to_nowhere.empty())
      layout_.warnings.push_back(fmt::format("{}s to devices that are not in the file are left out: {}", kind,
                                             fmt::join(to_nowhere, ", ")));
    for (const auto& [ends, count] : lanes) {
      const auto back = lanes.find({ends.second, ends.first});
      const int lanes_back = back == lanes.end() ? 0 : back->second;
      if (lanes_back != count) refuse_one_way(ends.first, ends.second, count, lanes_back);
      if (ends.first < ends.second) layout_.gpu_links.push_back({ends.first, ends.second, count});
    }
    for (const auto& [place, counts] : to_switches)
      layout_.gpu_links.push_back({place, GpuLink::to_switches, lanes_to_switches(place, counts)});
  }

  /// A GPU divides its NVLinks among switches (5 + 5 + 4 + 4), but some virtual machines list all of them
  /// once for each peer behind the switches.
  int lanes_to_switches(int place, const std::vector<int>& counts) {
    const auto gpu = std::ranges::find(gpus_, place, &std::pair<int, const NcclPci*>::first);
    const int own = own_nvlinks(gpu->second->gpu->sm);
    const int all = std::accumulate(counts.begin(), counts.end(), 0);
    if (all <= own) return all;
    const bool are_equal = std::ranges::all_of(counts, [&](int one) { return one == counts.front(); });
    if (!are_equal || counts.front() > own) {
      throw input_error(
          topology_.file, gpu->second->line,
          fmt::format("{} has {} to NVSwitches, more than the {} of a GPU of sm {}", gpu_name(layout_, place),
                      plural(all, "NVLink"), own, gpu->second->gpu->sm),
          fmt::format("--nvlink {}, in place of the file's", own));
    }
    const std::string note =
        fmt::format("NVLinks to NVSwitches are listed once for each peer: a GPU has {} in all, not their sum",
                    counts.front());
    if (std::ranges::find(layout_.assumptions, note) == layout_.assumptions.end())
      layout_.assumptions.push_back(note);
    return counts.front();
  }

  /// `bw` counts MB/s of each of `count` links; NVIDIA/nccl src/graph/topo.cc, ncclTopoAddC2c.
  void add_c2c(int place, const NcclLink& link) {
    constexpr double mega = 1e6;
    if (link.megabytes > 0)
      layout_.gpu_links.push_back(
          {place, layout_.socket_of(place), link.count, Bandwidth(link.megabytes * link.count * mega)});
  }

  void refuse_one_way(int one, int other, int lanes, int lanes_back) const {
    int line = 0;
    for (const auto& [place, pci] : gpus_) {
      if (place == one) line = pci->line;
    }
    throw input_error(topology_.file, line,
                      fmt::format("{} ({}) has {} to {} ({}), but {} in the opposite direction",
                                  gpu_name(layout_, one), layout_.devices[one].name, plural(lanes, "lane"),
                                  gpu_name(layout_, other), layout_.devices[other].name, lanes_back),
                      "a link has both directions: one of the GPUs reports a fault, or the file was edited");
  }

  void note_sockets(const std::vector<const NcclCpu*>& cpus) {
    const NcclCpu& cpu = *cpus.front();
    const bool has_c2c =
        std::ranges::any_of(layout_.gpu_links, [](const GpuLink& link) { return link.c2c.si() > 0; });
    constexpr int skylake = 85, sapphire_rapids = 143;
    if (cpu.vendor == "AuthenticAMD") {
      layout_.socket_link = LinkKind::infinity_fabric;
    } else if (cpu.vendor == "GenuineIntel" && cpu.model >= skylake) {
      layout_.socket_link = LinkKind::upi;
      if (cpu.model >= sapphire_rapids) layout_.socket_generation = "Sapphire Rapids";
    } else if (cpu.vendor == "GenuineIntel") {
      layout_.socket_link = LinkKind::qpi;
    } else if (cpu.arch == "ppc64") {
      layout_.socket_link = LinkKind::xbus;
    } else if (cpu.arch == "arm64" && has_c2c) {
      layout_.socket_link = LinkKind::upi;
      layout_.socket_generation = grace;
    }
    if (!layout_.is_affinity_known) {
      layout_.warnings.emplace_back(
          "the file does not say which devices belong to which socket (numaid -1, a virtual machine)");
    }
  }

  void note_unknown_links() {
    for (const auto& [rate, switches] : narrow_) {
      layout_.warnings.push_back(fmt::format(
          "the link upwards of {} ({}) is slower than one below it: kept, as such faults count: {}",
          plural(std::ssize(switches), "PCIe bridge"), rate, fmt::join(switches, ", ")));
    }
    if (without_class_ > 0 && layout_.count(DeviceKind::nic) == 0) {
      layout_.warnings.push_back(
          fmt::format("{} without class are left out", plural(without_class_, "PCI device")));
    }
    if (!unstated_.empty()) {
      layout_.warnings.push_back(
          fmt::format("PCIe speed or width not stated: {}", fmt::join(unstated_, ", ")));
    }
  }

  const NcclTopology& topology_;
  NodeLayout layout_;
  std::vector<Card> cards_;
  std::vector<std::pair<int, const NcclPci*>> gpus_;
  std::map<std::string, int> gpu_places_;
  std::vector<std::string> unstated_;
  std::map<std::string, std::vector<std::string>> narrow_;  ///< switches by the rate of their slow link
  int without_class_ = 0;
};

int count_without_class(const std::vector<NcclPci>& devices) {
  int count = 0;
  for (const NcclPci& pci : devices) count += int{pci.pci_class.empty()} + count_without_class(pci.children);
  return count;
}

}  // namespace

NodeLayout layout_of(const NcclTopology& topology) {
  int without_class = 0;
  bool has_gpu = false;
  const auto visit = [&](const auto& self, const std::vector<NcclPci>& devices) -> void {
    for (const NcclPci& pci : devices) {
      has_gpu = has_gpu || is_gpu(pci);
      self(self, pci.children);
    }
  };
  for (const NcclCpu& cpu : topology.cpus) {
    visit(visit, cpu.pci);
    without_class += count_without_class(cpu.pci);
  }
  if (!has_gpu && without_class > 0) {
    throw input_error(topology.file, 0,
                      fmt::format("no GPU: {} PCI devices have no class, so GPUs cannot be told from network "
                                  "cards",
                                  without_class),
                      "this is a file that a provider gives NCCL (NCCL_TOPO_FILE); let NCCL write what it "
                      "found: NCCL_TOPO_DUMP_FILE=topo.xml");
  }
  return TreeLayout(topology).make();
}

}  // namespace trainyard
