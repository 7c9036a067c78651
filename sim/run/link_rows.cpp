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

std::vector<LinkRow> link_rows(const Cluster& cluster, const LinkValues<Bandwidth>& capacities,
                               const Timeline& timeline, std::span<const LinkEvent> events) {
  std::vector<LinkRow> rows;
  const auto add = [&](LinkId link, Bytes bytes, Bandwidth at_start) {
    if (bytes <= Bytes{}) return;
    const bool has_changed = std::ranges::find(events, link, &LinkEvent::link) != events.end();
    const Bandwidth capacity =
        has_changed ? mean_capacity(at_start, link, {events.begin(), events.end()}, timeline.makespan)
                    : at_start;
    rows.push_back({.name = link_name(cluster, link),
                    .capacity = capacity,
                    .bytes = bytes,
                    .utilization = bytes / (capacity * timeline.makespan),
                    .is_assumed = is_assumed(cluster, link)});
  };
  timeline.link_bytes.for_each_part_with(
      capacities, [&](std::uint32_t link, std::span<const double> bytes, std::span<const Bandwidth> of_links,
                      std::uint32_t repeats) {
        for (std::uint32_t i = 0; i < repeats; ++i) {
          for (std::size_t k = 0; k < bytes.size(); ++k, ++link)
            add(LinkId{link}, Bytes{bytes[k]}, of_links[k]);
        }
      });
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
  for (const LinkRow& link : use.rows) {
    sum += link.utilization;
    use.is_assumed |= link.is_assumed;
  }
  use.mean = sum / static_cast<double>(use.rows.size());
  use.most = most->utilization;
  use.busiest = most->name;
  return use;
}

LinkTraffic link_traffic(const Cluster& cluster, const Timeline& timeline, std::span<const LinkEvent> events,
                         bool has_rows) {
  const LinkValues<Bandwidth> capacities = link_capacities(cluster);
  if (has_rows || !events.empty()) {
    LinkTraffic use = link_traffic(link_rows(cluster, capacities, timeline, events));
    if (const LinkRow* most = busiest(use); most != nullptr && !has_rows) use.busiest_row = *most;
    if (!has_rows) use.rows.clear();
    return use;
  }
  LinkTraffic use;
  double sum = 0;  // in the order of the rows
  std::int64_t links = 0;
  LinkId most{};
  std::vector<double> loads;
  timeline.link_bytes.for_each_part_with(capacities, [&](std::uint32_t link, std::span<const double> bytes,
                                                         std::span<const Bandwidth> of_links,
                                                         std::uint32_t repeats) {
    loads.clear();
    for (std::size_t k = 0; k < bytes.size(); ++k, ++link) {
      if (bytes[k] <= 0) continue;
      loads.push_back(Bytes{bytes[k]} / (of_links[k] * timeline.makespan));
      use.is_assumed = use.is_assumed || is_assumed(cluster, LinkId{link});
      if (use.busiest_row && loads.back() <= use.busiest_row->utilization) continue;
      most = LinkId{link};
      use.busiest_row =
          LinkRow{.name = {}, .capacity = of_links[k], .bytes = Bytes{bytes[k]}, .utilization = loads.back()};
    }
    for (std::uint32_t i = 0; i < repeats; ++i) {
      for (const double load : loads) sum += load;
    }
    links += static_cast<std::int64_t>(loads.size()) * repeats;
  });
  if (!use.busiest_row) return use;
  use.busiest_row->name = use.busiest = link_name(cluster, most);
  use.busiest_row->is_assumed = is_assumed(cluster, most);
  use.most = use.busiest_row->utilization;
  use.mean = sum / static_cast<double>(links);
  return use;
}

const LinkRow* busiest(const LinkTraffic& links) {
  return links.busiest_row ? &*links.busiest_row : busiest(std::span(links.rows));
}

LinkTraffic stretched(LinkTraffic use, double slower) {
  use.mean /= slower;
  use.most /= slower;
  for (LinkRow& link : use.rows) link.utilization /= slower;
  if (use.busiest_row) use.busiest_row->utilization /= slower;
  return use;
}

}  // namespace trainyard
