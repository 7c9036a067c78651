#include "collectives/protocols.hpp"

#include "config/read.hpp"
#include "config/write.hpp"

#include <array>

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

const MediumOverheads& network_of(const NetworkCosts& networks, const Fabric& fabric) {
  switch (fabric.transport) {
    case Transport::efa:
      return networks.efa;
    case Transport::tcp:
      return networks.tcp;
    default:
      break;
  }
  if (!fabric.gpudirect.value) return networks.through_host;
  switch (fabric.transport) {
    case Transport::roce:
      return networks.roce;
    case Transport::aries:
      return networks.aries;
    case Transport::omni_path:
      return networks.omni_path;
    default:
      return networks.infiniband;
  }
}

}  // namespace

const MediumOverheads& medium_of(const PathOverheads& paths, PathType type) {
  switch (type) {
    case PathType::nvlink1:
      return paths.nvlink1;
    case PathType::nvlink2:
      return paths.nvlink2;
    case PathType::nvlink3:
      return paths.nvlink3;
    case PathType::nvlink4:
      return paths.nvlink4;
    case PathType::pix:
      return paths.pix;
    case PathType::pxb:
      return paths.pxb;
    case PathType::phb:
      return paths.phb;
    case PathType::sys:
      return paths.sys;
    case PathType::staged:
    case PathType::network:
      break;
  }
  return paths.staged;
}

Protocols load_protocols(const config::Document& document) {
  return config::read<Protocols>(
      document, [](const Protocols& read, config::Problems& problems) { problems.check_name(read.name); });
}

ProtocolOverheads overheads_of(const Protocols& constants, NcclVersion version, const Fabric& fabric) {
  if (version == NcclVersion::none) return no_overheads();
  ProtocolOverheads overheads;
  for (const Protocol protocol : all_protocols)
    overheads.base[static_cast<std::size_t>(protocol)] = constants.base.of(protocol).value;
  overheads.launch = constants.launch.value;
  for (int type = 0; type < static_cast<int>(PathType::network); ++type)
    set_medium(overheads, static_cast<PathType>(type),
               medium_of(constants.paths, static_cast<PathType>(type)));
  set_medium(overheads, PathType::network, network_of(constants.networks, fabric));
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
         "# Made by trainyard calibrate collectives (platforms/README.md, \"Constants of protocols\").\n" +
         config::write(constants);
}

}  // namespace trainyard
