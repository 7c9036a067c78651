#include "interchange/astra_platform.hpp"

#include "config/fields.hpp"
#include "interchange/known_gpus.hpp"
#include "interchange/link_rates.hpp"
#include "platform/names.hpp"
#include "platform/plausible_limits.hpp"
#include "units/plural.hpp"
#include "units/text.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <iterator>
#include <span>

namespace trainyard {
namespace {

/// Of a custom fabric, whose routes are searched.
constexpr double most_fabric_links = 20'000;
/// What a platform must state and the configuration does not have: far below its ns.
constexpr Seconds no_latency{config::least_latency};

Bandwidth rate_of(const AstraDimension& one) { return one.bandwidth * static_cast<double>(one.links); }

bool is_like(const AstraDimension& one, const AstraDimension& other) {
  return rate_of(one) == rate_of(other) && one.latency == other.latency;
}

/// Dimensions of more than one NPU.
std::vector<AstraDimension> joining(std::span<const AstraDimension> dimensions) {
  std::vector<AstraDimension> made;
  std::ranges::copy_if(dimensions, std::back_inserter(made),
                       [](const AstraDimension& one) { return one.count > 1; });
  return made;
}

/// Up to three Rings, equally fast.
bool is_torus(const std::vector<AstraDimension>& dimensions) {
  return !dimensions.empty() && dimensions.size() <= 3 &&
         std::ranges::all_of(dimensions, [&](const AstraDimension& one) {
           return one.topology == AstraTopology::ring && is_like(one, dimensions.front());
         });
}

/// A torus of all dimensions has nodes of one GPU: messages pass through routers, as through ASTRA-sim's
/// NPUs.
bool is_torus_of_gpus(const AstraNetwork& network) {
  const std::vector<AstraDimension> all = joining(network.dimensions);
  return all.size() > 1 && is_torus(all);
}

std::string dimension_words(const AstraDimension& one) {
  return fmt::format("{} of {}", config::name_of(one.topology), one.count);
}

class AstraPlatformMaker {
public:
  AstraPlatformMaker(const AstraNetwork& network, const PlatformAnswers& answers)
      : network_(network), answers_(answers), nodes_(nodes_of(network)) {
    std::span<const AstraDimension> rest(network.dimensions);
    if (!is_torus_of_gpus(network)) {
      node_ = rest.front();
      rest = rest.subspan(1);
    }
    outer_ = joining(rest);
  }

  PlatformDraft make() {
    refuse_large_nodes();
    describe();
    PlatformFile& file = draft_.file;
    file.name = answers_.name;
    file.title = fmt::format("{} of {}", plural(node_.count, "NPU"), base_name(network_.file));
    file.node.gpus = GpusFile{node_.count, answers_.gpu};
    if (node_.count > 1) add_node_links();
    if (!outer_.empty()) {
      add_cards();
      add_fabric();
    }
    file.source.push_back("ASTRA-sim's network configuration " + base_name(network_.file));
    for (const std::string& one : network_.not_used) {
      draft_.warnings.push_back(fmt::format("not used: {}", one));
      comment("not used: " + one);
    }
    return std::move(draft_);
  }

private:
  void comment(std::string text) { draft_.comments.push_back(std::move(text)); }

  void refuse_large_nodes() const {
    if (node_.count <= config::most_count) return;
    throw input_error(
        network_.file, 0,
        fmt::format("the first dimension has {} NPUs, and a node has at most {} GPUs", node_.count,
                    config::most_count),
        fmt::format("a first dimension of 1 puts them into the fabric: npus_count: [ 1, {} ]", node_.count));
  }

  void describe() {
    std::vector<std::string> words;
    for (const AstraDimension& one : network_.dimensions) words.push_back(dimension_words(one));
    comment(fmt::format("from ASTRA-sim's network configuration {}: {}", base_name(network_.file),
                        fmt::join(words, ", then ")));
    comment(fmt::format(
        "each node holds {}; {} hold all {} (nodes: {} in an experiment)",
        is_torus_of_gpus(network_) ? "one NPU of the torus" : "the NPUs of the first dimension",
        plural(nodes_, "node"), plural(static_cast<long long>(npus_of(network_)), "NPU"), nodes_));
    comment("rates and latencies are the network's alone, as ASTRA-sim has them: run with stack.nccl=none");
  }

  template <class Q>
  [[nodiscard]] Sourced<Q> stated(Q value) const {
    return {value, Provenance::specified, base_name(network_.file)};
  }
  static Sourced<Seconds> filled_in() {
    return {no_latency, Provenance::assumed, "the configuration has no latency here, a platform needs one"};
  }

