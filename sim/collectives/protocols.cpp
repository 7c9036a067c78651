#include "collectives/protocols.hpp"

#include "collectives/nccl_tuning.hpp"
#include "config/read.hpp"
#include "config/write.hpp"
#include "platform/node_visits.hpp"
#include "platform/ring_search.hpp"

#include <array>
#include <boost/range/iterator_range.hpp>
#include <numeric>
#include <vector>

namespace trainyard {
namespace {

constexpr std::array all_protocols{Protocol::ll, Protocol::ll128, Protocol::simple};

void set_medium(ProtocolOverheads& overheads, PathType type, const MediumOverheads& medium) {
  const auto row = static_cast<std::size_t>(type);
  for (const Protocol protocol : all_protocols) {
    const auto column = static_cast<std::size_t>(protocol);
    overheads.step[row][column] = medium.step.of(protocol).value;
    overheads.efficiency[row][column] = medium.efficiency.of(protocol).value;
  }
  overheads.startup[row] = medium.startup.value;
}

// by Transport
constexpr std::array networks{&NetworkCosts::infiniband, &NetworkCosts::roce,  &NetworkCosts::efa,
                              &NetworkCosts::tcp,        &NetworkCosts::aries, &NetworkCosts::omni_path};

const MediumOverheads& network_of(const NetworkCosts& overheads, const Fabric& fabric) {
  // efa and tcp were measured through the host.
  const bool has_own = fabric.transport == Transport::efa || fabric.transport == Transport::tcp;
  if (!has_own && !fabric.gpudirect.value) return overheads.through_host;
  return overheads.*networks.at(static_cast<std::size_t>(fabric.transport));
}

std::optional<LinkKind> fastest_nvlink(const NodeGraph& node) {
  std::optional<LinkKind> fastest;
  for (const EdgeId edge : boost::make_iterator_range(edges(node))) {
    const LinkKind kind = node[edge].kind;
    if (is_nvlink(kind) && (!fastest || kind > *fastest)) fastest = kind;
  }
  return fastest;
}

/// 90 (Hopper) or 100 (Blackwell) where NVLinks say so; 80 stands for all others.
int capability_by_links(const NodeGraph& node) {
  const std::optional<LinkKind> fastest = fastest_nvlink(node);
  if (fastest == LinkKind::nvlink5) return 100;
  return fastest == LinkKind::nvlink4 ? 90 : 80;
}

/// The costs of the fastest NVLinks in a node, whose generation is that of the GPUs; null without any.
const MediumOverheads* fastest_nvlinks(const Protocols& constants, const NodeGraph& node) {
  const std::optional<LinkKind> fastest = fastest_nvlink(node);
  return fastest ? &medium_of(constants.paths, static_cast<PathType>(*fastest)) : nullptr;
}

/// Bridges between some GPUs leave a node's collectives those of the same node without them.
bool do_nvlinks_join_all(const Platform& platform) {
  std::vector<int> gpus(platform.gpus.size());
  std::iota(gpus.begin(), gpus.end(), 0);
  return is_connected(gpu_lanes(platform, gpus));
}

/// Since 2.22, whose searches for channels these costs presume.
std::optional<BetweenOverheads> between_of(const MediumOverheads& network, NcclVersion version,
                                           const Platform& platform) {
  if (!network.turns || version < NcclVersion::v2_27) return std::nullopt;
  const TurnCosts& turns = *network.turns;
  constexpr double counted = 0.96;
  BetweenOverheads between{.chunk = {Seconds{}, turns.chunk_ll128.value, turns.chunk_simple.value},
                           .channel = {Bandwidth{}, turns.channel_ll128.value, turns.channel_simple.value},
                           .of_two = turns.of_two.value,
                           .base = turns.message_base.value,
                           .peer = turns.message_peer.value,
                           .efficiency = turns.message_efficiency.value,
                           .nic = platform.fabric.nic.value.si() / 1e9 * counted,
                           .compute_capability = capability_by_links(platform.node)};
  for (const Protocol protocol : all_protocols) {
    const auto place = static_cast<std::size_t>(protocol);
    between.turn[place] = turns.ring.of(protocol).value;
    between.tree_step[place] = turns.tree_step.of(protocol).value;
  }
  return between;
}

}  // namespace

const MediumOverheads& medium_of(const PathOverheads& paths, PathType type) {
  constexpr std::array media{&PathOverheads::nvlink1, &PathOverheads::nvlink2, &PathOverheads::nvlink3,
                             &PathOverheads::nvlink4, &PathOverheads::nvlink5, &PathOverheads::xgmi,
                             &PathOverheads::pix,     &PathOverheads::pxb,     &PathOverheads::phb,
                             &PathOverheads::sys,     &PathOverheads::staged};
  return paths.*media.at(static_cast<std::size_t>(type));
}

Protocols load_protocols(const config::Document& document) {
  return config::read<Protocols>(
      document, [](const Protocols& read, config::Problems& problems) { problems.check_name(read.name); });
}

ProtocolOverheads overheads_of(const Protocols& constants, NcclVersion version, const Platform& platform) {
  if (version == NcclVersion::none) return no_overheads();
  ProtocolOverheads overheads;
  const MediumOverheads* nvlinks = fastest_nvlinks(constants, platform.node);
  const bool has_base = nvlinks != nullptr && nvlinks->base && do_nvlinks_join_all(platform);
  const SourcedByProtocol<Seconds>& base = has_base ? *nvlinks->base : constants.base;
  for (const Protocol protocol : all_protocols)
    overheads.base[static_cast<std::size_t>(protocol)] = base.of(protocol).value;
  if (nvlinks != nullptr && nvlinks->nvls) {
    overheads.nvls_step = nvlinks->nvls->step.value;
    overheads.nvls_efficiency = nvlinks->nvls->efficiency.value;
  }
  if (nvlinks != nullptr && nvlinks->pairs) {
    const PairCosts& pairs = *nvlinks->pairs;
    overheads.pairs = PairOverheads{.base_ll = pairs.base_ll.value,
                                    .base_simple = pairs.base_simple.value,
                                    .channel_ll = pairs.channel_ll.value,
                                    .channel_simple = pairs.channel_simple.value,
                                    .efficiency = pairs.efficiency.value,
                                    .startup = pairs.startup.value,
                                    .least_part_ll = nccl_least_part(version, Protocol::ll),
                                    .least_part_simple = nccl_least_part(version, Protocol::simple)};
  }
  if (nvlinks != nullptr && nvlinks->all_pairs) {
    const AllPairsCosts& costs = *nvlinks->all_pairs;
    overheads.all_pairs =
        AllPairsOverheads{.step = {costs.step_ll.value, {}, costs.step_simple.value},
                          .efficiency = {costs.efficiency_ll.value, 0, costs.efficiency_simple.value}};
  }
  overheads.launch = constants.launch.value;
  for (int type = 0; type < static_cast<int>(PathType::network); ++type)
    set_medium(overheads, static_cast<PathType>(type),
               medium_of(constants.paths, static_cast<PathType>(type)));
  const MediumOverheads& network = network_of(constants.networks, platform.fabric);
  set_medium(overheads, PathType::network, network);
  overheads.between = between_of(network, version, platform);
  if (version == NcclVersion::v2_4) {
    constexpr auto simple = static_cast<std::size_t>(Protocol::simple);
    for (int type = 0; is_nvlink(static_cast<PathType>(type)); ++type) {
      Seconds& step = overheads.step[static_cast<std::size_t>(type)][simple];
      step = step * constants.versions.v2_4.nvlink_simple_step.value;
    }
  }
  return overheads;
}

std::string protocols_text(const Protocols& constants) {
  return "# yaml-language-server: $schema=../schema/protocols.json\n"
         "# Made by trainyard calibrate collectives (docs/collectives.md, \"Constants of protocols\").\n" +
         config::write(constants);
}

}  // namespace trainyard
