#pragma once
// Common parts of the lists of changes that what_would_help.hpp tries: machine_changes.cpp and
// job_changes.cpp.

#include "config/keys.hpp"
#include "explain/what_would_help.hpp"
#include "platform/cluster.hpp"
#include "units/text.hpp"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

namespace trainyard {

/// The factor by which quantities are increased.
inline constexpr double times_more = 2;

/// In Gbps, the usual unit for NICs; twelve digits, because a product has rounding errors in the last ones.
inline std::string in_gbps(Bandwidth bandwidth) { return digits12(8e-9 * bandwidth.si()) + " Gbps"; }

/// In GB/s, the usual unit for storage.
inline std::string in_gigabytes(Bandwidth bandwidth) { return digits12(1e-9 * bandwidth.si()) + " GB/s"; }

/// Whether a value has this name besides its usual one.
template <class E>
bool is_other_name(const config::Name<E>& name) {
  return config::name_of(name.value) != name.text;
}

/// Collects changes to an experiment, which must outlive it.
class Changes {
protected:
  explicit Changes(const ResolvedExperiment& resolved)
      : resolved_(resolved), experiment_(resolved.settings), cluster_(*resolved.cluster) {}

  void add(std::string change, Overrides set, std::string remark = {}) {
    all_.push_back({std::move(change), std::move(set), std::move(remark), {}});
  }
  void add_faster(std::vector<NetworkPart> parts, std::string change, Overrides set,
                  std::string remark = {}) {
    add(std::move(change), std::move(set), std::move(remark));
    all_.back().parts = std::move(parts);
  }
  void refuse(std::string change, std::string reason) {
    all_.push_back({std::move(change), {}, {}, std::move(reason)});
  }

  [[nodiscard]] bool is_alone() const { return cluster_.ranks() == 1 && !has_servers(experiment_.sync); }
  [[nodiscard]] bool has_own_servers() const {
    const Sync& sync = experiment_.sync;
    return has_servers(sync) && placement_of(sync) == ServerPlacement::own_nodes;
  }
  /// A trace brings the collectives of its step.
  [[nodiscard]] bool sends_itself() const {
    if (resolved_.layout) return false;
    const auto communicates = [](const Op& op) { return !op.communications.empty(); };
    return std::ranges::any_of(resolved_.classes, [&](const RankClass& one) {
      return std::ranges::any_of(one.trace.ops, communicates);
    });
  }

  template <class Is>
  [[nodiscard]] bool has_link(Is is) const {
    const NodeGraph& node = resolved_.platform.node;
    const auto [begin, end] = edges(node);
    return std::any_of(begin, end, [&](const EdgeId edge) { return is(node[edge]); });
  }

  const ResolvedExperiment& resolved_;
  const Experiment& experiment_;
  const Cluster& cluster_;
  std::vector<WhatIf> all_;
};

/// Changes of hardware.
std::vector<WhatIf> machine_changes(const ResolvedExperiment& resolved);

/// Other ways for the same GPUs to share the model. Requires a layout.
std::vector<WhatIf> layout_changes(const ResolvedExperiment& resolved);

/// Changes of software and settings on the same hardware, followed by pairs of changes that hardly help
/// alone.
std::vector<WhatIf> job_changes(const ResolvedExperiment& resolved);

}  // namespace trainyard
