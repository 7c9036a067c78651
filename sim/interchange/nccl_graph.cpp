#include "interchange/nccl_graph.hpp"

#include "interchange/xml.hpp"
#include "platform/channels.hpp"
#include "platform/cluster.hpp"
#include "units/plural.hpp"
#include "units/text.hpp"

#include <algorithm>
#include <charconv>
#include <fmt/format.h>
#include <map>
#include <set>
#include <system_error>
#include <utility>

namespace trainyard {
namespace {

class GraphReader {
public:
  explicit GraphReader(const InputText& input) : input_(input) {}

  NcclGraphs read() {
    const XmlElement root = parse_xml(input_);
    if (root.name != "graphs")
      throw input_error(input_.name, root.line,
                        fmt::format("<{}>, not the graphs that NCCL found", root.name),
                        root.name == "system" ? "this is a topology: trainyard init platform"
                                              : "NCCL writes <graphs> to NCCL_GRAPH_DUMP_FILE");
    NcclGraphs made{.file = input_.name, .graphs = {}};
    for (const XmlElement& child : root.children) {
      if (child.name == "graph") made.graphs.push_back(graph(child));
    }
    return made;
  }

private:
  [[nodiscard]] double number(const XmlElement& element, std::string_view name) const {
    std::string_view text = element.attribute(name);
    const std::string_view written = text;
    const bool is_hexadecimal = text.starts_with("0x");
    double value = 0;
    std::from_chars_result ended{};
    if (is_hexadecimal) {
      int whole = 0;
      text.remove_prefix(2);
      ended = std::from_chars(text.data(), text.data() + text.size(), whole, 16);
      value = whole;
    } else {
      ended = std::from_chars(text.data(), text.data() + text.size(), value);
    }
    constexpr double most = 1e6;
    const bool is_number = ended.ec == std::errc() && ended.ptr == text.data() + text.size();
    const bool is_in_range = value >= 0 && value <= most;
    if (!is_number || !is_in_range)
      throw input_error(
          input_.name, element.line,
          fmt::format("{} of <{}> is {}, not a number from 0 on", name, element.name, shown(written)));
    return value;
  }

  [[nodiscard]] NcclGraph graph(const XmlElement& element) const {
    NcclGraph made{.id = static_cast<int>(number(element, "id")),
                   .pattern = static_cast<int>(number(element, "pattern")),
                   .inside = Bandwidth(number(element, "speedintra") * 1e9),
                   .between = Bandwidth(number(element, "speedinter") * 1e9),
                   .type_inside = std::string(element.attribute("typeintra")),
                   .type_between = std::string(element.attribute("typeinter")),
                   .channels = {},
                   .line = element.line};
    for (const XmlElement& child : element.children) {
      if (child.name == "channel") made.channels.push_back(channel(child));
    }
    const int stated = static_cast<int>(number(element, "nchannels"));
    if (stated != std::ssize(made.channels))
      throw input_error(input_.name, element.line,
                        fmt::format("{} of graph {} are stated, but there are {}", plural(stated, "channel"),
                                    made.id, made.channels.size()),
                        "is the file cut off?");
    return made;
  }

  [[nodiscard]] NcclChannel channel(const XmlElement& element) const {
    NcclChannel made;
    for (const XmlElement& child : element.children) {
      if (child.name == "gpu")
        made.gpus.push_back(static_cast<int>(number(child, child.has("dev") ? "dev" : "rank")));
    }
    return made;
  }

  const InputText& input_;
};

using RingOrder = std::vector<int>;

/// The same for all starts and both directions.
RingOrder plain_order(RingOrder order) {
  std::ranges::rotate(order, std::ranges::min_element(order));
  RingOrder back = order;
  std::reverse(back.begin() + 1, back.end());
  return std::min(order, back);
}

struct OwnRings {
  std::vector<Channel> channels;
  Bandwidth rate;
};

/// Each ring at the rate of its tightest link, which all rings over it share.
OwnRings own_rings(const Cluster& cluster) {
  OwnRings own{.channels = ring_channels(cluster), .rate = {}};
  std::map<LinkId, int> uses;
  std::vector<std::vector<LinkId>> links(own.channels.size());
  for (std::size_t i = 0; i < own.channels.size(); ++i) {
    const std::vector<Rank>& order = own.channels[i].order;
    for (std::size_t at = 0; at < order.size(); ++at) {
      if (own.channels[i].is_chain && at + 1 == order.size()) break;
      append_route(cluster, order[at], order[(at + 1) % order.size()], own.channels[i].nic, links[i]);
    }
    for (const LinkId link : links[i]) ++uses[link];
  }
  for (std::size_t i = 0; i < own.channels.size(); ++i) {
    Bandwidth rate = own.channels[i].limit;
    for (const LinkId link : links[i]) rate = std::min(rate, capacity(cluster, link) / uses[link]);
    own.rate += rate;
  }
  return own;
}

}  // namespace

NcclGraphs read_nccl_graphs(const InputText& input) { return GraphReader(input).read(); }

RingComparison compare_rings(const NcclGraphs& graphs, const Platform& platform) {
  const auto found = std::ranges::find(graphs.graphs, nccl_ring_pattern, &NcclGraph::pattern);
  if (found == graphs.graphs.end() || found->channels.empty())
    throw input_error(graphs.file, 0, "the graphs have no rings (pattern 4)");
  std::set<RingOrder> theirs;
  std::set<int> gpus;
  for (const NcclChannel& channel : found->channels) {
    if (channel.gpus.size() < 2) throw input_error(graphs.file, found->line, "a ring of fewer than two GPUs");
    gpus.insert(channel.gpus.begin(), channel.gpus.end());
    theirs.insert(plain_order(channel.gpus));
  }
  const int count = static_cast<int>(gpus.size());
  if (*gpus.rbegin() >= std::ssize(platform.gpus) || *gpus.rbegin() + 1 != count)
    throw input_error(graphs.file, found->line,
                      fmt::format("rings of {} up to number {}, but a node of {} has {}",
                                  plural(count, "GPU"), *gpus.rbegin(), platform.name, platform.gpus.size()),
                      "name the platform of the node that the graphs are of");
  const OwnRings own = own_rings(make_cluster(platform, 1, count));
  RingComparison made{.theirs = static_cast<int>(found->channels.size()),
                      .ours = static_cast<int>(own.channels.size()),
                      .their_rate = found->inside * static_cast<double>(found->channels.size()),
                      .our_rate = own.rate,
                      .distinct = static_cast<int>(theirs.size()),
                      .common = 0,
                      .type_inside = found->type_inside,
                      .type_between = found->type_between};
  std::set<RingOrder> ours;
  for (const Channel& channel : own.channels) {
    RingOrder order;
    for (const Rank rank : channel.order) order.push_back(index(rank));
    ours.insert(plain_order(std::move(order)));
  }
  for (const RingOrder& order : theirs) made.common += ours.contains(order) ? 1 : 0;
  return made;
}

std::string ring_comparison_text(const RingComparison& rings, const std::string& platform) {
  return fmt::format(
      "rings of NCCL      {}, {} in all; {} between GPUs\n"
      "rings of trainyard {}, {} in all, on a node of {}\n"
      "same order         {} of {} (start and direction do not count)\n",
      plural(rings.theirs, "channel"), human(rings.their_rate),
      rings.type_inside.empty() ? "?" : rings.type_inside, plural(rings.ours, "channel"),
      human(rings.our_rate), platform, rings.common, rings.distinct);
}

}  // namespace trainyard
