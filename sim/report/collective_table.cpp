#include "report/collective_table.hpp"

#include "units/text.hpp"
#include "units/version.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <iterator>
#include <nlohmann/json.hpp>
#include <span>

namespace trainyard {

namespace {

/// The number of decimals that nccl-tests gives a number of this size in seven columns.
std::string seven_columns(double number) {
  if (number >= 1e6) return fmt::format("{:7.0f}", number);
  if (number >= 1e4) return fmt::format("{:7.1f}", number);
  return fmt::format("{:7.2f}", number);
}

/// Fraction of the bandwidth or latency bound that is reached; 1 for a collective without work.
double bound_share(const CollectiveTiming& row) { return row.time.si() > 0 ? row.bound / row.time : 1; }

/// "ring/LL128/6": algorithm, protocol, channels.
std::string way_of(const CollectiveTiming& row) {
  return fmt::format("{}/{}/{}", row.algorithm, row.protocol, row.channels);
}

/// "0-3,8-11".
std::string ranges_of(std::span<const Rank> ranks) {
  std::string text;
  for (std::size_t i = 0; i < ranks.size();) {
    std::size_t last = i;
    while (last + 1 < ranks.size() && index(ranks[last + 1]) == index(ranks[last]) + 1) ++last;
    if (!text.empty()) text += ',';
    text += std::to_string(index(ranks[i]));
    if (last > i) text += fmt::format("-{}", index(ranks[last]));
    i = last + 1;
  }
  return text;
}

std::string group_line(const CollectiveReport& report, std::size_t g) {
  const CollectiveGroup& group = report.groups[g];
  std::string line = fmt::format("# group {}: {} ranks, {}", g, group.ranks.size(), ranges_of(group.ranks));
  if (group.start > Seconds{}) line += fmt::format(", starts at {}", human(group.start));
  return line + "\n";
}

/// One line per switch.
std::string switch_lines(const CollectiveReport& report, bool has_groups) {
  std::string lines;
  for (const CollectiveSwitch& change : report.switches) {
    lines += fmt::format("# kink: {} switches from {} to {} between {:.0f} and {:.0f} B{}\n", report.library,
                         change.from, change.to, change.below.si(), change.above.si(),
                         has_groups ? fmt::format(", group {}", change.group) : "");
  }
  return lines;
}

}  // namespace

std::string collective_table(const CollectiveReport& report) {
  std::string table;
  const auto out = std::back_inserter(table);
  const bool has_groups =
      report.groups.size() > 1 || static_cast<int>(report.groups.front().ranks.size()) < report.ranks;
  fmt::format_to(out, "# {} on {}: {} ranks on {} {}\n", config::name_of(report.operation), report.platform,
                 report.ranks, report.nodes, report.nodes == 1 ? "node" : "nodes");
  for (std::size_t g = 0; has_groups && g < report.groups.size(); ++g) table += group_line(report, g);
  for (const std::string& note : report.notes) fmt::format_to(out, "# {}\n", note);
  table += switch_lines(report, has_groups);
  fmt::format_to(
      out,
      "# bound: shortest time of any algorithm on this network; share: bound / time; formula: closed form of "
      "the collective alone\n#\n");
  constexpr std::string_view heading =
      "# {:>10}  {:>12}  {:>8}  {:>6}  {:>6}  {:>7}  {:>6}  {:>6}  {:>7}  {:>6}  {:>7}  {}\n";
  const std::string_view group = has_groups ? "  group" : "";
  fmt::format_to(out, fmt::runtime(heading), "size", "count", "type", "redop", "root", "time", "algbw",
                 "busbw", "bound", "share", "formula", fmt::format("algorithm{}", group));
  fmt::format_to(out, fmt::runtime(heading), "(B)", "(elements)", "", "", "", "(us)", "(GB/s)", "(GB/s)",
                 "(us)", "(%)", "(us)", "/protocol/channels");
  for (const CollectiveTiming& row : report.rows) {
    fmt::format_to(
        out, "{:12.0f}  {:12}  {:>8}  {:>6}  {:6}  {:>7}  {:6.2f}  {:6.2f}  {:>7}  {:6.1f}  {:>7}  {}{}\n",
        row.size.si(), row.elements, "float", reduces(report.operation) ? "sum" : "none",
        has_root(report.operation) ? report.root : -1, seven_columns(row.time.si() * 1e6),
        row.algbw.si() / 1e9, row.busbw.si() / 1e9, seven_columns(row.bound.si() * 1e6),
        100 * bound_share(row), seven_columns(row.closed_form.si() * 1e6), way_of(row),
        has_groups ? fmt::format("  {}", row.group) : "");
  }
  if (const LinkRow* most = busiest(report.links)) {
    fmt::format_to(out, "# Busiest link         : {}, busy for {:.1f} % of the time, over all sizes\n",
                   most->name, 100 * most->utilization);
  }
  fmt::format_to(out, "# Avg bus bandwidth    : {:.2f}\n", report.average_busbw_gbs);
  return table;
}

nlohmann::ordered_json collective_json(const CollectiveReport& report) {
  nlohmann::ordered_json groups = nlohmann::ordered_json::array();
  for (const CollectiveGroup& group : report.groups) {
    nlohmann::ordered_json ranks = nlohmann::ordered_json::array();
    for (const Rank rank : group.ranks) ranks.push_back(index(rank));
    groups.push_back({{"start_s", group.start.si()}, {"ranks", std::move(ranks)}});
  }
  nlohmann::ordered_json rows = nlohmann::ordered_json::array();
  for (const CollectiveTiming& row : report.rows) {
    rows.push_back({{"size_bytes", row.size.si()},
                    {"elements", row.elements},
                    {"group", row.group},
                    {"algorithm", row.algorithm},
                    {"protocol", row.protocol},
                    {"channels", row.channels},
                    {"time_s", row.time.si()},
                    {"algbw_bytes_per_s", row.algbw.si()},
                    {"busbw_bytes_per_s", row.busbw.si()},
                    {"bound_s", row.bound.si()},
                    {"bound_share", bound_share(row)},
                    {"closed_form_s", row.closed_form.si()}});
  }
  nlohmann::ordered_json switches = nlohmann::ordered_json::array();
  for (const CollectiveSwitch& change : report.switches) {
    switches.push_back({{"group", change.group},
                        {"size_below_bytes", change.below.si()},
                        {"size_above_bytes", change.above.si()},
                        {"from", change.from},
                        {"to", change.to}});
  }
  nlohmann::ordered_json json{{"schema_version", 2},
                              {"trainyard_version", version()},
                              {"operation", config::name_of(report.operation)},
                              {"platform", report.platform},
                              {"ranks", report.ranks},
                              {"nodes", report.nodes},
                              {"root", nullptr},
                              {"groups", std::move(groups)},
                              {"notes", report.notes},
                              {"switches", std::move(switches)},
                              {"average_busbw_bytes_per_s", report.average_busbw_gbs * 1e9},
                              {"busiest_link", nullptr},
                              {"link_utilization_max", nullptr},
                              {"rows", std::move(rows)}};
  if (has_root(report.operation)) json["root"] = report.root;
  if (const LinkRow* most = busiest(report.links)) {
    json["busiest_link"] = most->name;
    json["link_utilization_max"] = most->utilization;
  }
  return json;
}

}  // namespace trainyard
