#pragma once
// What each link of a cluster has carried: rows of links.csv, and the busiest for the summaries.

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
  Bandwidth capacity;  ///< its mean over the makespan where it changed
  Bytes bytes;
  double utilization = 0;  ///< bytes / (capacity x makespan)
};

/// Rows of the links that carried something, in the cluster's order. `capacities`: at the start; `events`:
/// what became of them.
std::vector<LinkRow> link_rows(const Cluster& cluster, std::span<const Bandwidth> capacities,
                               const Timeline& timeline, std::span<const LinkEvent> events = {});

/// The row with the largest utilisation, the first of equals; nothing for no rows.
const LinkRow* busiest(std::span<const LinkRow> rows);

/// The links that carried something, and how busy they were.
struct LinkTraffic {
  std::vector<LinkRow> rows;
  double mean = 0;      ///< utilisation, over the rows
  double most = 0;      ///< that of the busiest
  std::string busiest;  ///< its name; empty when nothing was sent
};

LinkTraffic link_traffic(std::vector<LinkRow> rows);

/// The same bytes in a time that is `slower` times as long.
LinkTraffic stretched(LinkTraffic use, double slower);

}  // namespace trainyard
