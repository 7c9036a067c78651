#pragma once
// Groups links that differ only in numbers: a cluster has thousands of links of a handful of kinds.

#include "run/link_rows.hpp"

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace trainyard {

struct LinksWithSameLoad {
  std::string kind;  ///< "node#.gpu#->nvswitch#"
  const LinkRow* busiest = nullptr;
  std::int64_t links = 0;
  Bytes least, most;
};

/// Links of one kind and capacity, the busiest group first. Points into `links`.
std::vector<LinksWithSameLoad> links_with_same_load(std::span<const LinkRow> links);

}  // namespace trainyard
