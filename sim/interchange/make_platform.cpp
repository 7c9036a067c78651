#include "interchange/make_platform.hpp"

#include "config/fields.hpp"
#include "interchange/grace_tray.hpp"
#include "interchange/known_gpus.hpp"
#include "interchange/link_rates.hpp"
#include "interchange/nvlink_switches.hpp"
#include "platform/names.hpp"
#include "units/plural.hpp"
#include "units/text.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <set>

namespace trainyard {
namespace {

constexpr int usual_pcie_lanes = 16;

/// GPUs of unknown kind count as those of 2020.
constexpr int usual_pcie_generation = 4;

class PlatformMaker {
public:
  PlatformMaker(NodeLayout layout, const PlatformAnswers& answers)
      : layout_(std::move(layout)), answers_(answers), gpu_(known()) {
    draft_.warnings = layout_.warnings;
  }

  PlatformDraft make() {
    add_answered_nics();
    gather_cards_of_grace();
    fill_pcie();
    place_nvlinks();
    add_c2c_of_grace();
    number_devices();
    PlatformFile& file = draft_.file;
    file.name = answers_.name;
    const int gpus = layout_.count(DeviceKind::gpu);
    file.title = fmt::format("node with {} {}", gpus, product());
    file.node.gpus = GpusFile{gpus, answers_.gpu};
    add_devices();
    add_links();
    add_effective();
    add_peer_to_peer();
    add_fabric();
    file.source.push_back(layout_.origin);
    describe();
    return std::move(draft_);
  }

private:
  [[nodiscard]] const KnownGpu* known() const {
    const std::string product = layout_.products.empty() ? std::string() : layout_.products.front();
    const std::string device = layout_.pci_devices.empty() ? std::string() : layout_.pci_devices.front();
    if (const KnownGpu* const gpu = known_gpu(product, device)) return gpu;
    return gpu_of_profile(answers_.gpu);
  }

  [[nodiscard]] std::string product() const {
    if (!layout_.products.empty() && !layout_.products.front().empty()) return layout_.products.front();
    return answers_.gpu.ends_with(".yaml") ? answers_.gpu.substr(0, answers_.gpu.size() - 5) : answers_.gpu;
  }

  void assume(std::string text) { draft_.comments.push_back("assumed: " + std::move(text)); }

  // ---- network cards that no file names

  void add_answered_nics() {
    const int in_file = layout_.count(DeviceKind::nic);
    if (!answers_.nics || *answers_.nics == in_file) return;
    if (in_file > 0) {
      throw InputError(fmt::format("--nics {}: {} has {}", *answers_.nics, layout_.origin,
                                   plural(in_file, "network card")),
                       "leave out --nics");
    }
    const std::vector<int> sockets = layout_.of_kind(DeviceKind::cpu);
    for (int i = 0; i < *answers_.nics; ++i) {
      const auto at = static_cast<std::size_t>(i) * sockets.size() / static_cast<std::size_t>(*answers_.nics);
      layout_.devices.push_back({DeviceKind::nic, sockets[at], {}, fmt::format("nic{}", i)});
    }
    if (*answers_.nics > 0) assume("network cards have ports of the sockets, in equal numbers");
  }

  // ---- PCIe

  void fill_pcie() {
    int generation = answers_.pcie.value_or(gpu_ != nullptr ? gpu_->pcie_generation : 0);
    if (generation == 0) generation = usual_pcie_generation;
    usual_.transfers = transfers_of_generation(generation);
    usual_.lanes = usual_pcie_lanes;
    // from the leaves up: a switch has the link of what is below it
    for (int place = static_cast<int>(layout_.devices.size()) - 1; place >= 0; --place) {
      LayoutDevice& device = layout_.devices[place];
      if (device.kind == DeviceKind::cpu || (device.up.transfers != 0 && device.up.lanes != 0)) continue;
      assumed_.insert(place);
      PcieLink below = device.kind == DeviceKind::pcie_switch ? widest_below(place) : PcieLink{};
      if (below.transfers == 0) below = usual_;
      if (device.up.transfers == 0) device.up.transfers = below.transfers;
      if (device.up.lanes == 0) device.up.lanes = below.lanes;
    }
    if (assumed_.empty()) return;
    assume(fmt::format("PCIe {} with 16 lanes where the file states none ({})", generation,
                       answers_.pcie     ? "--pcie"
                       : gpu_ != nullptr ? "the generation of the GPU"
                                         : "the GPU is not known; state it with --pcie"));
  }

