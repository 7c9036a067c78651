#include "report/collective_table.hpp"

#include "accuracy/expected_error.hpp"
#include "report/expected_error.hpp"
#include "units/lines.hpp"
#include "units/table.hpp"
#include "units/text.hpp"
#include "units/text_layout.hpp"
#include "units/version.hpp"

#include <algorithm>
#include <fmt/format.h>
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
  std::string line = fmt::format("group {}: {} ranks, {}", g, group.ranks.size(), ranges_of(group.ranks));
  if (group.start > Seconds{}) line += fmt::format(", starts at {}", human(group.start));
  return line;
}

/// One line per switch.
std::string switch_lines(const CollectiveReport& report, bool has_groups, const PrintStyle& style) {
  std::string lines;
  for (const CollectiveSwitch& change : report.switches) {
    lines += comment(fmt::format("kink: {} switches from {} to {} between {:.0f} and {:.0f} B{}",
                                 report.library, change.from, change.to, change.below.si(), change.above.si(),
                                 has_groups ? fmt::format(", group {}", change.group) : ""),
                     style.width);
  }
  return lines;
}

std::string expected_line(std::string_view sizes, const CollectiveError& error) {
  const PublishedCurve& nearest = error.nearest;
  return fmt::format("{}: {} to {} % (nearest of {} curves: {} on {} GPUs of {}, {})", sizes,
                     whole_percent(error.low), whole_percent(error.high), error.curves, nearest.of.operation,
                     nearest.of.gpus, nearest.of.platform, nearest.place);
}

/// What to expect of the bandwidths, a line for each range of sizes.
std::string expected_lines(const CollectiveReport& report, const PrintStyle& style) {
  if (!report.expected_error) {
    const std::string& why = report.expected_error.error();
    return why.empty() ? std::string() : comment("expected error unknown: " + why, style.width);
  }
  std::string text = comment(
      "expected error: bandwidth measured relative to predicted in 80 % of the sizes of comparable published "
      "curves",
      style.width);
  const CollectiveErrorsBySize& errors = *report.expected_error;
  if (errors.large) text += comment(expected_line("from 1 MiB up", *errors.large), style.width);
  if (errors.small) text += comment(expected_line("below 1 MiB", *errors.small), style.width);
  return text;
}

nlohmann::ordered_json expected_json(const CollectiveError& error) {
  const PublishedCurve& nearest = error.nearest;
  return {{"low", error.low},
          {"high", error.high},
          {"curves", error.curves},
          {"fitted", error.fitted},
          {"nearest",
           {{"row", nearest.place},
            {"platform", nearest.of.platform},
            {"operation", nearest.of.operation},
            {"gpus", nearest.of.gpus},
            {"nodes", nearest.of.nodes}}}};
}

nlohmann::ordered_json expected_json(const CollectiveReport& report) {
  nlohmann::ordered_json json{
      {"share", expected_share}, {"from_1_mib", nullptr}, {"below_1_mib", nullptr}, {"reason", nullptr}};
  if (!report.expected_error) {
    json["reason"] = report.expected_error.error();
    return json;
  }
  if (const auto& large = report.expected_error->large) json["from_1_mib"] = expected_json(*large);
  if (const auto& small = report.expected_error->small) json["below_1_mib"] = expected_json(*small);
  return json;
}

}  // namespace

