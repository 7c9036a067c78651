#pragma once
// What software adds to a transfer besides bytes over bandwidth: by protocol and by the medium of the edge.
// Values, not formulas: the same algorithms run with no costs at all (the wire's alpha-beta model) and with
// constants calibrated on published curves (platforms/protocols/nccl.yaml).

#include "config/keys.hpp"
#include "platform/cluster.hpp"
#include "units/quantity.hpp"

#include <array>

namespace trainyard {

/// NCCL's ways to move data: flags beside every word (ll) or every 128 bytes (ll128), or whole chunks with a
/// handshake each (simple): in this order latency and bandwidth grow.
enum class Protocol { ll, ll128, simple };
constexpr int protocols = 3;

template <class T>
using ByProtocol = std::array<T, protocols>;

struct Costs {
  ByProtocol<Seconds> base{};  ///< once per collective
  std::array<ByProtocol<Seconds>, path_types>
      step{};  ///< per message, beside or instead of the wire's latency
  std::array<ByProtocol<double>, path_types>
      efficiency{};                          ///< part of the links' rate that is reached; 0: all
  std::array<double, path_types> startup{};  ///< further messages' worth of bytes that the first costs
  Seconds launch;  ///< per GPU that one process drives, the floor of a collective's time there
};

/// The wire alone.
inline Costs no_costs() { return {}; }

/// What one message of an edge costs besides its bytes: between nodes the software's step and the wire's
/// latency (NCCL's own rule), inside a node the step in place of it; the latency alone where there is no
/// step.
Seconds message_latency(const RouteSummary& route, const Costs& costs, Protocol protocol);

/// Part of its links' rate that an edge of this type reaches.
double efficiency(PathType type, const Costs& costs, Protocol protocol);

/// What nccl-tests sees when one process starts the collective on several GPUs in turn: neither ends before
/// the other, and where both take alike a little more than the longer: the mean of sixth powers' root.
Seconds with_launches(Seconds time, Seconds launches);

namespace config {

template <>
struct Names<Protocol> {
  static constexpr std::string_view what = "protocol";
  static constexpr std::array table{Name{"LL", Protocol::ll, "a flag beside every 4 bytes"},
                                    Name{"LL128", Protocol::ll128, "a flag in every 128 bytes"},
                                    Name{"Simple", Protocol::simple, "whole chunks with a handshake"}};
};

}  // namespace config
}  // namespace trainyard
