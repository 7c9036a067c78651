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
#include <boost/algorithm/string/case_conv.hpp>
#include <cmath>
#include <fmt/format.h>
#include <ranges>
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
  return boost::to_upper_copy(std::string(kind)) + std::to_string(number);
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

/// Decimals that a bandwidth in GB/s needs for four digits, two at most; none for zeros.
int decimals_of(Bandwidth bandwidth) {
  const std::string text = fmt::format("{:.4g}", bandwidth.si() / 1e9);
  const std::size_t point = text.find('.');
  return point == std::string::npos ? 0 : std::min(2, static_cast<int>(text.size() - point) - 1);
}

std::string links_section(const Platform& platform, Footnotes& notes) {
  std::vector<Bandwidth> rates{platform.fabric.nic.value, platform.fabric.effective.value};
  for (const ParallelLinks& group : parallel_links(platform.node))
    rates.insert(rates.end(), {group.link.bandwidth.value, group.link.effective.value});
  const bool is_staged = !platform.has_peer_to_peer && std::isfinite(platform.staged.value.si());
  if (is_staged) rates.push_back(platform.staged.value);
  const int decimals = decimals_of(*std::ranges::max_element(rates, {}, decimals_of));
  const std::size_t width = fmt::format("{:.{}f}", std::ranges::max(rates).si() / 1e9, decimals).size();
  const auto rate_text = [&](const Sourced<Bandwidth>& rate) {
    return fmt::format("{:{}.{}f} GB/s {}", rate.value.si() / 1e9, width, decimals, notes.mark(rate));
  };
  std::vector<Row> rows{{"between", "links", "kind", "lanes", "bandwidth", "effective", "latency"}};
  for (const ParallelLinks& group : parallel_links(platform.node)) {
    const Link& link = group.link;
    rows.push_back({group.between, std::to_string(group.edges.size()),
                    std::string(config::name_of(link.kind)), std::to_string(link.lanes),
                    rate_text(link.bandwidth), rate_text(link.effective), figure(link.latency, notes)});
  }
  const Fabric& fabric = platform.fabric;
  if (fabric.exists()) {
    std::vector<int> nics;
    nics.reserve(platform.nics.size());
    for (const DeviceId nic : platform.nics) nics.push_back(platform.node[nic].number);
    rows.push_back({device_list(DeviceKind::nic, nics) + " - fabric", std::to_string(nics.size()),
                    std::string(config::name_of(fabric.kind)), "", rate_text(fabric.nic),
                    rate_text(fabric.effective), figure(fabric.latency, notes)});
  }
  if (!platform.has_peer_to_peer)
    rows.push_back({"gpu - gpu through host memory", "", "staged", "", "",
                    is_staged ? rate_text(platform.staged) : "", ""});
  return "Links (bandwidth per direction, all lanes; effective: reached by collectives)\n" + aligned(rows) +
         fabric_lines(platform, notes);
}

std::string cut_section(const Platform& platform) {
  if (platform.gpus.size() < 2) return "Minimum cut: none, the node has one GPU\n";
  const auto gigabytes = [&](Rate rate, bool nvlink_alone) {
    const Bandwidth cut = minimum_cut(platform, rate, nvlink_alone);
    return cut > Bandwidth{} ? fmt::format("{:.1f} GB/s", cut.si() / 1e9) : std::string("none");
  };
  const int gpus = static_cast<int>(platform.gpus.size());
  const DeviceKind kind = platform.ranks_on_processors ? DeviceKind::cpu : DeviceKind::gpu;
  const auto half = [kind](int first, int last) {
    const auto numbers = std::views::iota(first, last);
    return device_list(kind, {numbers.begin(), numbers.end()});
  };
  return fmt::format("Minimum cut between {} and {}, per direction\n", half(0, gpus / 2),
                     half(gpus / 2, gpus)) +
         aligned({{"", "specified", "effective"},
                  {"NVLink only", gigabytes(Rate::specified, true), gigabytes(Rate::effective, true)},
                  {"all links", gigabytes(Rate::specified, false), gigabytes(Rate::effective, false)}});
}

std::string joined(const std::vector<Rank>& order, std::size_t count) {
  std::vector<int> numbers;
  for (std::size_t i = 0; i < count; ++i) numbers.push_back(index(order[i]));
  return fmt::format("{}", fmt::join(numbers, " "));
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
  if (!platform.fabric.exists()) return text;

  const Cluster pair = make_cluster(platform, 2);
  rows.clear();
  for (const Channel& channel : ring_channels(pair)) {
    rows.push_back({platform.node[platform.nics[static_cast<std::size_t>(channel.nic)]].name,
                    joined(channel.order, channel.order.size() / 2)});
  }
  text += fmt::format("\nRing channels between nodes: {}, each entering and leaving a node through one NIC\n",
                      rows.size());
  return text + aligned(rows);
} catch (const Unreachable& error) {
  return fmt::format("Ring channels: none, {}\n", error.what());
}

std::string box_section(const Platform& platform, Footnotes& notes) {
  std::vector<Row> rows;
  const auto add = [&](const char* what, const auto& value, const auto& print) {
    if (value) rows.push_back({what, fmt::format("{} {}", print(value->value), notes.mark(*value))});
  };
  const auto print = [](auto quantity) { return human(quantity); };
  const auto in_dollars = [](const std::string& date) {
    return [&date](Dollars price) { return fmt::format("{} USD, {}", shortest(price.si()), date); };
  };
  const NodePrice& price = platform.price;
  add("cores per CPU", platform.cores_per_cpu, [](int cores) { return cores; });
  add("memory bandwidth per CPU", platform.host_memory_bandwidth, print);
  add("storage", platform.storage, print);
  add("shared storage", platform.shared_storage, print);
  add("maximum power", platform.power.max, print);
  add("power without GPUs", platform.power.overhead, print);
  add("list price", price.list, in_dollars(price.list_date.empty() ? price.date : price.list_date));
  add("rent per hour", price.hour, in_dollars(price.date));
  return rows.empty() ? "" : "Whole node\n" + aligned(rows) + "\n";
}

}  // namespace

std::string topology_report(const Platform& platform) {
  Footnotes notes;
  std::string text =
      fmt::format("{}{}\n\n", platform.name, platform.title.empty() ? "" : ": " + platform.title);
  text += devices_section(platform) + "\n";
  text += matrix_section(platform) + "\n";
  text += in_device_words(platform, links_section(platform, notes)) + "\n";
  text += in_device_words(platform, cut_section(platform)) + "\n";
  text += channels_section(platform) + "\n";
  text += in_device_words(platform, box_section(platform, notes));
  text += "Sources of the figures\n" + notes.list();
  if (!platform.sources.empty()) {
    text += "\nSources of the whole file\n";
    for (const std::string& source : platform.sources) text += fmt::format("  {}\n", source);
  }
  return text;
}

}  // namespace trainyard
