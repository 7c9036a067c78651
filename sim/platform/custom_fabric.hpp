#pragma once
// A fabric that a file lists link by link: switches, and cables between them and the NICs of nodes.

#include "platform/fabric_port.hpp"

#include <optional>
#include <string>
#include <vector>

namespace trainyard {

/// See FabricNetwork. A route has the fewest links; among equally short ones, from the sender on, that whose
/// links come first in the file. It never passes through a NIC. The tree of routes from a switch is made when
/// first needed.
class CustomFabric {
public:
  CustomFabric(const Fabric& fabric, int nics);

  [[nodiscard]] std::uint32_t links() const { return 2 * unsigned_of(static_cast<int>(cables_.size())); }
  [[nodiscard]] LinkRates rates(std::uint32_t link) const { return cables_[link / 2].rates; }
  [[nodiscard]] std::string name(std::uint32_t link) const;
  std::optional<Seconds> append_route(Port from, Port to, std::uint32_t first,
                                      std::vector<LinkId>& links) const;

private:
  /// Link 2c of cable c leads from `one` to `other`, link 2c + 1 back.
  struct Cable {
    std::string one;
    std::string other;
    LinkRates rates;
    Seconds latency;
  };
  /// A link out of a switch or a NIC, and its target: switches first, then NICs node by node.
  struct Exit {
    std::uint32_t link = 0;
    int to = 0;
  };
  /// Routes from one switch to the others.
  struct Tree {
    std::vector<int> distance;      ///< in links; -1: none
    std::vector<std::uint32_t> by;  ///< the last link of the route
    std::vector<int> before;        ///< the switch before it
  };

  [[nodiscard]] const Tree& tree_from(int first_switch) const;

  int switches_;
  int nics_;
  std::vector<Cable> cables_;
  std::vector<std::vector<Exit>> exits_;  ///< by switch and NIC, in the order of the file
  mutable std::vector<Tree> trees_;       ///< by switch; empty until needed
  Seconds latency_;
};

}  // namespace trainyard
