#include "study/collective_software.hpp"

#include "collectives/protocols.hpp"

namespace trainyard {

CollectiveSoftware collective_software(const config::Catalogue& catalogue, NcclVersion version,
                                       const Platform& platform) {
  if (version == NcclVersion::none) return {};
  const Protocols constants =
      load_protocols(config::load(config::find(catalogue, config::Kind::protocols, "nccl")));
  return {.version = version, .costs = costs_of(constants, version, platform.fabric)};
}

}  // namespace trainyard
