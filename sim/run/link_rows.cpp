#include "run/link_rows.hpp"

#include <algorithm>

namespace trainyard {

namespace {

/// Mean capacity of a link from date 0 to `end`.
Bandwidth mean_capacity(Bandwidth at_start, LinkId link, std::vector<LinkEvent> events, Seconds end) {
  std::erase_if(events, [&](const LinkEvent& event) { return event.link != link || event.date >= end; });
  std::ranges::stable_sort(events, {}, &LinkEvent::date);
  Bytes could_carry;
  Seconds since;
  Bandwidth now = at_start;
  for (const LinkEvent& event : events) {
    could_carry += now * (event.date - since);
    since = event.date;
    now = event.bandwidth;
  }
  return (could_carry + now * (end - since)) / end;
}

}  // namespace

std::vector<LinkRow> link_rows(const Cluster& cluster, std::span<const Bandwidth> capacities,
                               const Timeline& timeline, std::span<const LinkEvent> events) {
  std::vector<LinkRow> rows;
  rows.reserve(timeline.link_bytes.size() - std::ranges::count(timeline.link_bytes, 0));
  for (std::size_t link = 0; link < timeline.link_bytes.size(); ++link) {
    const Bytes bytes{timeline.link_bytes[link]};
    if (bytes <= Bytes{}) continue;
    const LinkId id{static_cast<std::uint32_t>(link)};
    const bool has_changed = std::ranges::find(events, id, &LinkEvent::link) != events.end();
    const Bandwidth capacity =
        has_changed ? mean_capacity(capacities[link], id, {events.begin(), events.end()}, timeline.makespan)
                    : capacities[link];
    rows.push_back({.name = link_name(cluster, id),
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

LinkTraffic link_traffic(std::vector<LinkRow> rows) {
  LinkTraffic use;
  use.rows = std::move(rows);
  const LinkRow* most = busiest(use.rows);
  if (most == nullptr) return use;
  double sum = 0;
  for (const LinkRow& link : use.rows) sum += link.utilization;
  use.mean = sum / static_cast<double>(use.rows.size());
  use.most = most->utilization;
  use.busiest = most->name;
  return use;
}

LinkTraffic stretched(LinkTraffic use, double slower) {
  use.mean /= slower;
  use.most /= slower;
  for (LinkRow& link : use.rows) link.utilization /= slower;
  return use;
}

}  // namespace trainyard