  [[nodiscard]] PcieLink widest_below(int place) const {
    PcieLink widest;
    for (const LayoutDevice& device : layout_.devices) {
      if (device.parent != place || device.up.transfers == 0) continue;
      if (widest.transfers == 0 || pcie_bandwidth(device.up) > pcie_bandwidth(widest)) widest = device.up;
    }
    return widest;
  }

  // ---- NVLinks

  [[nodiscard]] LinkKind nvlink_kind() const {
    if (answers_.nvlink_kind) return *answers_.nvlink_kind;
    if (gpu_ != nullptr && gpu_->nvlink) return *gpu_->nvlink;
    if (layout_.nvlink) return *layout_.nvlink;
    throw InputError("the generation of the NVLinks is not known",
                     "--nvlink-kind nvlink3 (A100), nvlink4 (H100), nvlink5 (B200)");
  }

  /// --nvlink in place of the file's; equal links of all pairs that no GPU has enough lanes for are switches.
  void place_nvlinks() {
    if (answers_.nvlink) {
      take_answered_nvlinks();
    } else if (gpu_ != nullptr && !gpu_->xgmi.empty() && layout_.gpu_links.empty()) {
      join_all_pairs_by_xgmi();
    } else if (!layout_.is_xgmi) {
      note_missing_nvlinks();
      for (std::string& text : join_through_switches(layout_, gpu_)) comment(std::move(text));
    }
  }

  void take_answered_nvlinks() {
    const std::vector<int> gpus = layout_.of_kind(DeviceKind::gpu);
    std::vector<GpuLink>& links = layout_.gpu_links;
    std::erase_if(links, [&](const GpuLink& link) { return !is_to_socket(layout_, link); });
    layout_.is_xgmi = false;
    if (*answers_.nvlink > 0 && gpus.size() == 2) links.push_back({gpus[0], gpus[1], *answers_.nvlink});
    if (*answers_.nvlink > 0 && gpus.size() > 2) {
      for (const int gpu : gpus) links.push_back({gpu, GpuLink::to_switches, *answers_.nvlink});
      assume("NVLinks join all GPUs through NVSwitches");
    }
  }

  void join_all_pairs_by_xgmi() {
    const std::vector<int> gpus = layout_.of_kind(DeviceKind::gpu);
    constexpr std::size_t on_a_board = 8;
    if (gpus.size() < 2 || gpus.size() > on_a_board) return;
    layout_.is_xgmi = true;
    layout_.amd_generation = gpu_->xgmi;
    for (std::size_t i = 0; i < gpus.size(); ++i) {
      for (std::size_t j = i + 1; j < gpus.size(); ++j) layout_.gpu_links.push_back({gpus[i], gpus[j], 1});
    }
    assume(fmt::format("xGMI joins each pair of GPUs, as on a board of eight {}", product()));
  }

  /// Files that clouds give NCCL list PCIe alone: NCCL itself asks the driver for the NVLinks.
  void note_missing_nvlinks() {
    const bool has_any = std::ranges::any_of(
        layout_.gpu_links, [&](const GpuLink& link) { return !is_to_socket(layout_, link); });
    if (has_any || gpu_ == nullptr || !has_fixed_nvlinks(*gpu_) || layout_.count(DeviceKind::gpu) < 2) return;
    const std::string warning = fmt::format(
        "a {} has {}, and {} says none: the platform has none, so that collectives are many times too slow; "
        "add --nvlink {} (0 if they are off)",
        product(), plural(gpu_->nvlink_lanes, "NVLink"), layout_.origin, gpu_->nvlink_lanes);
    draft_.warnings.push_back(warning);
    comment("note: " + warning);
  }

