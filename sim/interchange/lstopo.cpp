#include "interchange/lstopo.hpp"

#include "interchange/known_gpus.hpp"
#include "units/text.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <fmt/format.h>
#include <map>

namespace trainyard {
namespace {

constexpr std::size_t most_distances = 1024;

double number_of(std::string_view text) {
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc{} && end == text.data() + text.size() && std::isfinite(number) ? number : 0;
}

long long id_of(std::string_view text) {
  long long id = -1;
  std::from_chars(text.data(), text.data() + text.size(), id);
  return id;
}

std::string info(const XmlElement& object, std::string_view name) {
  for (const XmlElement& child : object.children) {
    if (child.name == "info" && child.attribute("name") == name) return std::string(child.attribute("value"));
  }
  return {};
}

class HwlocReader {
public:
  explicit HwlocReader(const InputText& input) : input_(input) {}

  Lstopo read() {
    const XmlElement root = parse_xml(input_);
    result_.file = input_.name;
    result_.version = root.has("version") ? std::string(root.attribute("version")) : "1";
    const std::size_t dot = result_.version.find('.');
    has_bits_ = number_of(result_.version.substr(0, dot)) >= 3;
    for (const XmlElement& child : root.children) {
      if (child.name == "object") walk(child, -1);
      if (child.name == "distances2" || child.name == "distances2hetero") read_distances(child);
    }
    if (result_.packages.empty()) result_.packages.emplace_back();
    return std::move(result_);
  }

private:
  void walk(const XmlElement& object, int package) {
    const std::string_view type = object.attribute("type");
    if (type == "Package" || type == "Socket") {
      result_.packages.push_back({id_of(object.attribute("gp_index")), info(object, "CPUModel"), {}});
      package = static_cast<int>(result_.packages.size()) - 1;
    }
    for (const XmlElement& child : object.children) {
      if (child.name != "object") continue;
      const std::string_view below = child.attribute("type");
      if (below == "Bridge" || below == "PCIDev") {
        if (package < 0) package = first_package();
        result_.packages[static_cast<std::size_t>(package)].pci.push_back(pci(child));
      } else {
        walk(child, package);
      }
    }
  }

  /// Devices of the whole machine belong to its first package.
  int first_package() {
    if (result_.packages.empty()) result_.packages.emplace_back();
    return 0;
  }

  LstopoPci pci(const XmlElement& object) {
    LstopoPci pci;
    pci.id = id_of(object.attribute("gp_index"));
    pci.is_bridge = object.attribute("type") == "Bridge";
    pci.bus = object.attribute("pci_busid");
    pci.speed = number_of(object.attribute("pci_link_speed"));
    const std::string_view type = object.attribute("pci_type");  // "0302 [10de:1db8] [10de:131d] a1 00"
    pci.pci_class = type.substr(0, 4);
    const std::size_t open = type.find('[');
    if (open != std::string_view::npos) pci.pci_device = type.substr(open + 1, type.find(']') - open - 1);
    for (const XmlElement& child : object.children) {
      if (child.name != "object") continue;
      if (child.attribute("type") == "OSDev")
        pci.devices.push_back(device(child));
      else
        pci.children.push_back(this->pci(child));
    }
    return pci;
  }

  /// `osdev_type` counts up to version 2 and is a set of bits from version 3 on.
  LstopoDevice device(const XmlElement& object) const {
    const auto type = static_cast<long long>(number_of(object.attribute("osdev_type")));
    LstopoDevice device;
    device.id = id_of(object.attribute("gp_index"));
    device.name = object.attribute("name");
    device.model = info(object, "GPUModel");
    device.is_gpu = has_bits_ ? (type & 4) != 0 : type == 1;
    device.is_coprocessor = has_bits_ ? (type & 8) != 0 : type == 5;
    device.is_network = has_bits_ ? (type & 16) != 0 : type == 2;
    device.is_openfabrics = has_bits_ ? (type & 32) != 0 : type == 3;
    return device;
  }

  void read_distances(const XmlElement& element) {
    LstopoDistances distances;
    distances.name = element.attribute("name");
    for (const XmlElement& child : element.children) {
      for (const std::string_view word : words_of(child.text)) {
        if (child.name == "indexes") {
          const std::size_t colon = word.find(':');
          distances.ids.push_back(id_of(colon == std::string_view::npos ? word : word.substr(colon + 1)));
        } else if (child.name == "u64values") {
          distances.values.push_back(number_of(word));
        }
      }
    }
    const std::size_t count = distances.ids.size();
    if (count > most_distances || distances.values.size() != count * count) {
      throw input_error(input_.name, element.line,
                        fmt::format("{} values for {} devices in distances {}", distances.values.size(),
                                    count, shown(distances.name)));
    }
    result_.distances.push_back(std::move(distances));
  }

