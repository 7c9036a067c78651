#pragma once
// The time of a published curve's collectives by the closed forms of the algorithms that NCCL would choose,
// as a function of the constants, which fits evaluate thousands of times. The routes, the rings and the
// choices do not depend on the constants and are made once.

#include "collectives/planner.hpp"
#include "collectives/protocols.hpp"
#include "config/catalogue.hpp"
#include "platform/channels.hpp"
#include "platform/cluster.hpp"
#include "published/collective_curves.hpp"

#include <map>
#include <string>
#include <vector>

namespace trainyard {

/// The ranks on which a curve was measured. Throws InputError or JobImpossible if its platform has too few.
Cluster cluster_of(const config::Catalogue& catalogue, const CollectiveCurve& curve);

class CurveModel {
public:
  CurveModel(const config::Catalogue& catalogue, CollectiveCurve curve);

  /// Time of each point with the given constants and links at `rate_factor` times the platform's rates.
  [[nodiscard]] const std::vector<Seconds>& times(const Protocols& constants, double rate_factor);

  /// Whether channels take turns between the curve's nodes (collectives/turns.hpp).
  [[nodiscard]] bool takes_turns(const Protocols& constants) const;

  [[nodiscard]] const CollectiveCurve& curve() const { return curve_; }
  /// The slowest medium between neighbours, after which the platform's rate is named.
  [[nodiscard]] PathType worst() const { return worst_; }
  /// The bandwidth of one ring over its links by the platform file.
  [[nodiscard]] Bandwidth ring_rate() const { return ring_rate_; }
  /// The rate in NCCL's own plan before any measurement (nccl_channels, or 12 of a 100 Gb NIC's 12.5).
  [[nodiscard]] Bandwidth planned_rate() const { return planned_rate_; }

private:
  void append_turns(const BetweenOverheads& between, std::vector<double>& values) const;
  [[nodiscard]] std::vector<double> relevant(const ProtocolOverheads& overheads) const;
  [[nodiscard]] std::vector<Seconds> compute(const ProtocolOverheads& overheads, double rate_factor) const;

  CollectiveCurve curve_;
  Cluster cluster_;
  std::vector<Rank> group_;
  std::vector<Channel> channels_;
  /// The algorithm and protocol of NCCL at a point.
  struct Way {
    Algorithm algorithm{};
    Protocol protocol{};
    friend auto operator<=>(const Way&, const Way&) = default;
  };
  std::vector<Way> ways_;        ///< by point
  std::vector<PathType> types_;  ///< of the rings' edges
  PathType worst_{};
  Bandwidth ring_rate_;
  Bandwidth planned_rate_;
  /// Cached because a fit changes one constant at a time, which does not affect most curves.
  std::map<std::vector<double>, std::vector<Seconds>> known_;
};

}  // namespace trainyard