  // ---- trays of GB200 and GB300

  [[nodiscard]] bool is_grace() const { return gpu_ != nullptr && is_in_nvl72(*gpu_); }

  void gather_cards_of_grace() {
    if (is_grace() && give_cards_to_sockets_with_gpus(layout_))
      assume("network cards have ports of the two Grace CPUs, in equal numbers");
  }

  void add_c2c_of_grace() {
    if (!is_grace()) return;
    const std::string rack = gpu_->profile.starts_with("gb300") ? "gb300_nvl72" : "gb200_nvl72";
    const std::string warning = fmt::format(
        "the NVLinks of a {} also join it with the other trays of its rack, which one node's files do not "
        "show; for several trays use --platform {}",
        product(), rack);
    draft_.warnings.push_back(warning);
    comment("note: " + warning);
    is_c2c_assumed_ = join_gpus_to_grace(layout_);
  }

  void comment(std::string text) { draft_.comments.push_back(std::move(text)); }

  [[nodiscard]] bool has_switches() const {
    return std::ranges::any_of(layout_.gpu_links, [](const GpuLink& link) { return link.other < 0; });
  }

  LinkFile figures_of(const GpuLink& link) const {
    if (link.c2c.si() > 0) {
      return c2c_link(is_c2c_assumed_
                          ? Sourced<Bandwidth>{link.c2c, Provenance::assumed,
                                               "NVLink-C2C as on gb200_nvl72; the file does not show it"}
                          : Sourced<Bandwidth>{link.c2c, Provenance::specified,
                                               "bw and count of <c2c> in " + layout_.origin});
    }
    if (layout_.is_xgmi) return xgmi_link(layout_.amd_generation, link.lanes);
    return nvlink_link(nvlink_kind(), link.lanes, gpu_ != nullptr ? gpu_->nvlink_lane : 0);
  }

  // ---- the file

  void number_devices() {
    std::map<DeviceKind, int> next;
    for (const LayoutDevice& device : layout_.devices) numbers_.push_back(next[device.kind]++);
  }

  void add_devices() {
    NodeDevicesFile& devices = draft_.file.node.devices;
    for (const GpuLink& link : layout_.gpu_links)
      devices.nvswitch.count = std::max(devices.nvswitch.count, -link.other);
    devices.cpu.count = layout_.count(DeviceKind::cpu);
    devices.cpu.model = layout_.cpu_model;
    devices.cpu.host_bridge_per_port = layout_.host_bridge_per_port;
    devices.pcie_switch.count = layout_.count(DeviceKind::pcie_switch);
    devices.nic.count = layout_.count(DeviceKind::nic);
  }

  void add_links() {
    std::vector<NodeLink> links;
    for (const GpuLink& link : layout_.gpu_links) {
      const DeviceKind other = link.other < 0 ? DeviceKind::nvswitch : layout_.devices[link.other].kind;
      links.push_back({DeviceKind::gpu, other, numbers_[link.one],
                       link.other < 0 ? GpuLink::to_switches - link.other : numbers_[link.other],
                       figures_of(link)});
    }
    for (const DeviceKind kind : {DeviceKind::gpu, DeviceKind::nic, DeviceKind::pcie_switch}) {
      for (const int place : layout_.of_kind(kind)) add_pcie(place, links);
    }
    const int sockets = layout_.count(DeviceKind::cpu);
    const LinkKind between = layout_.socket_link.value_or(LinkKind::upi);
    for (int one = 0; one < sockets; ++one) {
      for (int other = one + 1; other < sockets; ++other) {
        links.push_back(
            {DeviceKind::cpu, DeviceKind::cpu, one, other, socket_link(between, layout_.socket_generation)});
      }
    }
    if (sockets > 1 && !layout_.socket_link) assume("sockets are Intel's of 2017 to 2021, joined by UPI");
    for (NodeLink& link : links) link.figures.latency = usual_link_latency(link.figures.kind);
    draft_.file.node.links = grouped(links);
  }