  /// ASTRA-sim allows latencies of 0.
  [[nodiscard]] Sourced<Seconds> stated_latency(Seconds latency) const {
    return latency > Seconds{} ? stated(latency) : filled_in();
  }

  // ---- the first dimension

  LinkKind node_link_kind() {
    if (answers_.nvlink_kind) return *answers_.nvlink_kind;
    const KnownGpu* const gpu = gpu_of_profile(answers_.gpu);
    if (gpu != nullptr && gpu->nvlink) return *gpu->nvlink;
    comment("assumed: links inside a node are NVLinks of the third generation (--nvlink-kind)");
    return LinkKind::nvlink3;
  }

  void add_node_links() {
    LinkFile figures;
    figures.kind = node_link_kind();
    figures.lanes = node_.links;
    figures.bandwidth = stated(rate_of(node_));
    figures.latency = stated_latency(node_.latency);
    std::vector<NodeLink> links;
    const auto add = [&](DeviceKind kind, int one, int other) {
      links.push_back({DeviceKind::gpu, kind, one, other, figures});
    };
    for (int one = 0; one < node_.count; ++one) {
      if (node_.topology == AstraTopology::switched) {
        add(DeviceKind::nvswitch, one, 0);
      } else if (node_.topology == AstraTopology::fully_connected) {
        for (int other = one + 1; other < node_.count; ++other) add(DeviceKind::gpu, one, other);
      } else if (one + 1 < node_.count) {
        add(DeviceKind::gpu, one, one + 1);
      } else if (node_.count > 2) {
        add(DeviceKind::gpu, 0, one);
      }
    }
    draft_.file.node.links = grouped(links);
    if (node_.topology == AstraTopology::switched) draft_.file.node.devices.nvswitch.count = 1;
    if (node_.topology == AstraTopology::ring && node_.count > 3) {
      draft_.needs_hierarchical = nodes_ > 1;
      comment(
          "GPUs that are not neighbours exchange nothing, since messages pass through no third GPU here: "
          "several nodes need sync.algorithm=hierarchical and stack.broadcast_buffers=false");
    }
  }

  // ---- the others

  void add_cards() {
    LinkFile figures;
    figures.kind = LinkKind::pcie5;
    figures.lanes = 16;
    figures.bandwidth = card_rate();
    figures.latency = filled_in();
    std::vector<NodeLink> links;
    for (int i = 0; i < node_.count; ++i) links.push_back({DeviceKind::gpu, DeviceKind::nic, i, i, figures});
    const std::vector<LinkFile> entries = grouped(links);
    NodeFile& node = draft_.file.node;
    node.links.insert(node.links.end(), entries.begin(), entries.end());
    node.devices.nic.count = node_.count;
    comment("each GPU has a network card, as fast as its links of all further dimensions together");
  }

  [[nodiscard]] Sourced<Bandwidth> card_rate() const {
    Bandwidth rate;
    int links = 0;
    for (const AstraDimension& one : outer_) {
      rate += rate_of(one) * static_cast<double>(connections_of(one));
      links += static_cast<int>(connections_of(one));
    }
    Sourced<Bandwidth> stated_rate = stated(rate);
    if (links > 1) stated_rate.source += fmt::format(": the sum of {} links of an NPU", links);
    return stated_rate;
  }

  void add_fabric() {
    FabricFile fabric;
    if (!answers_.transport) comment("assumed: the network is InfiniBand (--transport)");
    fabric.transport = answers_.transport.value_or(Transport::infiniband);
    fabric.nic = card_rate();
    fabric.latency = filled_in();
    fabric.gpudirect = {true, Provenance::assumed, "NPUs of ASTRA-sim have links of their own"};
    if (outer_.size() == 1 && outer_.front().topology == AstraTopology::switched)
      make_rails(fabric);
    else if (is_torus(outer_))
      make_torus(fabric);
    else
      make_custom(fabric);
    draft_.file.fabric = std::move(fabric);
  }

  void make_rails(FabricFile& fabric) {
    const AstraDimension& one = outer_.front();
    fabric.latency = stated_latency(one.latency * 2.0);
    comment("a message by way of a Switch takes its latency twice: fabric.latency is both");
    fabric.kind = node_.count > 1 ? FabricKind::rail_optimised : FabricKind::single_switch;
    if (node_.count == 1) return;
    fabric.nodes_per_rail = stated(one.count);
    fabric.pxn = {true, Provenance::assumed, "data for another rail cross the node first, as in ASTRA-sim"};
    comment(
        "the second dimension joins GPUs of the same number: a rail for each, and data for another rail "
        "first crosses the node");
  }

