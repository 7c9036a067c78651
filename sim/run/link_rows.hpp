#pragma once
// The bytes carried by each link of a cluster: rows of links.csv, and the busiest link for the summaries.

#include "engine/engine.hpp"
#include "platform/cluster.hpp"
#include "units/quantity.hpp"

#include <span>
#include <string>
#include <vector>

namespace trainyard {

/// A directed link that carried bytes.
struct LinkRow {
  std::string name;
  Bandwidth capacity;  ///< its mean over the makespan if it changed
  Bytes bytes;
  double utilization = 0;  ///< bytes / (capacity x makespan)
};

/// Rows of the links that carried bytes, in the cluster's order. `capacities`: at the start; `events`: later
/// changes.
std::vector<LinkRow> link_rows(const Cluster& cluster, std::span<const Bandwidth> capacities,
                               const Timeline& timeline, std::span<const LinkEvent> events = {});

/// The row with the largest utilization, the first of equals; null if there are no rows.
const LinkRow* busiest(std::span<const LinkRow> rows);

/// The links that carried bytes, and how busy they were.
struct LinkTraffic {
  std::vector<LinkRow> rows;
  double mean = 0;      ///< mean utilization of the rows
  double most = 0;      ///< utilization of the busiest
  std::string busiest;  ///< name of the busiest; empty if nothing was sent
};

LinkTraffic link_traffic(std::vector<LinkRow> rows);

/// The same bytes in `slower` times the time.
LinkTraffic stretched(LinkTraffic use, double slower);

}  // namespace trainyard