  const InputText& input_;
  bool has_bits_ = false;
  Lstopo result_;
};

bool is_gpu(const LstopoPci& pci) {
  const bool is_display = pci.pci_class.starts_with("03") || pci.pci_class.starts_with("12");
  const bool is_maker = pci.pci_device.starts_with("10de") || pci.pci_device.starts_with("1002");
  return is_display && is_maker;
}

/// Ethernet and InfiniBand; older InfiniBand cards are of the class 0c06.
bool is_nic(const LstopoPci& pci) {
  return pci.pci_class == "0200" || pci.pci_class == "0207" || pci.pci_class == "0c06";
}

bool has_fabric(const LstopoPci& pci) {
  return std::ranges::any_of(pci.devices, &LstopoDevice::is_openfabrics) || pci.pci_class == "0207";
}

template <class Use>
void visit(const std::vector<LstopoPci>& all, const Use& use) {
  for (const LstopoPci& pci : all) {
    use(pci);
    visit(pci.children, use);
  }
}

template <class Use>
void visit(const Lstopo& topology, const Use& use) {
  for (const LstopoPackage& package : topology.packages) visit(package.pci, use);
}

/// Generation and lanes of a rate in GB/s: the widest link of the oldest generation that has it.
PcieLink pcie_of(double speed) {
  struct Generation {
    double transfers, per_lane;
  };
  static constexpr Generation generations[] = {{8, 0.984615}, {16, 1.969231}, {32, 3.938462}, {64, 7.75}};
  for (const auto& [transfers, per_lane] : generations) {
    for (const int lanes : {1, 2, 4, 8, 16}) {
      const bool is_wide = lanes == 16 || transfers == 8;  // 8 lanes of a newer one are 16 of an older one
      if (is_wide && std::abs(speed / (per_lane * lanes) - 1) < 0.01) return {transfers, lanes};
    }
  }
  for (const int lanes : {1, 2, 4, 8, 16}) {
    if (std::abs(speed / (0.5 * lanes) - 1) < 0.01) return {5, lanes};
    if (std::abs(speed / (0.25 * lanes) - 1) < 0.01) return {2.5, lanes};
  }
  return {};
}

class HwlocLayout {
public:
  explicit HwlocLayout(const Lstopo& topology) : topology_(topology) {
    layout_.origin = "lstopo (" + base_name(topology.file) + ")";
    visit(topology,
          [&](const LstopoPci& pci) { has_fabric_ = has_fabric_ || (is_nic(pci) && has_fabric(pci)); });
  }

  NodeLayout make() {
    for (const LstopoPackage& package : topology_.packages) {
      layout_.devices.push_back({DeviceKind::cpu, -1, {}, {}});
      const int place = last();
      places_[package.id] = place;
      if (layout_.cpu_model.empty()) layout_.cpu_model = package.model;
      for (const LstopoPci& pci : package.pci) add(pci, place);
    }
    check_counts(layout_, topology_.file);
    for (const LstopoDistances& distances : topology_.distances) {
      if (distances.name == "NVLinkBandwidth") add_nvlinks(distances);
    }
    describe();
    return std::move(layout_);
  }

private:
  [[nodiscard]] int last() const { return static_cast<int>(layout_.devices.size()) - 1; }

  [[nodiscard]] bool is_kept(const LstopoPci& pci) const {
    return is_gpu(pci) || (is_nic(pci) && (!has_fabric_ || has_fabric(pci)));
  }

  [[nodiscard]] int kept_below(const LstopoPci& pci) const {
    int count = int{is_kept(pci)};
    for (const LstopoPci& child : pci.children) count += kept_below(child);
    return count;
  }

  /// A bridge with one way down is a part of the link below it.
  void add(const LstopoPci& pci, int parent) {
    if (layout_.devices.size() >= most_layout_devices) throw too_many_devices(topology_.file);
    const PcieLink up = pcie_of(pci.speed);
    if (is_kept(pci)) {
      layout_.devices.push_back({is_gpu(pci) ? DeviceKind::gpu : DeviceKind::nic, parent, up, pci.bus});
      places_[pci.id] = last();
      for (const LstopoDevice& device : pci.devices) places_[device.id] = last();
      if (is_gpu(pci)) add_names(pci);
      return;
    }
    const auto ways = std::ranges::count_if(pci.children, [&](const auto& c) { return kept_below(c) > 0; });
    if (ways > 1 && !pci.pci_class.empty()) {  // a host bridge has no class
      layout_.devices.push_back({DeviceKind::pcie_switch, parent, up, pci.bus});
      parent = last();
    }
    if (ways > 0) {
      for (const LstopoPci& child : pci.children) add(child, parent);
    }
  }

