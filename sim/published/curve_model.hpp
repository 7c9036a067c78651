#pragma once
// How long a published curve's collectives take by the closed forms of the algorithms that NCCL would choose,
// as a function of the constants: what fits evaluate thousands of times. The routes, the rings and the
// choices do not depend on the constants and are made once.

#include "collectives/planner.hpp"
#include "collectives/protocols.hpp"
#include "config/catalogue.hpp"
#include "platform/channels.hpp"
#include "platform/cluster.hpp"
#include "published/collective_curves.hpp"

#include <map>
#include <memory>
#include <string>
#include <vector>

namespace trainyard {

/// The ranks a curve was measured on. Throws InputError or JobImpossible if its platform has too few.
Cluster cluster_of(const config::Catalogue& catalogue, const CollectiveCurve& curve);

class CurveModel {
public:
  CurveModel(const config::Catalogue& catalogue, const CollectiveCurve& curve);

  /// Time of each point with the given constants, the links at `rate_factor` of the rates of their platform.
  [[nodiscard]] const std::vector<Seconds>& times(const Protocols& constants, double rate_factor);

  [[nodiscard]] const CollectiveCurve& curve() const { return curve_; }
  /// The worst medium between neighbours: what names a rate of the platform.
  [[nodiscard]] PathType worst() const { return worst_; }
  /// What one ring gets of its links by the platform file.
  [[nodiscard]] Bandwidth ring_rate() const { return ring_rate_; }
  /// The same as NCCL plans with before anything is measured (nccl_channels, or 12 of a 100 Gb NIC's 12.5).
  [[nodiscard]] Bandwidth planned_rate() const { return planned_rate_; }

private:
  [[nodiscard]] std::vector<double> relevant(const Costs& costs) const;
  [[nodiscard]] std::vector<Seconds> compute(const Costs& costs, double rate_factor) const;

  const CollectiveCurve& curve_;
  std::unique_ptr<const Cluster> cluster_;  ///< at one address, for the planner's sake
  std::vector<Rank> group_;
  std::vector<Channel> channels_;
  std::vector<NcclChoice> choices_;  ///< by point
  std::vector<PathType> types_;      ///< of the rings' edges
  PathType worst_{};
  Bandwidth ring_rate_;
  Bandwidth planned_rate_;
  /// A fit changes one constant at a time, which most curves do not notice.
  std::map<std::vector<double>, std::vector<Seconds>> known_;
};

}  // namespace trainyard
