#include "report/topology_page.hpp"

#include "platform/channels.hpp"
#include "platform/cluster.hpp"
#include "platform/connection.hpp"
#include "platform/fabric_report.hpp"
#include "platform/footnotes.hpp"
#include "platform/min_cut.hpp"
#include "platform/names.hpp"
#include "platform/parallel_links.hpp"
#include "units/text.hpp"
#include "units/version.hpp"

#include <algorithm>
#include <boost/algorithm/string/case_conv.hpp>
#include <cmath>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <ranges>
#include <string_view>
#include <utility>
#include <vector>

namespace trainyard {
namespace {

constexpr TableShape lists{.indent = 2, .gap = 2};

/// A table whose heads stand on pages alone; the last column wraps.
doc::Table list_of(const char* key, std::vector<std::string> heads) {
  doc::Table table{.key = key, .title = key, .shape = lists, .has_heads = false};
  for (std::string& head : heads) table.columns.push_back({.head = std::move(head)});
  table.columns.back().layout = text_column().wraps(12);
  return table;
}

/// Lines without their indent of two blanks.
std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    lines.push_back(text.substr(begin + 2, end - begin - 2));
    begin = end + 1;
  }
  return lines;
}

void add_head(doc::Document& page, const Platform& platform, const std::string& changed) {
  const std::string set = "set on the command line: " + changed;
  page.title = platform.name + (platform.title.empty() ? "" : ": " + platform.title);
  doc::Section& section = page.section("head", "");
  section.shown = doc::Shown::text;
  section.is_untitled_in_text = true;
  section.add(doc::Listing{.text = page.title});
  if (changed.empty()) return;
  section.add(doc::Listing{.text = set});
  page.lead.push_back(set);
}

/// A section of a sentence alone.
void add_sentence(doc::Document& page, const char* key, std::string text) {
  doc::Section& section = page.section(key, key);
  section.is_untitled_in_text = true;
  section.add(doc::Sentence{.text = std::move(text), .indent = 0});
}

void add_devices(doc::Document& page, const Platform& platform) {
  doc::Table table = list_of("devices", {"number", "device", "model"});
  for (const auto& name : config::Names<DeviceKind>::table) {
    int count = 0;
    std::string model;
    for (DeviceId device = 0; device < num_vertices(platform.node); ++device) {
      if (platform.node[device].kind != name.value) continue;
      ++count;
      model = platform.node[device].model;
    }
    if (count > 0)
      table.rows.push_back({.cells = {fmt::format("{:>3}", count), std::string(name.text), model}});
  }
  page.section("devices", "Devices of a node").add(std::move(table));
}

void add_matrix(doc::Document& page, const Platform& platform) {
  std::vector<DeviceId> devices = platform.gpus;
  devices.insert(devices.end(), platform.nics.begin(), platform.nics.end());
  const auto name = [&](DeviceId device) {
    return boost::to_upper_copy(std::string(config::name_of(platform.node[device].kind))) +
           std::to_string(platform.node[device].number);
  };
  doc::Table table{.key = "connections",
                   .title = "connections",
                   .columns = {{.head = ""}},
                   .shape = {.indent = 2, .gap = 2, .goes_on_below = true}};
  for (const DeviceId device : devices) table.columns.push_back({.head = name(device)});
  table.columns.push_back({.head = "NUMA"});
  for (const DeviceId one : devices) {
    doc::Row row{.cells = {name(one)}};
    for (const DeviceId other : devices) row.cells.emplace_back(connection(platform, one, other));
    const int cpu = nearest_cpu(platform, one);
    row.cells.emplace_back(cpu < 0 ? "-" : std::to_string(cpu));
    table.rows.push_back(std::move(row));
  }
  doc::Section& section = page.section("connections", "Connections (as nvidia-smi topo -m)");
  section.add(std::move(table));
  section.add(doc::gap());
  doc::List legend{.kind = doc::List::Kind::notes};
  constexpr std::size_t sign = 5;
  const auto [first, last] = edges(platform.node);
  const bool has_xgmi = std::any_of(
      first, last, [&](const EdgeId& link) { return platform.node[link].kind == LinkKind::xgmi; });
  for (const std::string& line : lines_of(connection_legend(has_xgmi)))
    legend.items.push_back({line.substr(0, sign), line.substr(sign + 1)});
  section.add(std::move(legend));
}

