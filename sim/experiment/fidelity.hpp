#pragma once
// How exactly collectives are simulated: users choose between speed and detail.

#include "config/keys.hpp"

#include <array>
#include <string_view>

namespace trainyard {

/// Cheapest first.
enum class Fidelity {
  closed,    ///< every collective takes its closed-form time, as if it had the network to itself
  flow,      ///< 16 macro rounds that share links with all other traffic; the default
  rounds,    ///< every round, all edges of a round in lock step
  messages,  ///< every message; the reference
};

namespace config {

template <>
struct Names<Fidelity> {
  static constexpr std::string_view what = "fidelity";
  static constexpr std::array table{
      Name{"closed", Fidelity::closed, "formula: every collective as if alone on the network"},
      Name{"flow", Fidelity::flow,
           "16 macro rounds per collective, which share links with all other traffic"},
      Name{"rounds", Fidelity::rounds, "every round, all edges of a round in lockstep"},
      Name{"messages", Fidelity::messages, "every message: the slow reference"},
      Name{"steps", Fidelity::messages, "the former name of messages"}};
};

}  // namespace config
}  // namespace trainyard
