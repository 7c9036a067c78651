#include "interchange/astra_network.hpp"

#include "config/file_format.hpp"
#include "config/read.hpp"
#include "platform/plausible_limits.hpp"
#include "units/ids.hpp"
#include "units/text.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <utility>

namespace trainyard {
namespace {

constexpr double gigabyte = 1e9;
constexpr double nanosecond = 1e-9;

/// The lists of a file of ASTRA-sim 1.0 or 2.0, a value for each dimension.
template <int version>
struct NetworkLists {
  int dimensions = 0;
  std::vector<AstraTopology> topologies;
  std::vector<int> counts, links;
  std::vector<double> bandwidths;  ///< GB/s
  std::vector<double> latencies;   ///< ns

  /// The keys of the lists, in the order above; links are 1.0's alone.
  static constexpr std::array<std::string_view, 5> names =
      version == 1 ? std::array<std::string_view, 5>{"topologies-per-dim", "units-count", "links-count",
                                                     "link-bandwidth", "link-latency"}
                   : std::array<std::string_view, 5>{"topology", "npus_count", "", "bandwidth", "latency"};

  static auto topologies_key() {
    return config::required(names[0], &NetworkLists::topologies, "a topology for each dimension");
  }
  static auto counts_key() {
    return config::required(names[1], &NetworkLists::counts, "NPUs along each dimension")
        .between(1, config::most_nodes);
  }
  static auto bandwidths_key() {
    return config::required(names[3], &NetworkLists::bandwidths, "GB/s of a link and direction")
        .between(config::least_bandwidth / gigabyte, config::most_bandwidth / gigabyte);
  }
  static auto latencies_key() {
    return config::required(names[4], &NetworkLists::latencies, "ns of a link").between(0, 1e9);
  }
};
using FirstLists = NetworkLists<1>;
using SecondLists = NetworkLists<2>;

}  // namespace

template <>
struct config::Keys<SecondLists> {
  static auto table() {
    return keys(SecondLists::topologies_key(), SecondLists::counts_key(), SecondLists::bandwidths_key(),
                SecondLists::latencies_key());
  }
};

template <>
struct config::Keys<FirstLists> {
  static auto table() {
    return keys(
        optional("dimensions-count", &FirstLists::dimensions, "number of dimensions").between(1, 16),
        FirstLists::topologies_key(), FirstLists::counts_key(),
        optional(FirstLists::names[2], &FirstLists::links, "links of an NPU in a dimension").between(1, 1024),
        FirstLists::bandwidths_key(), FirstLists::latencies_key());
  }
};

namespace {

/// The text of a value, as it stands in the file.
std::string value_of(const config::Node& node) {
  if (node.kind == config::Node::Kind::scalar) return node.scalar;
  std::vector<std::string> items;
  for (const config::Node& item : node.items) items.push_back(value_of(item));
  return node.kind == config::Node::Kind::sequence ? fmt::format("[{}]", fmt::join(items, ", "))
                                                   : std::string("...");
}

/// Takes out the keys that the table does not have, and returns them with their values.
template <class File>
std::vector<std::string> take_others(config::Document& document) {
  std::vector<std::string> others;
  config::Keys<File>::table()([&](const auto&... key) {
    std::erase_if(document.root.entries, [&](const config::Node::Entry& entry) {
      if (((entry.key == key.name) || ...)) return false;
      others.push_back(fmt::format("{}: {}", entry.key, value_of(entry.value)));
      return true;
    });
  });
  return others;
}

void check_length(config::Problems& problems, std::string_view key, std::size_t length, std::size_t wanted) {
  if (length == wanted) return;
  problems.error(key, fmt::format("{} values for {} dimensions", length, wanted),
                 "a value for each dimension");
}

/// An NPU's links are divided equally among its connections.
template <class Lists>
void check_links(const Lists& lists, config::Problems& problems) {
  for (std::size_t i = 0; i < lists.links.size(); ++i) {
    const int connections = connections_of(
        {.topology = lists.topologies[i], .count = lists.counts[i], .bandwidth = {}, .latency = {}});
    if (connections == 0 || lists.links[i] % connections == 0) continue;
    problems.error(fmt::format("{}[{}]", Lists::names[2], i),
                   fmt::format("{} links of an NPU for {} connections of a {} of {}", lists.links[i],
                               connections, config::name_of(lists.topologies[i]), lists.counts[i]),
                   "connections of a dimension are equally fast");
  }
}

template <class Lists>
void check_lists(const Lists& lists, config::Problems& problems) {
  const std::size_t wanted = lists.topologies.size();
  if (wanted == 0) problems.error(Lists::names[0], "no dimension", "a topology for each dimension");
  if (lists.dimensions > 0) check_length(problems, Lists::names[0], wanted, at(lists.dimensions));
  check_length(problems, Lists::names[1], lists.counts.size(), wanted);
  if (!lists.links.empty()) check_length(problems, Lists::names[2], lists.links.size(), wanted);
  check_length(problems, Lists::names[3], lists.bandwidths.size(), wanted);
  check_length(problems, Lists::names[4], lists.latencies.size(), wanted);
  const bool is_whole = problems.readable(Lists::names[0]) && problems.readable(Lists::names[1]) &&
                        lists.counts.size() == wanted && lists.links.size() == wanted;
  if (is_whole && problems.readable(Lists::names[2])) check_links(lists, problems);
}

/// The decimal of the file, with its unit, to the nearest number.
template <class Q>
Q with_unit(double value, std::string_view unit) {
  return *parse_quantity<Q>(fmt::format("{} {}", shortest(value), unit));
}

template <class Lists>
std::vector<AstraDimension> dimensions_of(const Lists& lists) {
  std::vector<AstraDimension> dimensions;
  for (std::size_t i = 0; i < lists.topologies.size(); ++i) {
    dimensions.push_back({.topology = lists.topologies[i],
                          .count = lists.counts[i],
                          .bandwidth = with_unit<Bandwidth>(lists.bandwidths[i], "GB/s"),
                          .latency = with_unit<Seconds>(lists.latencies[i], "ns")});
    AstraDimension& made = dimensions.back();
    const int connections = connections_of(made);
    if (!lists.links.empty() && connections > 0) made.links = lists.links[i] / connections;
  }
  return dimensions;
}

}  // namespace

bool is_astra_network(const InputText& input) {
  return config::format_of(input.text) == config::FileFormat::astra_sim_network;
}

int connections_of(const AstraDimension& dimension) {
  if (dimension.count < 2) return 0;
  switch (dimension.topology) {
    case AstraTopology::ring:
      return std::min(2, dimension.count - 1);
    case AstraTopology::fully_connected:
      return dimension.count - 1;
    case AstraTopology::switched:
      break;
  }
  return 1;
}

AstraNetwork read_astra_network(const InputText& input) {
  std::string text = input.text;  // JSON may have tabs, YAML must not
  std::ranges::replace(text, '\t', ' ');
  config::Document document = config::parse(input.name, text, {config::FileFormat::astra_sim_network});
  AstraNetwork network;
  network.file = input.name;
  network.is_first_version = document.root.find(FirstLists::names[0]) != nullptr;
  const auto read = [&]<class Lists>(const Lists& /*of*/) {
    network.not_used = take_others<Lists>(document);
    network.dimensions = dimensions_of(config::read<Lists>(document, check_lists<Lists>));
  };
  network.is_first_version ? read(FirstLists{}) : read(SecondLists{});
  return network;
}

double npus_of(const AstraNetwork& network) {
  double npus = 1;
  for (const AstraDimension& dimension : network.dimensions) npus *= dimension.count;
  return npus;
}

std::string astra_network_text(const AstraNetwork& network, const std::vector<std::string>& comments) {
  std::vector<std::string> topologies, counts, bandwidths, latencies;
  for (const AstraDimension& one : network.dimensions) {
    topologies.emplace_back(config::name_of(one.topology));
    counts.push_back(std::to_string(one.count));
    bandwidths.push_back(digits12(one.bandwidth.si() * one.links / gigabyte));
    latencies.push_back(digits12(one.latency.si() / nanosecond));
  }
  std::string text;
  for (const std::string& comment : comments) text += "# " + comment + '\n';
  text += fmt::format("topology: [ {} ]\n", fmt::join(topologies, ", "));
  text += fmt::format("npus_count: [ {} ]\n", fmt::join(counts, ", "));
  text += fmt::format("bandwidth: [ {} ]  # GB/s of a link and direction\n", fmt::join(bandwidths, ", "));
  text += fmt::format("latency: [ {} ]  # ns of a link\n", fmt::join(latencies, ", "));
  return text;
}

}  // namespace trainyard
