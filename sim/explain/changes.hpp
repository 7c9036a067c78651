#pragma once
// What the lists of changes that what_would_help.hpp tries have in common: machine_changes.cpp and
// job_changes.cpp.

#include "explain/what_would_help.hpp"
#include "platform/cluster.hpp"
#include "units/text.hpp"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

namespace trainyard {

/// How many times as much of something is tried.
inline constexpr double times_more = 2;

/// As NICs are sold; twelve digits, because a product has others behind them.
inline std::string in_gbps(Bandwidth bandwidth) { return digits12(8e-9 * bandwidth.si()) + " Gbps"; }

/// As storage is sold.
inline std::string in_gigabytes(Bandwidth bandwidth) { return digits12(1e-9 * bandwidth.si()) + " GB/s"; }

/// Gathers changes to an experiment, which must outlive it.
class Changes {
protected:
  explicit Changes(const ResolvedExperiment& resolved)
      : resolved_(resolved), experiment_(resolved.settings), cluster_(*resolved.cluster) {}

  void add(std::string change, Overrides set, std::string remark = {}) {
    all_.push_back({std::move(change), std::move(set), std::move(remark), {}});
  }
  void refuse(std::string change, std::string reason) {
    all_.push_back({std::move(change), {}, {}, std::move(reason)});
  }

  [[nodiscard]] bool is_alone() const { return cluster_.ranks() == 1 && !has_servers(experiment_.sync); }
  [[nodiscard]] bool has_own_servers() const {
    const Sync& sync = experiment_.sync;
    return has_servers(sync) && placement_of(sync) == ServerPlacement::own_nodes;
  }
  [[nodiscard]] bool sends_itself() const {
    const auto communicates = [](const Op& op) { return op.communication != Communication::none; };
    return std::ranges::any_of(resolved_.trace.ops, communicates);
  }

  template <class Is>
  [[nodiscard]] bool has_link(Is is) const {
    const NodeGraph& node = resolved_.platform.node;
    const auto [begin, end] = edges(node);
    return std::any_of(begin, end, [&](const EdgeId edge) { return is(node[edge]); });
  }

  const ResolvedExperiment& resolved_;
  const Experiment& experiment_;
  const Cluster cluster_;
  std::vector<WhatIf> all_;
};

/// Other hardware.
std::vector<WhatIf> machine_changes(const ResolvedExperiment& resolved);

/// The same hardware put to another use, and at the end pairs of changes of which one alone hardly helps.
std::vector<WhatIf> job_changes(const ResolvedExperiment& resolved);

}  // namespace trainyard