std::string collective_table(const CollectiveReport& report, const PrintStyle& style) {
  std::string table;
  const bool has_groups =
      report.groups.size() > 1 || static_cast<int>(report.groups.front().ranks.size()) < report.ranks;
  const std::string head =
      fmt::format("{} on {}: {} ranks on {} {}", config::name_of(report.operation), report.platform,
                  report.ranks, report.nodes, report.nodes == 1 ? "node" : "nodes");
  table += comment(head, style.width);
  if (!report.changed.empty()) table += comment("set on the command line: " + report.changed, style.width);
  for (std::size_t g = 0; has_groups && g < report.groups.size(); ++g)
    table += comment(group_line(report, g), style.width);
  for (const std::string& note : report.notes) table += comment(note, style.width);
  table += switch_lines(report, has_groups, style);
  table += expected_lines(report, style);
  table += comment(
      "bound: shortest time of any algorithm on this network; share: bound / time; formula: closed form of "
      "the collective alone",
      style.width);
  table += "#\n";
  // The columns of nccl-tests stay longest: its tools count them.
  Table sizes({number_column(12), number_column(12).drops(7), number_column(8).drops(4),
               number_column(6).drops(6), number_column(6).drops(5), number_column(7), number_column(6),
               number_column(6), number_column(7).drops(2), number_column(6).drops(3),
               number_column(7).drops(1), text_column(), text_column()},
              {.indent = 0, .gap = 2, .elsewhere = "--json"});
  sizes.row(fmt::format("# {:>10}", "size"), "count", "type", "redop", "root", "time", "algbw", "busbw",
            "bound", "share", "formula", "algorithm", has_groups ? "group" : "");
  sizes.row(fmt::format("# {:>10}", "(B)"), "(elements)", "", "", "", "(us)", "(GB/s)", "(GB/s)", "(us)",
            "(%)", "(us)", "/protocol/channels", "");
  for (const CollectiveTiming& row : report.rows) {
    sizes.row(fmt::format("{:.0f}", row.size.si()), row.elements, "float",
              reduces(report.operation) ? "sum" : "none", has_root(report.operation) ? report.root : -1,
              seven_columns(row.time.si() * 1e6), fmt::format("{:.2f}", row.algbw.si() / 1e9),
              fmt::format("{:.2f}", row.busbw.si() / 1e9), seven_columns(row.bound.si() * 1e6),
              fmt::format("{:.1f}", 100 * bound_share(row)), seven_columns(row.closed_form.si() * 1e6),
              way_of(row), has_groups ? std::to_string(row.group) : std::string());
  }
  // Its tools take lines without # for rows.
  const std::vector<std::string> lines = sizes.lines(style.width);
  const auto note =
      std::ranges::find_if(lines, [](const std::string& line) { return line.starts_with("left out:"); });
  table += fmt::format("{}\n", fmt::join(lines.begin(), note, "\n"));
  table += comment(fmt::format("{}", fmt::join(note, lines.end(), " ")), style.width);
  if (const LinkRow* most = busiest(report.links)) {
    std::string lines_of_link =
        hanging("# Busiest link         : ",
                fmt::format("{}, busy for {:.1f} % of the time, over all sizes{}", most->name,
                            100 * most->utilization, most->is_assumed ? "; its rate is assumed" : ""),
                style.width);
    for (std::size_t at = 0; (at = lines_of_link.find("\n ", at)) != std::string::npos; ++at)
      lines_of_link[at + 1] = '#';
    table += lines_of_link;
  }
  return table + fmt::format("# Avg bus bandwidth    : {:.2f}\n", report.average_busbw_gbs);
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
                              {"changed_keys", report.changed},
                              {"ranks", report.ranks},
                              {"nodes", report.nodes},
                              {"root", nullptr},
                              {"groups", std::move(groups)},
                              {"notes", report.notes},
                              {"switches", std::move(switches)},
                              {"expected_error", expected_json(report)},
                              {"average_busbw_bytes_per_s", report.average_busbw_gbs * 1e9},
                              {"busiest_link", nullptr},
                              {"link_utilization_max", nullptr},
                              {"busiest_link_is_assumed", nullptr},
                              {"rows", std::move(rows)}};
  if (has_root(report.operation)) json["root"] = report.root;
  if (const LinkRow* most = busiest(report.links)) {
    json["busiest_link"] = most->name;
    json["link_utilization_max"] = most->utilization;
    json["busiest_link_is_assumed"] = most->is_assumed;
  }
  return json;
}

}  // namespace trainyard