/// Decimals that a bandwidth in GB/s needs for four digits, two at most; none for zeros.
int decimals_of(Bandwidth bandwidth) {
  const std::string text = fmt::format("{:.4g}", bandwidth.si() / 1e9);
  const std::size_t point = text.find('.');
  return point == std::string::npos ? 0 : std::min(2, static_cast<int>(text.size() - point) - 1);
}

void add_links(doc::Document& page, const Platform& platform, Footnotes& notes) {
  const Fabric& fabric = platform.fabric;
  const std::vector<ParallelLinks> groups = parallel_links(platform.node);
  std::vector<Bandwidth> rates{fabric.nic.value, fabric.effective.value};
  for (const ParallelLinks& group : groups)
    rates.insert(rates.end(), {group.link.bandwidth.value, group.link.effective.value});
  const bool is_staged = !platform.has_peer_to_peer && std::isfinite(platform.staged.value.si());
  if (is_staged) rates.push_back(platform.staged.value);
  const int decimals = decimals_of(*std::ranges::max_element(rates, {}, decimals_of));
  const std::size_t width = fmt::format("{:.{}f}", std::ranges::max(rates).si() / 1e9, decimals).size();
  const auto rate_text = [&](const Sourced<Bandwidth>& rate) {
    return doc::Value(
        fmt::format("{:{}.{}f} GB/s {}", rate.value.si() / 1e9, width, decimals, notes.mark(rate)),
        rate.value);
  };
  doc::Table table{.key = "links",
                   .title = "links",
                   .columns = {{.head = "between", .layout = text_column().wraps(12)},
                               {.head = "links", .layout = text_column().drops(1)},
                               {.head = "kind", .layout = text_column().wraps(6)},
                               {.head = "lanes", .layout = text_column().drops(2)},
                               {.head = "bandwidth"},
                               {.head = "effective"},
                               {.head = "latency"}},
                   .shape = lists};
  // each row in order: the notes get their numbers
  for (const ParallelLinks& group : groups) {
    doc::Row row{.cells = {group.between, std::to_string(group.edges.size()),
                           std::string(config::name_of(group.link.kind)), std::to_string(group.link.lanes)}};
    row.cells.emplace_back(rate_text(group.link.bandwidth));
    row.cells.emplace_back(rate_text(group.link.effective));
    row.cells.emplace_back(figure(group.link.latency, notes));
    table.rows.push_back(std::move(row));
  }
  if (fabric.exists()) {
    std::vector<int> nics;
    for (const DeviceId nic : platform.nics) nics.push_back(platform.node[nic].number);
    doc::Row row{.cells = {device_list(DeviceKind::nic, nics) + " - fabric", std::to_string(nics.size()),
                           std::string(config::name_of(fabric.kind)), ""}};
    row.cells.emplace_back(rate_text(fabric.nic));
    row.cells.emplace_back(rate_text(fabric.effective));
    row.cells.emplace_back(figure(fabric.latency, notes));
    table.rows.push_back(std::move(row));
  }
  if (!platform.has_peer_to_peer)
    table.rows.push_back({.cells = {"gpu - gpu through host memory", "", "staged", "", "",
                                    is_staged ? rate_text(platform.staged) : doc::Value()}});
  doc::Section& section =
      page.section("links", "Links (bandwidth per direction, all lanes; effective: reached by collectives)");
  section.add(std::move(table));
  doc::List list{.kind = doc::List::Kind::lines};
  for (const std::string& line : lines_of(fabric_lines(platform, notes)))
    list.items.push_back({{}, in_device_words(platform, line)});
  if (!list.items.empty()) section.add(std::move(list));
}

void add_cut(doc::Document& page, const Platform& platform) {
  if (platform.gpus.size() < 2)
    return add_sentence(page, "cut", in_device_words(platform, "Minimum cut: none, the node has one GPU"));
  const auto gigabytes = [&](Rate rate, bool nvlink_alone) {
    const Bandwidth cut = minimum_cut(platform, rate, nvlink_alone);
    return cut > Bandwidth{} ? doc::Value(fmt::format("{:.1f} GB/s", cut.si() / 1e9), cut)
                             : doc::Value("none");
  };
  const int gpus = static_cast<int>(platform.gpus.size());
  const DeviceKind kind = platform.ranks_on_processors ? DeviceKind::cpu : DeviceKind::gpu;
  const auto half = [kind](int first, int last) {
    const auto numbers = std::views::iota(first, last);
    return device_list(kind, {numbers.begin(), numbers.end()});
  };
  doc::Table table = list_of("cut", {"", "specified", "effective"});
  table.has_heads = true;
  for (const bool nvlink_alone : {true, false})
    table.rows.push_back(
        {.cells = {nvlink_alone ? "NVLink only" : "all links", gigabytes(Rate::specified, nvlink_alone),
                   gigabytes(Rate::effective, nvlink_alone)}});
  page.section("cut", fmt::format("Minimum cut between {} and {}, per direction", half(0, gpus / 2),
                                  half(gpus / 2, gpus)))
      .add(std::move(table));
}

