#include "platform/topology.hpp"

#include "platform/channels.hpp"
#include "platform/cluster.hpp"
#include "platform/connection.hpp"
#include "platform/fabric_report.hpp"
#include "platform/footnotes.hpp"
#include "platform/min_cut.hpp"
#include "platform/names.hpp"
#include "platform/parallel_links.hpp"
#include "units/lines.hpp"
#include "units/table.hpp"
#include "units/text.hpp"

#include <algorithm>
#include <boost/algorithm/string/case_conv.hpp>
#include <cmath>
#include <fmt/format.h>
#include <ranges>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace trainyard {
namespace {

constexpr TableShape lists{.indent = 2, .gap = 2};

/// Text in all columns, the last of which wraps.
Table list_of(std::size_t columns) {
  std::vector<TableColumn> layout(columns, text_column());
  layout.back() = text_column().wraps(12);
  return Table(std::move(layout), lists);
}

std::string devices_section(const Platform& platform, const PrintStyle& style) {
  Table rows = list_of(3);
  for (const auto& name : config::Names<DeviceKind>::table) {
    int count = 0;
    std::string model;
    for (DeviceId device = 0; device < num_vertices(platform.node); ++device) {
      if (platform.node[device].kind != name.value) continue;
      ++count;
      model = platform.node[device].model;
    }
    if (count > 0) rows.row(fmt::format("{:>3}", count), name.text, model);
  }
  return "Devices of a node\n" + rows.text(style.width);
}

std::string upper_case(std::string_view kind, int number) {
  return boost::to_upper_copy(std::string(kind)) + std::to_string(number);
}

std::string matrix_section(const Platform& platform, const PrintStyle& style) {
  std::vector<DeviceId> devices = platform.gpus;
  devices.insert(devices.end(), platform.nics.begin(), platform.nics.end());
  const auto name = [&](DeviceId device) {
    return upper_case(config::name_of(platform.node[device].kind), platform.node[device].number);
  };
  Table rows(std::vector<TableColumn>(devices.size() + 2, text_column()),
             {.indent = 2, .gap = 2, .goes_on_below = true});
  std::vector<std::string> cells{""};
  for (const DeviceId device : devices) cells.push_back(name(device));
  cells.emplace_back("NUMA");
  rows.add(std::move(cells));
  for (const DeviceId one : devices) {
    cells = {name(one)};
    for (const DeviceId other : devices) cells.push_back(connection(platform, one, other));
    const int cpu = nearest_cpu(platform, one);
    cells.push_back(cpu < 0 ? "-" : std::to_string(cpu));
    rows.add(std::move(cells));
  }
  return "Connections (as nvidia-smi topo -m)\n" + rows.text(style.width) + "\n" +
         fitted_lines(connection_legend(), style.width);
}

/// Decimals that a bandwidth in GB/s needs for four digits, two at most; none for zeros.
int decimals_of(Bandwidth bandwidth) {
  const std::string text = fmt::format("{:.4g}", bandwidth.si() / 1e9);
  const std::size_t point = text.find('.');
  return point == std::string::npos ? 0 : std::min(2, static_cast<int>(text.size() - point) - 1);
}

std::string links_section(const Platform& platform, Footnotes& notes, const PrintStyle& style) {
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
  Table rows({text_column().wraps(12), text_column().drops(1), text_column().wraps(6), text_column().drops(2),
              text_column(), text_column(), text_column()},
             lists);
  rows.row("between", "links", "kind", "lanes", "bandwidth", "effective", "latency");
  for (const ParallelLinks& group : parallel_links(platform.node)) {
    const Link& link = group.link;
    // in this order, in which the notes get their numbers
    const std::string bandwidth = rate_text(link.bandwidth);
    const std::string effective = rate_text(link.effective);
    rows.row(group.between, group.edges.size(), config::name_of(link.kind), link.lanes, bandwidth, effective,
             figure(link.latency, notes));
  }
  const Fabric& fabric = platform.fabric;
  if (fabric.exists()) {
    std::vector<int> nics;
    nics.reserve(platform.nics.size());
    for (const DeviceId nic : platform.nics) nics.push_back(platform.node[nic].number);
    const std::string bandwidth = rate_text(fabric.nic);
    const std::string effective = rate_text(fabric.effective);
    rows.row(device_list(DeviceKind::nic, nics) + " - fabric", nics.size(), config::name_of(fabric.kind), "",
             bandwidth, effective, figure(fabric.latency, notes));
  }
  if (!platform.has_peer_to_peer)
    rows.row("gpu - gpu through host memory", "", "staged", "", "",
             is_staged ? rate_text(platform.staged) : "", "");
  return fitted_lines("Links (bandwidth per direction, all lanes; effective: reached by collectives)\n",
                      style.width) +
         rows.text(style.width) + fitted_lines(fabric_lines(platform, notes), style.width);
}

std::string cut_section(const Platform& platform, const PrintStyle& style) {
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
  Table rows = list_of(3);
  rows.row("", "specified", "effective");
  rows.row("NVLink only", gigabytes(Rate::specified, true), gigabytes(Rate::effective, true));
  rows.row("all links", gigabytes(Rate::specified, false), gigabytes(Rate::effective, false));
  return fitted_lines(fmt::format("Minimum cut between {} and {}, per direction\n", half(0, gpus / 2),
                                  half(gpus / 2, gpus)),
                      style.width) +
         rows.text(style.width);
}

std::string joined(const std::vector<Rank>& order, std::size_t count) {
  std::vector<int> numbers;
  for (std::size_t i = 0; i < count; ++i) numbers.push_back(index(order[i]));
  return fmt::format("{}", fmt::join(numbers, " "));
}

std::string channels_section(const Platform& platform, const PrintStyle& style) try {
  std::vector<std::string> remarks;
  const std::vector<Channel> channels = ring_channels(make_cluster(platform, 1), &remarks);
  Table rows = list_of(3);
  for (std::size_t i = 0; i < channels.size(); ++i) {
    const Channel& channel = channels[i];
    rows.row(i, channel.is_chain ? "chain" : "ring", joined(channel.order, channel.order.size()));
  }
  std::string text = fmt::format("Ring channels of one node: {}\n", channels.size()) + rows.text(style.width);
  for (const std::string& remark : remarks) text += fitted_lines(fmt::format("  {}\n", remark), style.width);
  if (!platform.fabric.exists()) return text;

  const Cluster pair = make_cluster(platform, 2);
  const std::vector<Channel> between = ring_channels(pair);
  Table nics = list_of(2);
  for (const Channel& channel : between) {
    nics.row(platform.node[platform.nics[static_cast<std::size_t>(channel.nic)]].name,
             joined(channel.order, channel.order.size() / 2));
  }
  text +=
      '\n' +
      fitted_lines(
          fmt::format("Ring channels between nodes: {}, each entering and leaving a node through one NIC\n",
                      between.size()),
          style.width);
  return text + nics.text(style.width);
} catch (const Unreachable& error) {
  return fitted_lines(fmt::format("Ring channels: none, {}\n", error.what()), style.width);
}

std::string box_section(const Platform& platform, Footnotes& notes, const PrintStyle& style) {
  Table rows = list_of(2);
  const auto add = [&](const char* what, const auto& value, const auto& print) {
    if (value) rows.row(what, fmt::format("{} {}", print(value->value), notes.mark(*value)));
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
  return rows.empty() ? "" : "Whole node\n" + rows.text(style.width) + "\n";
}

}  // namespace

std::string topology_report(const Platform& platform, const PrintStyle& style, const std::string& changed) {
  Footnotes notes;
  std::string text = fitted_lines(
      fmt::format("{}{}\n{}\n", platform.name, platform.title.empty() ? "" : ": " + platform.title,
                  changed.empty() ? "" : fmt::format("set on the command line: {}\n", changed)),
      style.width);
  text += devices_section(platform, style) + "\n";
  text += matrix_section(platform, style) + "\n";
  text += in_device_words(platform, links_section(platform, notes, style)) + "\n";
  text += in_device_words(platform, cut_section(platform, style)) + "\n";
  text += channels_section(platform, style) + "\n";
  text += in_device_words(platform, box_section(platform, notes, style));
  text += "Sources of the figures\n";
  for (const auto& [mark, source] : notes.list())
    text += hanging(fmt::format("  {:<5}", mark), source, style.width);
  if (!platform.sources.empty()) {
    text += "\nSources of the whole file\n";
    for (const std::string& source : platform.sources)
      text += fitted_lines(fmt::format("  {}\n", source), style.width);
  }
  return text;
}

}  // namespace trainyard
