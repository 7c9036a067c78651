#include "interchange/smi_query.hpp"

#include "interchange/link_rates.hpp"
#include "interchange/xml.hpp"
#include "platform/plausible_limits.hpp"
#include "units/leading_number.hpp"
#include "units/text.hpp"
#include "units/trimmed.hpp"

#include <algorithm>
#include <cctype>
#include <fmt/format.h>
#include <map>

namespace trainyard {
namespace {

int leading_int(std::string_view text) {
  const auto number = take_number(text);
  return number ? *number : 0;
}

std::optional<Bytes> memory_of(std::string_view text) {
  const auto parsed = parse_quantity<Bytes>(text);
  if (!parsed || parsed->si() <= 0) return std::nullopt;
  return *parsed;
}

/// "20B210DE", device and vendor, as "10de:20b2".
std::string pci_device(std::string_view text) {
  if (text.starts_with("0x")) text.remove_prefix(2);
  if (text.size() != 8) return {};
  std::string device = std::string(text.substr(4)) + ':' + std::string(text.substr(0, 4));
  std::ranges::transform(device, device.begin(), [](unsigned char c) { return std::tolower(c); });
  return device;
}

void check_count(const SmiQuery& query) {
  if (query.gpus.empty()) throw input_error(query.file, 0, "the output of nvidia-smi -q names no GPU");
  if (static_cast<double>(query.gpus.size()) > config::most_count) {
    throw input_error(query.file, 0, fmt::format("{} GPUs; a node has at most 256", query.gpus.size()));
  }
}

SmiGpu gpu_of(const XmlElement& element) {
  SmiGpu gpu;
  gpu.bus = element.attribute("id");
  gpu.product = element.text_at("product_name");
  gpu.pci_device = pci_device(element.text_at("pci/pci_device_id"));
  gpu.memory = memory_of(element.text_at("fb_memory_usage/total"));
  gpu.pcie_generation = leading_int(element.text_at("pci/pci_gpu_link_info/pcie_gen/max_link_gen"));
  gpu.pcie_lanes = leading_int(element.text_at("pci/pci_gpu_link_info/link_widths/max_link_width"));
  gpu.pcie_lanes_now = leading_int(element.text_at("pci/pci_gpu_link_info/link_widths/current_link_width"));
  gpu.power_limit = element.text_at("power_readings/power_limit");
  if (gpu.power_limit.empty()) gpu.power_limit = element.text_at("gpu_power_readings/current_power_limit");
  gpu.sm_clock = element.text_at("max_clocks/sm_clock");
  gpu.is_divided = element.text_at("mig_mode/current_mig") == "Enabled";
  return gpu;
}

SmiQuery read_xml(const InputText& input) {
  const XmlElement root = parse_xml(input);
  SmiQuery query;
  query.file = input.name;
  query.driver = root.text_at("driver_version");
  query.attached = leading_int(root.text_at("attached_gpus"));
  for (const XmlElement& element : root.children) {
    if (element.name == "gpu") query.gpus.push_back(gpu_of(element));
  }
  return query;
}

/// The headings above a line of the text, by their indentation: "PCI/GPU Link Info/PCIe Generation".
class Headings {
public:
  std::string path(std::string_view line, std::string_view key) {
    const std::size_t indentation = line.find_first_not_of(' ');
    while (!open_.empty() && open_.back().first >= indentation) open_.pop_back();
    std::string path;
    for (const auto& [at, heading] : open_) path += heading + '/';
    return path + std::string(key);
  }
  void open(std::string_view line, std::string_view heading) {
    constexpr std::size_t deepest = 16;
    (void)path(line, heading);
    if (open_.size() < deepest) open_.emplace_back(line.find_first_not_of(' '), std::string(heading));
  }

private:
  std::vector<std::pair<std::size_t, std::string>> open_;
};

void take_value(const std::string& path, std::string_view value, SmiQuery& query) {
  if (path == "Driver Version") query.driver = value;
  if (path == "Attached GPUs") query.attached = leading_int(value);
  if (query.gpus.empty()) return;
  SmiGpu& gpu = query.gpus.back();
  const std::string below = path.substr(path.find('/') + 1);  // the first heading is the GPU
  if (below == "Product Name") gpu.product = value;
  if (below == "FB Memory Usage/Total") gpu.memory = memory_of(value);
  if (below == "PCI/Device Id") gpu.pci_device = pci_device(value);
  if (below == "PCI/GPU Link Info/PCIe Generation/Max") gpu.pcie_generation = leading_int(value);
  if (below == "PCI/GPU Link Info/Link Width/Max") gpu.pcie_lanes = leading_int(value);
  if (below == "PCI/GPU Link Info/Link Width/Current") gpu.pcie_lanes_now = leading_int(value);
  if (below == "Power Readings/Power Limit" || below == "GPU Power Readings/Current Power Limit")
    gpu.power_limit = value;
  if (below == "Max Clocks/SM") gpu.sm_clock = value;
  if (below == "MIG Mode/Current") gpu.is_divided = value == "Enabled";
}

SmiQuery read_text(const InputText& input) {
  SmiQuery query;
  query.file = input.name;
  Headings headings;
  for (const std::string_view line : lines_of(input.text)) {
    const std::string_view text = trimmed(line);
    if (text.empty()) continue;
    if (text.starts_with("GPU ") && line.front() != ' ' && text.find(':') != std::string_view::npos) {
      query.gpus.emplace_back().bus = text.substr(4);
      headings.open(line, "GPU");
      continue;
    }
    const std::size_t colon = text.find(" : ");
    if (colon == std::string_view::npos) {
      headings.open(line, text);
    } else {
      const std::string path = headings.path(line, trimmed(text.substr(0, colon)));
      take_value(path, trimmed(text.substr(colon + 3)), query);
    }
  }
  return query;
}

}  // namespace

bool is_smi_query_text(const InputText& input) {
  return input.text.find("NVSMI LOG") != std::string::npos &&
         input.text.find("Attached GPUs") != std::string::npos;
}

SmiQuery read_smi_query(const InputText& input) {
  SmiQuery query = root_of_xml(input.text).empty() ? read_text(input) : read_xml(input);
  check_count(query);
  return query;
}

void add_facts(NodeLayout& layout, const SmiQuery& query) {
  const std::vector<int> places = layout.of_kind(DeviceKind::gpu);
  for (const SmiGpu& gpu : query.gpus) {
    if (!gpu.is_divided) continue;
    throw input_error(query.file, 0,
                      fmt::format("GPU {} is divided (MIG): a rank would have a part of it", gpu.bus),
                      "turn it off (nvidia-smi -mig 0) and write the file again");
  }
  // `nvidia-smi -q -i 0` describes one of those it counts
  const bool is_one_of_all = query.gpus.size() == 1 && query.attached == std::ssize(places);
  if (places.size() != query.gpus.size() && !is_one_of_all) {
    throw input_error(query.file, 0,
                      fmt::format("{} GPUs here, {} in {}", query.gpus.size(), places.size(), layout.origin),
                      "both files have to be of the same node");
  }
  layout.products.clear();
  layout.pci_devices.clear();
  for (std::size_t i = 0; i < places.size(); ++i) {
    const SmiGpu& gpu = query.gpus[is_one_of_all ? 0 : i];
    layout.products.push_back(gpu.product);
    layout.pci_devices.push_back(gpu.pci_device);
    PcieLink& up = layout.devices[places[i]].up;
    if (up.transfers == 0) up.transfers = transfers_of_generation(gpu.pcie_generation);
    if (up.lanes == 0) up.lanes = gpu.pcie_lanes_now != 0 ? gpu.pcie_lanes_now : gpu.pcie_lanes;
    if (gpu.pcie_lanes_now != 0 && gpu.pcie_lanes_now < gpu.pcie_lanes && (i == 0 || !is_one_of_all)) {
      layout.warnings.push_back(
          fmt::format("GPU {} uses {} of {} PCIe lanes: kept", gpu.bus, gpu.pcie_lanes_now, gpu.pcie_lanes));
    }
  }
  layout.gpu_memory = query.gpus.front().memory;
}

NodeLayout layout_of(const SmiQuery& query) {
  NodeLayout layout;
  layout.origin = "nvidia-smi -q (" + base_name(query.file) + ")";
  layout.is_affinity_known = false;
  layout.devices.push_back({DeviceKind::cpu, -1, {}, {}});
  for (const SmiGpu& gpu : query.gpus) layout.devices.push_back({DeviceKind::gpu, 0, {}, gpu.bus});
  add_facts(layout, query);
  if (query.attached != 0 && query.attached != std::ssize(query.gpus)) {
    throw input_error(
        query.file, 0,
        fmt::format("{} GPUs are attached, but {} are described", query.attached, query.gpus.size()),
        "is the file complete? Write it without -i, or add the output of nvidia-smi topo -m");
  }
  layout.assumptions.emplace_back(
      "nvidia-smi -q does not show how GPUs are joined: all below one socket (add the output of nvidia-smi "
      "topo -m)");
  return layout;
}

}  // namespace trainyard
