#include "collectives/protocols.hpp"

#include "config/read.hpp"
#include "config/write.hpp"

#include <array>

namespace trainyard {
namespace {

constexpr std::array all_protocols{Protocol::ll, Protocol::ll128, Protocol::simple};

void set_medium(Costs& costs, PathType type, const MediumCosts& medium) {
  const auto row = static_cast<std::size_t>(type);
  for (const Protocol protocol : all_protocols) {
    const auto column = static_cast<std::size_t>(protocol);
    costs.step[row][column] = medium.step.of(protocol).value;
    costs.efficiency[row][column] = medium.efficiency.of(protocol).value;
  }
  costs.startup[row] = medium.startup.value;
}

// by Transport
constexpr std::array networks{&NetworkCosts::infiniband, &NetworkCosts::roce,  &NetworkCosts::efa,
                              &NetworkCosts::tcp,        &NetworkCosts::aries, &NetworkCosts::omni_path};

const MediumCosts& network_of(const NetworkCosts& costs, const Fabric& fabric) {
  // efa and tcp were measured through the host.
  const bool has_own = fabric.transport == Transport::efa || fabric.transport == Transport::tcp;
  if (!has_own && !fabric.gpudirect.value) return costs.through_host;
  return costs.*networks.at(static_cast<std::size_t>(fabric.transport));
}

}  // namespace

const MediumCosts& medium_of(const PathCosts& paths, PathType type) {
  constexpr std::array media{&PathCosts::nvlink1, &PathCosts::nvlink2, &PathCosts::nvlink3,
                             &PathCosts::nvlink4, &PathCosts::pix,     &PathCosts::pxb,
                             &PathCosts::phb,     &PathCosts::sys,     &PathCosts::staged};
  return paths.*media.at(static_cast<std::size_t>(type));
}

Protocols load_protocols(const config::Document& document) {
  return config::read<Protocols>(
      document, [](const Protocols& read, config::Problems& problems) { problems.check_name(read.name); });
}

Costs costs_of(const Protocols& constants, NcclVersion version, const Fabric& fabric) {
  if (version == NcclVersion::none) return no_costs();
  Costs costs;
  for (const Protocol protocol : all_protocols)
    costs.base[static_cast<std::size_t>(protocol)] = constants.base.of(protocol).value;
  costs.launch = constants.launch.value;
  for (int type = 0; type < static_cast<int>(PathType::network); ++type)
    set_medium(costs, static_cast<PathType>(type), medium_of(constants.paths, static_cast<PathType>(type)));
  set_medium(costs, PathType::network, network_of(constants.networks, fabric));
  if (version == NcclVersion::v2_4) {
    constexpr auto simple = static_cast<std::size_t>(Protocol::simple);
    for (int type = 0; is_nvlink(static_cast<PathType>(type)); ++type) {
      Seconds& step = costs.step[static_cast<std::size_t>(type)][simple];
      step = step * constants.versions.v2_4.nvlink_simple_step.value;
    }
  }
  return costs;
}

std::string protocols_text(const Protocols& constants) {
  return "# yaml-language-server: $schema=../schema/protocols.json\n"
         "# Made by trainyard calibrate collectives (platforms/README.md, \"Constants of protocols\").\n" +
         config::write(constants);
}

}  // namespace trainyard
