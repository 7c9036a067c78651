#include "study/link_rows.hpp"

#include <algorithm>

namespace trainyard {

std::vector<LinkRow> link_rows(const Cluster& cluster, std::span<const Bandwidth> capacities,
                               const Timeline& timeline) {
  std::vector<LinkRow> rows;
  for (std::size_t link = 0; link < timeline.link_bytes.size(); ++link) {
    const Bytes bytes{timeline.link_bytes[link]};
    if (bytes <= Bytes{}) continue;
    const Bandwidth capacity = capacities[link];
    rows.push_back({.name = link_name(cluster, LinkId{static_cast<std::uint32_t>(link)}),
                    .capacity = capacity,
                    .bytes = bytes,
                    .utilization = bytes / (capacity * timeline.makespan)});
  }
  return rows;
}

const LinkRow* busiest(std::span<const LinkRow> rows) {
  const auto most = std::ranges::max_element(rows, {}, &LinkRow::utilization);
  return most == rows.end() ? nullptr : &*most;
}

}  // namespace trainyard