  void add_pcie(int place, std::vector<NodeLink>& links) {
    const LayoutDevice& device = layout_.devices[place];
    // POWER's GPUs may have NVLinks to their socket and PCIe besides: two devices are linked once
    for (const NodeLink& link : links) {
      if (link.kind_one == device.kind && link.one == numbers_[place] &&
          link.kind_other == layout_.devices[device.parent].kind && link.other == numbers_[device.parent])
        return;
    }
    const std::string why =
        assumed_.contains(place) ? std::string("not stated by ") + layout_.origin : device.assumed;
    links.push_back({device.kind, layout_.devices[device.parent].kind, numbers_[place],
                     numbers_[device.parent], pcie_link(device.up, why)});
  }

  void add_effective() {
    std::set<LinkKind> kinds;
    for (const LinkFile& link : draft_.file.node.links) {
      if (!link.effective) kinds.insert(link.kind);
    }
    config::Keys<EffectiveFile>::table()([&](const auto&... key) { (set_effective(key, kinds), ...); });
  }

  template <class Key>
  void set_effective(const Key& key, const std::set<LinkKind>& kinds) {
    const auto kind = config::value_named<LinkKind>(std::string(key.name));
    if (!kind || !kinds.contains(*kind)) return;
    draft_.file.node.effective.*key.member =
        is_nvlink(*kind) ? effective_nvlink_lane(*kind, has_switches()) : effective_pcie_lane(*kind);
  }

  void add_peer_to_peer() {
    NodeFile& node = draft_.file.node;
    if (gpu_ == nullptr || gpu_->has_peer_to_peer || layout_.count(DeviceKind::gpu) < 2) return;
    node.peer_to_peer = false;
    const double pcie3 = 3.93e9;
    const bool is_old = usual_.transfers <= 8;
    node.effective.staged = Sourced<Bandwidth>{Bandwidth(is_old ? pcie3 : 2 * pcie3), Provenance::assumed,
                                               is_old ? "as two RTX 2080 Ti on PCIe 3 (nccl-tests, 2019)"
                                                      : "twice that of two RTX 2080 Ti on PCIe 3"};
    assume("GeForce boards since Turing have no peer-to-peer access over PCIe");
  }

  void add_fabric() {
    const int nics = layout_.count(DeviceKind::nic);
    if (nics == 0) {
      if (answers_.nodes > 1) {
        throw InputError(fmt::format("{} nodes need network cards", answers_.nodes),
                         "--nics 1 --nic \"100 Gbps\", for example");
      }
      return;
    }
    FabricFile fabric;
    fabric.kind = FabricKind::single_switch;
    comment("assumed: a network that never blocks; docs/network.md has fat trees, rails and more");
    const LayoutNics& facts = layout_.nics;
    fabric.transport = answers_.transport.value_or(facts.transport.value_or(Transport::infiniband));
    if (!answers_.transport && !facts.transport) assume("the network is InfiniBand (--transport)");
    fabric.nic = nic_rate();
    fabric.efficiency = usual_network_efficiency(fabric.transport);
    fabric.latency = usual_network_latency(fabric.transport);
    fabric.gpudirect = gpudirect(fabric.transport);
    draft_.file.fabric = fabric;
  }

  Sourced<Bandwidth> nic_rate() {
    if (answers_.nic_rate)
      return {*answers_.nic_rate, Provenance::specified, "stated when this file was written"};
    if (layout_.nics.rate) return {*layout_.nics.rate, Provenance::specified, layout_.origin};
    const std::vector<int> nics = layout_.of_kind(DeviceKind::nic);
    const double transfers = layout_.devices[nics.front()].up.transfers;
    const double gigabits = transfers <= 8 ? 100 : transfers <= 16 ? 200 : 400;
    const std::string why = fmt::format(
        "the usual card of a slot with {} GT/s on 16 lanes; state yours with --nic", shortest(transfers));
    assume(fmt::format("network cards of {} Gb/s: {}", shortest(gigabits), why));
    return {Bandwidth(gigabits * 1e9 / 8), Provenance::assumed, why};
  }

