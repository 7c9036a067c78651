#pragma once
// Links that differ in numbers only, put together: a cluster has thousands of them, of a handful of kinds.

#include "run/link_rows.hpp"

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace trainyard {

struct LikeLinks {
  std::string kind;  ///< "node#.gpu#->nvswitch#"
  const LinkRow* busiest = nullptr;
  std::int64_t links = 0;
  Bytes least, most;
};

/// Links of one kind and capacity, the busiest group first. Points into `links`.
std::vector<LikeLinks> like_links(std::span<const LinkRow> links);

}  // namespace trainyard
