#pragma once
// Rates at which the links of a node carry bytes over a steady step: counters next to the kernels of its
// ranks.

#include "run/run.hpp"

#include <string>
#include <vector>

namespace trainyard {

/// Constant from `start` to `end`.
struct LinkRateSpan {
  Seconds start;
  Seconds end;
  Bandwidth rate;
};

/// The sum over the links of one kind, both directions, or over one direction of the NICs.
struct NodeLinkRates {
  std::string kind;                 ///< "nvlink3", "pcie4", "network out", "network in"
  std::vector<LinkRateSpan> spans;  ///< from 0 to the end of the step, without gaps
};

/// The rates of the node's links that carry bytes, by kind. While a collective runs, its bytes are spread
/// evenly over its time: the integral over a step is the sum of these links' bytes in links.csv, where the
/// job has the network to itself; bytes of other jobs are left out. Throws InputError as rank_step().
std::vector<NodeLinkRates> node_link_rates(const Run& run, NodeId node);

}  // namespace trainyard