  Sourced<bool> gpudirect(Transport transport) {
    if (layout_.nics.gpudirect)
      return {*layout_.nics.gpudirect, Provenance::specified, "gdr in " + layout_.origin};
    if (gpu_ != nullptr && !gpu_->has_peer_to_peer)
      return {false, Provenance::assumed, "GeForce boards have no GPUDirect"};
    if (transport == Transport::tcp) return {false, Provenance::assumed, "sockets go through host memory"};
    return {true, Provenance::assumed, "as on most clusters with these GPUs; false if yours has it off"};
  }

  void describe() {
    std::vector<std::string> all{"from " + layout_.origin};
    if (gpu_ != nullptr && !gpu_->remark.empty() && answers_.gpu == gpu_->profile)
      all.push_back("assumed: the GPU is " + std::string(gpu_->remark));
    for (const std::string& text : layout_.assumptions) all.push_back("assumed: " + text);
    for (const std::string& text : layout_.warnings) all.push_back("note: " + text);
    all.insert(all.end(), draft_.comments.begin(), draft_.comments.end());
    draft_.comments = std::move(all);
  }

  NodeLayout layout_;
  const PlatformAnswers& answers_;
  const KnownGpu* gpu_;
  PcieLink usual_;
  std::set<int> assumed_;     ///< places whose link towards the socket no file states
  std::vector<int> numbers_;  ///< of each device within its kind
  bool is_c2c_assumed_ = false;
  PlatformDraft draft_;
};

}  // namespace

NodeLayout layout_of(const PlatformAnswers& answers) {
  NodeLayout layout;
  layout.origin = "answers to trainyard init platform";
  const int gpus = answers.gpus.value_or(1);
  constexpr int most_below_one_socket = 4;
  const int sockets = gpus > most_below_one_socket ? 2 : 1;
  for (int i = 0; i < sockets; ++i) layout.devices.push_back({DeviceKind::cpu, -1, {}, {}});
  for (int i = 0; i < gpus; ++i) {
    layout.devices.push_back({DeviceKind::gpu, i * sockets / gpus, {}, fmt::format("gpu{}", i)});
  }
  layout.assumptions.push_back(sockets == 1 ? "all GPUs have ports of one socket"
                                            : "half of the GPUs have ports of one socket, half of another");
  check_counts(layout, "trainyard init platform");
  return layout;
}

std::string profile_of_gpus(const NodeLayout& layout) {
  const auto differ = [](const std::vector<std::string>& names) {
    return std::ranges::any_of(names, [&](const std::string& name) { return name != names.front(); });
  };
  if (differ(layout.products) || (layout.products.empty() && differ(layout.pci_devices))) {
    const std::vector<std::string>& names = layout.products.empty() ? layout.pci_devices : layout.products;
    const auto other = std::ranges::find_if(names, [&](const auto& name) { return name != names.front(); });
    throw InputError(
        fmt::format("{}: GPUs differ, {} and {}", layout.origin, shown(names.front()), shown(*other)),
        "a node has GPUs of one kind: name that of the job with --gpu");
  }
  const KnownGpu* const gpu =
      known_gpu(layout.products.empty() ? std::string() : layout.products.front(),
                layout.pci_devices.empty() ? std::string() : layout.pci_devices.front());
  return gpu == nullptr ? std::string() : std::string(gpu->profile);
}

PlatformDraft make_platform(NodeLayout layout, const PlatformAnswers& answers) {
  return PlatformMaker(std::move(layout), answers).make();
}

}  // namespace trainyard
