#pragma once
// Network configurations of ASTRA-sim: a network of each dimension, one inside the other. Sources:
// astra-sim/astra-network-analytical README.md (2.0); astra-sim/tutorials asplos2022 (1.0).

#include "config/keys.hpp"
#include "interchange/input_text.hpp"
#include "units/quantity.hpp"

#include <array>
#include <string>
#include <string_view>
#include <vector>

namespace trainyard {

enum class AstraTopology { ring, fully_connected, switched };

/// The network of one dimension: NPUs that differ in no other dimension are joined.
struct AstraDimension {
  AstraTopology topology{};
  int count = 1;        ///< NPUs that it joins
  int links = 1;        ///< parallel ones of each connection: between neighbours, or to the switch
  Bandwidth bandwidth;  ///< of one link and direction
  Seconds latency;      ///< of one link; a message by way of a switch takes two
};

struct AstraNetwork {
  std::string file;                        ///< as the user named it
  bool is_first_version = false;           ///< the JSON form of ASTRA-sim 1.0
  std::vector<AstraDimension> dimensions;  ///< the innermost first
  std::vector<std::string> not_used;       ///< other keys of the file, with their values
};

/// Whether the file is one, of any version.
bool is_astra_network(const InputText& input);

/// Reads 2.0's YAML (GB/s per link and direction, ns) and 1.0's JSON, whose links-count are those of an NPU.
/// Throws InputError with all errors and their lines: figures that are no numbers ("tbd"), lists of different
/// lengths, topologies that ASTRA-sim's analytical network does not have.
AstraNetwork read_astra_network(const InputText& input);

/// NPUs of all dimensions together.
double npus_of(const AstraNetwork& network);

/// The connections of an NPU in a dimension: to neighbours, to all others, or to the switch.
int connections_of(const AstraDimension& dimension);

/// The configuration as 2.0's YAML, which reads back to the same network; of parallel links the rate of all.
/// `comments`: lines for its head.
std::string astra_network_text(const AstraNetwork& network, const std::vector<std::string>& comments);

namespace config {

template <>
struct Names<AstraTopology> {
  static constexpr std::string_view what = "topology";
  static constexpr std::array table{
      Name{"Ring", AstraTopology::ring, "links between neighbours, in both directions"},
      Name{"FullyConnected", AstraTopology::fully_connected, "a link between any two"},
      Name{"Switch", AstraTopology::switched, "a link of each to one switch"}};
};

}  // namespace config
}  // namespace trainyard