  void add_names(const LstopoPci& pci) {
    layout_.pci_devices.push_back(pci.pci_device);
    std::string product;
    for (const LstopoDevice& device : pci.devices) {
      if (product.empty()) product = device.model;
    }
    layout_.products.push_back(product);
  }

  /// Lanes from MB/s and the rate of a lane of this GPU.
  void add_nvlinks(const LstopoDistances& distances) {
    const KnownGpu* const gpu = known_gpu(layout_.products.front(), layout_.pci_devices.front());
    if (gpu == nullptr || !gpu->nvlink) {
      layout_.warnings.emplace_back(
          "the NVLinks of lstopo are left out: without a known GPU their rate does not give a number");
      return;
    }
    layout_.nvlink = gpu->nvlink;
    const double per_lane = *gpu->nvlink == LinkKind::nvlink1   ? 20'000
                            : *gpu->nvlink == LinkKind::nvlink5 ? 50'000
                                                                : 25'000;
    const std::size_t count = distances.ids.size();
    std::map<int, int> to_switches;
    for (std::size_t i = 0; i < count; ++i) {
      const auto one = places_.find(distances.ids[i]);
      if (one == places_.end() || layout_.devices[one->second].kind != DeviceKind::gpu) continue;
      for (std::size_t j = 0; j < count; ++j) {
        const int lanes =
            static_cast<int>(std::lround(std::min(distances.values[i * count + j], 1e7) / per_lane));
        const auto other = places_.find(distances.ids[j]);
        if (i == j || lanes == 0) continue;
        if (other == places_.end()) {
          to_switches[one->second] += lanes;  // an NVSwitch is neither GPU nor socket
        } else if (layout_.devices[other->second].kind != DeviceKind::gpu || one->second < other->second) {
          layout_.gpu_links.push_back({one->second, other->second, lanes});
        }
      }
    }
    for (const auto& [place, lanes] : to_switches) {
      layout_.gpu_links.push_back({place, GpuLink::to_switches, lanes});
    }
  }

  void describe() {
    if (has_fabric_) {
      layout_.nics.transport = Transport::infiniband;
    } else if (layout_.count(DeviceKind::nic) > 0) {
      layout_.nics.transport = Transport::tcp;
    }
    std::string_view model = layout_.cpu_model;
    if (model.find("POWER") != std::string_view::npos) layout_.socket_link = LinkKind::xbus;
    if (model.find("EPYC") != std::string_view::npos) layout_.socket_link = LinkKind::infinity_fabric;
    if (model.find("Xeon(R) Gold") != std::string_view::npos ||
        model.find("Xeon(R) Platinum") != std::string_view::npos) {
      layout_.socket_link = LinkKind::upi;
    }
    if (model.find("E5-") != std::string_view::npos) layout_.socket_link = LinkKind::qpi;
  }

  const Lstopo& topology_;
  bool has_fabric_ = false;
  NodeLayout layout_;
  std::map<long long, int> places_;
};

}  // namespace

int Lstopo::count(bool LstopoDevice::*is_kind) const {
  int count = 0;
  visit(*this, [&](const LstopoPci& pci) {
    count += static_cast<int>(std::ranges::count(pci.devices, true, is_kind));
  });
  return count;
}

Lstopo read_lstopo(const InputText& input) { return HwlocReader(input).read(); }

NodeLayout layout_of(const Lstopo& topology) { return HwlocLayout(topology).make(); }

void add_facts(NodeLayout& layout, const Lstopo& topology) {
  const NodeLayout other = layout_of(topology);
  if (other.count(DeviceKind::gpu) != layout.count(DeviceKind::gpu)) {
    throw input_error(topology.file, 0,
                      fmt::format("{} GPUs here, {} in {}", other.count(DeviceKind::gpu),
                                  layout.count(DeviceKind::gpu), layout.origin),
                      "both files have to be of the same node");
  }
  if (layout.products.empty()) layout.products = other.products;
  if (layout.pci_devices.empty()) layout.pci_devices = other.pci_devices;
  if (layout.cpu_model.empty()) layout.cpu_model = other.cpu_model;
  if (!layout.socket_link) layout.socket_link = other.socket_link;
}

}  // namespace trainyard