std::string joined(const std::vector<Rank>& order, std::size_t count) {
  std::vector<int> numbers;
  for (std::size_t i = 0; i < count; ++i) numbers.push_back(index(order[i]));
  return fmt::format("{}", fmt::join(numbers, " "));
}

/// "nic0", or "nic0 nic4" of a ring that enters through one and leaves through the other.
std::string nics_of(const Cluster& cluster, const Channel& channel) {
  const auto name = [&](int nic) {
    return cluster.platform.node[cluster.platform.nics[static_cast<std::size_t>(nic)]].name;
  };
  if (channel.nic >= 0) return name(channel.nic);
  const auto nearest = [&](Rank rank) {
    return cluster.inside.nearest_nic[static_cast<std::size_t>(index(rank) % cluster.gpus_on_node.front())];
  };
  return fmt::format("{} {}", name(nearest(channel.order.front())),
                     name(nearest(channel.order[channel.order.size() / 2 - 1])));
}

void add_channels(doc::Document& page, const Platform& platform) try {
  std::vector<std::string> remarks;
  const std::vector<Channel> channels = ring_channels(make_cluster(platform, 1), &remarks);
  doc::Table table = list_of("channels", {"channel", "kind", "order"});
  for (const Channel& channel : channels)
    table.rows.push_back({.cells = {std::to_string(table.rows.size()), channel.is_chain ? "chain" : "ring",
                                    joined(channel.order, channel.order.size())}});
  doc::Section& section =
      page.section("channels", fmt::format("Ring channels of one node: {}", channels.size()));
  section.add(std::move(table));
  doc::List list{.kind = doc::List::Kind::lines};
  for (std::string& remark : remarks) list.items.push_back({{}, std::move(remark)});
  if (!list.items.empty()) section.add(std::move(list));
  if (!platform.fabric.exists()) return;

  const Cluster pair = make_cluster(platform, 2);
  const std::vector<Channel> between = ring_channels(pair);
  doc::Table nics = list_of("channels_between_nodes", {"NIC", "order"});
  for (const Channel& channel : between)
    nics.rows.push_back({.cells = {nics_of(pair, channel), joined(channel.order, channel.order.size() / 2)}});
  const bool have_one = std::ranges::all_of(between, [](const Channel& one) { return one.nic >= 0; });
  page.section("between", fmt::format("Ring channels between nodes: {}, each {}", between.size(),
                                      have_one ? "entering and leaving a node through one NIC"
                                               : "entering a node through one NIC and leaving it through "
                                                 "another"))
      .add(std::move(nics));
} catch (const Unreachable& error) {
  add_sentence(page, "channels", fmt::format("Ring channels: none, {}", error.what()));
}

void add_box(doc::Document& page, const Platform& platform, Footnotes& notes) {
  doc::Table table = list_of("node", {"figure", "value"});
  const auto add = [&](const char* what, const auto& value, const auto& print) {
    if (value)
      table.rows.push_back({.cells = {in_device_words(platform, what),
                                      fmt::format("{} {}", print(value->value), notes.mark(*value))}});
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
  if (!table.rows.empty()) page.section("node", "Whole node").add(std::move(table));
}

void add_sources(doc::Document& page, const Platform& platform, const Footnotes& notes) {
  doc::List list{.kind = doc::List::Kind::notes};
  for (const auto& [mark, source] : notes.list()) list.items.push_back({fmt::format("{:<4}", mark), source});
  page.section("sources", "Sources of the figures").add(std::move(list));
  if (platform.sources.empty()) return;
  doc::List files{.kind = doc::List::Kind::lines};
  for (const std::string& source : platform.sources) files.items.push_back({{}, source});
  page.section("file", "Sources of the whole file").add(std::move(files));
}

}  // namespace

doc::Document topology_document(const Platform& platform, const std::string& changed) {
  doc::Document page{.version = version()};
  Footnotes notes;
  add_head(page, platform, changed);
  add_devices(page, platform);
  add_matrix(page, platform);
  add_links(page, platform, notes);
  add_cut(page, platform);
  add_channels(page, platform);
  add_box(page, platform, notes);
  add_sources(page, platform, notes);
  return page;
}

}  // namespace trainyard
