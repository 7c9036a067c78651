#include "report/collective_table.hpp"

#include "report/names.hpp"

#include <fmt/format.h>
#include <iterator>
#include <nlohmann/json.hpp>

namespace trainyard {

namespace {

/// As many decimals as nccl-tests gives a number of this size in seven columns.
std::string seven_columns(double number) {
  if (number >= 1e6) return fmt::format("{:7.0f}", number);
  if (number >= 1e4) return fmt::format("{:7.1f}", number);
  return fmt::format("{:7.2f}", number);
}

/// Part of the bandwidth or latency bound that is reached; 1 when nothing had to be done.
double bound_share(const CollectiveTiming& row) { return row.time.si() > 0 ? row.bound / row.time : 1; }

}  // namespace

std::string collective_table(const CollectiveReport& report) {
  std::string table;
  const auto out = std::back_inserter(table);
  fmt::format_to(out, "# {} on {}: {} ranks on {} {}, {}, {}, {} {}\n", config::name_of(report.operation),
                 report.platform, report.ranks, report.nodes, report.nodes == 1 ? "node" : "nodes",
                 report.algorithm, report.protocol, report.channels,
                 report.channels == 1 ? "channel" : "channels");
  for (const std::string& note : report.notes) fmt::format_to(out, "# {}\n", note);
  fmt::format_to(out,
                 "# size is one rank's buffer; bound is the time no algorithm on this network can beat\n#\n");
  fmt::format_to(out, "# {:>10}  {:>12}  {:>8}  {:>6}  {:>6}  {:>7}  {:>6}  {:>6}  {:>7}  {:>6}\n", "size",
                 "count", "type", "redop", "root", "time", "algbw", "busbw", "bound", "share");
  fmt::format_to(out, "# {:>10}  {:>12}  {:>8}  {:>6}  {:>6}  {:>7}  {:>6}  {:>6}  {:>7}  {:>6}\n", "(B)",
                 "(elements)", "", "", "", "(us)", "(GB/s)", "(GB/s)", "(us)", "(%)");
  for (const CollectiveTiming& row : report.rows) {
    fmt::format_to(out, "{:12.0f}  {:12}  {:>8}  {:>6}  {:6}  {:>7}  {:6.2f}  {:6.2f}  {:>7}  {:6.1f}\n",
                   row.size.si(), row.elements, "float", "sum", -1, seven_columns(row.time.si() * 1e6),
                   row.algbw.si() / 1e9, row.busbw.si() / 1e9, seven_columns(row.bound.si() * 1e6),
                   100 * bound_share(row));
  }
  fmt::format_to(out, "# Avg bus bandwidth    : {:.6g}\n", report.average_busbw_gbs);
  return table;
}

nlohmann::ordered_json collective_json(const CollectiveReport& report) {
  nlohmann::ordered_json rows = nlohmann::ordered_json::array();
  for (const CollectiveTiming& row : report.rows) {
    rows.push_back({{"size_bytes", row.size.si()},
                    {"elements", row.elements},
                    {"time_s", row.time.si()},
                    {"algbw_bytes_per_s", row.algbw.si()},
                    {"busbw_bytes_per_s", row.busbw.si()},
                    {"bound_s", row.bound.si()},
                    {"bound_share", bound_share(row)}});
  }
  return {{"schema_version", 1},         {"operation", config::name_of(report.operation)},
          {"platform", report.platform}, {"ranks", report.ranks},
          {"nodes", report.nodes},       {"algorithm", report.algorithm},
          {"protocol", report.protocol}, {"channels", report.channels},
          {"notes", report.notes},       {"average_busbw_bytes_per_s", report.average_busbw_gbs * 1e9},
          {"rows", std::move(rows)}};
}

}  // namespace trainyard
