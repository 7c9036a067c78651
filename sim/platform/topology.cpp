#include "platform/topology.hpp"

#include "platform/channels.hpp"
#include "platform/cluster.hpp"
#include "platform/connection.hpp"
#include "platform/fabric_report.hpp"
#include "platform/footnotes.hpp"
#include "platform/min_cut.hpp"
#include "platform/names.hpp"
#include "platform/parallel_links.hpp"
#include "units/text.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <string>
#include <string_view>
#include <vector>

namespace trainyard {
namespace {

using Row = std::vector<std::string>;

/// Left-aligned columns two blanks apart, each line indented by two blanks.
std::string aligned(const std::vector<Row>& rows) {
  std::vector<std::size_t> widths;
  for (const Row& row : rows) {
    widths.resize(std::max(widths.size(), row.size()), 0);
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  std::string text;
  for (const Row& row : rows) {
    std::string line;
    for (std::size_t i = 0; i < row.size(); ++i) line += fmt::format("  {:<{}}", row[i], widths[i]);
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + '\n';
  }
  return text;
}

std::string devices_section(const Platform& platform) {
  std::vector<Row> rows;
  for (const auto& name : config::Names<DeviceKind>::table) {
    int count = 0;
    std::string model;
    for (DeviceId device = 0; device < num_vertices(platform.node); ++device) {
      if (platform.node[device].kind != name.value) continue;
      ++count;
      model = platform.node[device].model;
    }
    if (count > 0) rows.push_back({fmt::format("{:>3}", count), std::string(name.text), model});
  }
  return "Devices of a node\n" + aligned(rows);
}

std::string upper_case(std::string_view kind, int number) {
  std::string name(kind);
  for (char& letter : name)
    letter = static_cast<char>(letter >= 'a' && letter <= 'z' ? letter - 'a' + 'A' : letter);
  return name + std::to_string(number);
}

std::string matrix_section(const Platform& platform) {
  std::vector<DeviceId> devices = platform.gpus;
  devices.insert(devices.end(), platform.nics.begin(), platform.nics.end());
  const auto name = [&](DeviceId device) {
    return upper_case(config::name_of(platform.node[device].kind), platform.node[device].number);
  };
  std::vector<Row> rows{{""}};
  for (const DeviceId device : devices) rows.front().push_back(name(device));
  rows.front().push_back("NUMA");
  for (const DeviceId one : devices) {
    rows.push_back({name(one)});
    for (const DeviceId other : devices) rows.back().push_back(connection(platform, one, other));
    const int cpu = nearest_cpu(platform, one);
    rows.back().push_back(cpu < 0 ? "-" : std::to_string(cpu));
  }
  return "Connections (as nvidia-smi topo -m)\n" + aligned(rows) + "\n" + connection_legend();
}

std::string links_section(const Platform& platform, Footnotes& notes) {
  std::vector<Row> rows{{"between", "links", "kind", "lanes", "bandwidth", "effective", "latency"}};
  for (const ParallelLinks& group : parallel_links(platform.node)) {
    const Link& link = group.link;
    rows.push_back({group.between, std::to_string(group.edges.size()),
                    std::string(config::name_of(link.kind)), std::to_string(link.lanes),
                    figure(link.bandwidth, notes), figure(link.effective, notes),
                    figure(link.latency, notes)});
  }
  const Fabric& fabric = platform.fabric;
  if (fabric.kind != FabricKind::none) {
    std::vector<int> nics;
    nics.reserve(platform.nics.size());
    for (const DeviceId nic : platform.nics) nics.push_back(platform.node[nic].number);
    rows.push_back({device_list(DeviceKind::nic, nics) + " - fabric", std::to_string(nics.size()),
                    std::string(config::name_of(fabric.kind)), "", figure(fabric.nic, notes),
                    figure(fabric.effective, notes), figure(fabric.latency, notes)});
  }
  if (!platform.has_peer_to_peer)
    rows.push_back({"gpu - gpu through host memory", "", "staged", "", "",
                    std::isfinite(platform.staged.value.si()) ? figure(platform.staged, notes) : "", ""});
  return "Links (bandwidth per direction, all lanes; effective: what collectives reach)\n" + aligned(rows) +
         fabric_lines(platform, notes);
}

std::string cut_section(const Platform& platform) {
  if (platform.gpus.size() < 2) return "Minimum cut: one GPU has no halves\n";
  const auto gigabytes = [&](Rate rate, bool nvlink_alone) {
    return fmt::format("{:.1f} GB/s", minimum_cut(platform, rate, nvlink_alone).si() / 1e9);
  };
  const int gpus = static_cast<int>(platform.gpus.size());
  const auto half = [](int first, int last) {
    std::vector<int> numbers;
    for (int number = first; number < last; ++number) numbers.push_back(number);
    return device_list(DeviceKind::gpu, numbers);
  };
  return fmt::format("Minimum cut between {} and {}, per direction\n", half(0, gpus / 2),
                     half(gpus / 2, gpus)) +
         aligned({{"", "specified", "effective"},
                  {"NVLink alone", gigabytes(Rate::specified, true), gigabytes(Rate::effective, true)},
                  {"all links", gigabytes(Rate::specified, false), gigabytes(Rate::effective, false)}});
}

std::string joined(const std::vector<Rank>& order, std::size_t count) {
  std::string text;
  for (std::size_t i = 0; i < count; ++i) text += fmt::format("{}{}", i > 0 ? " " : "", index(order[i]));
  return text;
}

std::string channels_section(const Platform& platform) try {
  std::vector<std::string> remarks;
  const std::vector<Channel> channels = ring_channels(make_cluster(platform, 1), &remarks);
  std::vector<Row> rows;
  for (std::size_t i = 0; i < channels.size(); ++i) {
    const Channel& channel = channels[i];
    rows.push_back({std::to_string(i), channel.is_chain ? "chain" : "ring",
                    joined(channel.order, channel.order.size())});
  }
  std::string text = fmt::format("Ring channels of one node: {}\n", channels.size()) + aligned(rows);
  for (const std::string& remark : remarks) text += fmt::format("  {}\n", remark);
  if (platform.fabric.kind == FabricKind::none) return text;

  const Cluster pair = make_cluster(platform, 2);
  rows.clear();
  for (const Channel& channel : ring_channels(pair)) {
    rows.push_back({platform.node[platform.nics[static_cast<std::size_t>(channel.nic)]].name,
                    joined(channel.order, channel.order.size() / 2)});
  }
  text += fmt::format("\nRing channels between nodes: {}, each in and out of every node through one NIC\n",
                      rows.size());
  return text + aligned(rows);
} catch (const Unreachable& error) {
  return fmt::format("Ring channels: none, {}\n", error.what());
}

std::string box_section(const Platform& platform, Footnotes& notes) {
  std::vector<Row> rows;
  if (platform.cores_per_cpu) {
    rows.push_back({"cores of a cpu", fmt::format("{} {}", platform.cores_per_cpu->value,
                                                  notes.mark(*platform.cores_per_cpu))});
  }
  if (platform.host_memory_bandwidth) {
    rows.push_back({"memory of a cpu", figure(*platform.host_memory_bandwidth, notes)});
  }
  if (platform.storage) rows.push_back({"storage", figure(*platform.storage, notes)});
  if (platform.shared_storage) rows.push_back({"shared storage", figure(*platform.shared_storage, notes)});
  if (platform.power_max) rows.push_back({"power, at most", figure(*platform.power_max, notes)});
  if (platform.power_overhead) {
    rows.push_back({"besides the GPUs", figure(*platform.power_overhead, notes)});
  }
  const auto priced = [&](std::string_view what, const Sourced<Dollars>& price) {
    rows.push_back({std::string(what), fmt::format("{} USD, {} {}", shortest(price.value.si()),
                                                   platform.price_date, notes.mark(price))});
  };
  if (platform.price) priced("list price", *platform.price);
  if (platform.price_per_hour) priced("rent of an hour", *platform.price_per_hour);
  return rows.empty() ? "" : "A node as a whole\n" + aligned(rows) + "\n";
}

}  // namespace

std::string topology_report(const Platform& platform) {
  Footnotes notes;
  std::string text =
      fmt::format("{}{}\n\n", platform.name, platform.title.empty() ? "" : ": " + platform.title);
  text += devices_section(platform) + "\n";
  text += matrix_section(platform) + "\n";
  text += links_section(platform, notes) + "\n";
  text += cut_section(platform) + "\n";
  text += channels_section(platform) + "\n";
  text += box_section(platform, notes);
  text += "Sources of the figures\n" + notes.list();
  if (!platform.sources.empty()) {
    text += "\nSources of the whole\n";
    for (const std::string& source : platform.sources) text += fmt::format("  {}\n", source);
  }
  return text;
}

}  // namespace trainyard
