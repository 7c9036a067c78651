#pragma once
// The bytes carried by each link of a cluster: rows of links.csv, and the busiest link for the summaries.

#include "engine/engine.hpp"
#include "platform/cluster.hpp"
#include "units/quantity.hpp"

#include <optional>
#include <span>
#include <string>
#include <vector>

namespace trainyard {

/// A directed link that carried bytes.
struct LinkRow {
  std::string name;
  Bandwidth capacity;  ///< its mean over the makespan if it changed
  Bytes bytes;
  double utilization = 0;   ///< bytes / (capacity x makespan)
  bool is_assumed = false;  ///< the capacity rests on an assumed figure
};

/// Rows of the links that carried bytes, in the cluster's order. `capacities`: at the start; `events`: later
/// changes.
std::vector<LinkRow> link_rows(const Cluster& cluster, const LinkValues<Bandwidth>& capacities,
                               const Timeline& timeline, std::span<const LinkEvent> events = {});

/// The row with the largest utilization, the first of equals; null if there are no rows.
const LinkRow* busiest(std::span<const LinkRow> rows);

/// The links that carried bytes, and how busy they were.
struct LinkTraffic {
  std::vector<LinkRow> rows;           ///< empty if they are left out
  std::optional<LinkRow> busiest_row;  ///< in their place
  double mean = 0;                     ///< mean utilization of these links
  double most = 0;                     ///< utilization of the busiest
  bool is_assumed = false;             ///< the capacity of one of these links rests on an assumed figure
  std::string busiest;                 ///< name of the busiest; empty if nothing was sent
};

LinkTraffic link_traffic(std::vector<LinkRow> rows);

/// The traffic on the links of a timeline, with rows or without.
LinkTraffic link_traffic(const Cluster& cluster, const Timeline& timeline, std::span<const LinkEvent> events,
                         bool has_rows);

/// The row of the busiest link; null if it is unknown or nothing was sent.
const LinkRow* busiest(const LinkTraffic& links);

/// The traffic of a run that takes `slower` times as long.
LinkTraffic stretched(LinkTraffic use, double slower);

}  // namespace trainyard
