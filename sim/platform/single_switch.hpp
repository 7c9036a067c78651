#pragma once
// All NICs on one switch that never blocks: there are no links between two NICs, only latency.

#include "platform/fabric_port.hpp"

#include <optional>
#include <string>
#include <vector>

namespace trainyard {

/// See FabricNetwork.
class SingleSwitch {
public:
  SingleSwitch() = default;
  explicit SingleSwitch(const Fabric& fabric) : latency_(fabric.latency.value) {}

  [[nodiscard]] static std::uint32_t links() { return 0; }
  [[nodiscard]] static LinkRates rates(std::uint32_t /*link*/) { return {}; }
  [[nodiscard]] static std::string name(std::uint32_t /*link*/) { return {}; }
  [[nodiscard]] std::optional<Seconds> append_route(Port /*from*/, Port /*to*/, std::uint32_t /*first*/,
                                                    std::vector<LinkId>& /*links*/) const {
    return latency_;
  }

private:
  Seconds latency_;
};

}  // namespace trainyard