  void make_torus(FabricFile& fabric) {
    fabric.kind = outer_.size() == 3 ? FabricKind::torus3d : FabricKind::torus2d;
    for (const AstraDimension& one : outer_) fabric.dimensions.push_back(one.count);
    if (fabric.dimensions.size() == 1) fabric.dimensions.push_back(1);
    fabric.link = stated(node_rate(outer_.front()));
    fabric.hop_latency = stated_latency(outer_.front().latency);
    comment_on_routers();
  }

  /// The links of a node's GPUs in a dimension, as one.
  [[nodiscard]] Bandwidth node_rate(const AstraDimension& one) const {
    return rate_of(one) * static_cast<double>(node_.count);
  }

  void comment_on_routers() {
    if (node_.count == 1) return;
    comment(
        fmt::format("the cards of a node share its router, whose links are {} times those of a GPU: GPUs "
                    "of different numbers may exchange data directly, in ASTRA-sim through the node",
                    node_.count));
  }

  /// Of the nodes' cards, and in each dimension of its groups.
  void refuse_many_links() const {
    double links = static_cast<double>(nodes_) * node_.count;
    for (const AstraDimension& one : outer_) {
      const double both_ends = one.topology == AstraTopology::switched ? 1 : 2;
      links += static_cast<double>(nodes_) * connections_of(one) / both_ends;
    }
    if (links <= most_fabric_links) return;
    throw input_error(network_.file, 0,
                      fmt::format("its fabric is a list of {} links; at most {}", digits12(links),
                                  digits12(most_fabric_links)),
                      "one Switch, or up to three equally fast Rings, may be larger");
  }

  void make_custom(FabricFile& fabric) {
    refuse_many_links();
    fabric.kind = FabricKind::custom;
    fabric.switches.push_back(fmt::format("router[0-{}]", nodes_ - 1));
    for (int node = 0; node < nodes_; ++node) {
      const std::string cards = node_.count == 1 ? fmt::format("node{}.nic0", node)
                                                 : fmt::format("node{}.nic[0-{}]", node, node_.count - 1);
      fabric.links.push_back({{cards, router(node)}, card_rate(), {}});
    }
    int stride = 1;
    int number = 1;  // of the dimension, as people count
    for (const AstraDimension& one : network_.dimensions) {
      if (number > 1 && one.count > 1) {
        for (int first = 0; first < nodes_; ++first) {
          if (first / stride % one.count == 0) add_group(fabric, one, number, first, stride);
        }
        stride *= one.count;
      }
      ++number;
    }
    comment_on_routers();
  }

  static std::string router(int node) { return fmt::format("router{}", node); }

  /// Joins the routers first, first + stride ...
  void add_group(FabricFile& fabric, const AstraDimension& one, int number, int first, int stride) {
    const auto add = [&](std::string from, std::string to) {
      fabric.links.push_back(
          {{std::move(from), std::move(to)}, stated(node_rate(one)), stated_latency(one.latency)});
    };
    std::vector<int> places;
    for (int i = 0; i < one.count; ++i) places.push_back(first + i * stride);
    if (one.topology == AstraTopology::switched) {
      const std::string name = fmt::format("dimension{}_switch{}", number, fabric.switches.size() - 1);
      fabric.switches.push_back(name);
      add(fmt::format("router[{}]", fmt::join(places, ",")), name);
      return;
    }
    for (std::size_t i = 0; i + 1 < places.size(); ++i) {
      const bool is_ring = one.topology == AstraTopology::ring;
      if (is_ring || i + 2 == places.size())
        add(router(places[i]), router(places[i + 1]));
      else
        add(router(places[i]),
            fmt::format("router[{}]",
                        fmt::join(places.begin() + static_cast<std::ptrdiff_t>(i) + 1, places.end(), ",")));
    }
    if (one.topology == AstraTopology::ring && places.size() > 2)
      add(router(places.front()), router(places.back()));
  }

  const AstraNetwork& network_;
  const PlatformAnswers& answers_;
  AstraDimension node_;                ///< of one NPU if all are a torus
  std::vector<AstraDimension> outer_;  ///< further dimensions, of more than one NPU
  int nodes_;
  PlatformDraft draft_;
};

}  // namespace

int nodes_of(const AstraNetwork& network) {
  const int on_node = is_torus_of_gpus(network) ? 1 : network.dimensions.front().count;
  const double nodes = npus_of(network) / on_node;
  if (nodes <= config::most_nodes) return static_cast<int>(nodes);
  throw input_error(network.file, 0,
                    fmt::format("{} nodes; a platform has at most {}", digits12(nodes), config::most_nodes));
}

PlatformDraft make_platform(const AstraNetwork& network, const PlatformAnswers& answers) {
  return AstraPlatformMaker(network, answers).make();
}

}  // namespace trainyard
