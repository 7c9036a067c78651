#pragma once
// A fat tree: leaf switches, any number of levels of spines above them, one core that joins the highest
// level. The cables from a switch upwards are one link with their total bandwidth: adaptive routing spreads
// over them, and collisions are not modelled.

#include "platform/fabric_port.hpp"

#include <optional>
#include <string>
#include <vector>

namespace trainyard {

/// See FabricNetwork. A switch has an uplink and a downlink only if they can limit traffic: if its level is
/// oversubscribed and some node lies outside the switch.
class FatTree {
public:
  FatTree(const Fabric& fabric, int nodes, int nics);

  [[nodiscard]] std::uint32_t links() const { return links_; }
  [[nodiscard]] LinkRates rates(std::uint32_t link) const { return level_of(link).rates; }
  [[nodiscard]] std::string name(std::uint32_t link) const;
  std::optional<Seconds> append_route(Port from, Port to, std::uint32_t first,
                                      std::vector<LinkId>& links) const;

private:
  struct Level {
    int nodes_per_switch = 1;
    bool has_links = false;
    std::uint32_t first_link = 0;  ///< up from switch 0, then down to it, then those of switch 1
    LinkRates rates;
  };

  [[nodiscard]] const Level& level_of(std::uint32_t link) const;
  [[nodiscard]] std::string switch_name(std::size_t level, std::uint32_t number) const;

  std::vector<Level> levels_;
  std::uint32_t links_ = 0;
  Seconds latency_;
  Seconds hop_latency_;
};

}  // namespace trainyard
