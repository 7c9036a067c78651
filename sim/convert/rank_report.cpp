#include "convert/rank_report.hpp"

#include "document/json_text.hpp"
#include "units/lines.hpp"
#include "units/plural.hpp"
#include "units/table.hpp"
#include "units/text.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <optional>

namespace trainyard {
namespace {

using Json = nlohmann::ordered_json;

Seconds time_of(std::int64_t ns) { return Seconds(static_cast<double>(ns) * 1e-9); }

std::string number_text(double number) {
  return number == std::floor(number) ? fmt::format("{:.0f}", number) : fmt::format("{:.1f}", number);
}

std::string clocks_text(const JoinedRanks& joined) {
  if (joined.clocks == 1) return "one clock";
  std::int64_t largest = 0;
  for (const JoinedRank& one : joined.ranks) largest = std::max(largest, std::abs(one.shift));
  return fmt::format("{} clocks, moved by up to {} so that collectives end together (within {})",
                     joined.clocks, estimate(time_of(largest)), estimate(time_of(joined.alignment_error)));
}

std::string operations_text(const JoinedRanks& joined, std::size_t width) {
  Table table(
      {text_column(), number_column(), number_column(), number_column(), number_column(), number_column()},
      {.gap = 2});
  table.row("per rank and step", "number", "bytes", "kernels", "transfer", "waiting");
  std::int64_t largest = 0;
  for (const JoinedOperation& one : joined.operations) largest = std::max(largest, one.kernels);
  const auto time = [&](std::int64_t ns) { return human_like(time_of(ns), time_of(largest)); };
  for (const JoinedOperation& one : joined.operations) {
    table.row(one.what, number_text(one.count),
              one.bytes > 0 ? grouped(static_cast<std::int64_t>(std::min(one.bytes, 9e18))) : "unknown",
              time(one.kernels), time(one.transfer), time(one.waiting));
  }
  return table.text(width);
}

std::string ranks_text(const JoinedRanks& joined, std::size_t traced, std::size_t width) {
  Table table({text_column(), number_column(), number_column(), number_column(), text_column()}, {.gap = 2});
  table.row("rank", "computing", "collectives", "waiting there", "");
  constexpr std::size_t most = 16;
  std::int64_t largest = 0;
  for (const JoinedRank& one : joined.ranks) largest = std::max({largest, one.computing, one.kernels});
  for (std::size_t i = 0; i < joined.ranks.size(); ++i) {
    if (i >= most && i != traced) continue;
    const JoinedRank& one = joined.ranks[i];
    const auto time = [&](std::int64_t ns) { return human_like(time_of(ns), time_of(largest)); };
    table.row(one.rank, time(one.computing), time(one.kernels), time(one.waiting),
              i == traced ? "the trace" : "");
  }
  if (joined.ranks.size() > most) table.line(fmt::format("all {} ranks: --json", joined.ranks.size()));
  return table.text(width);
}

}  // namespace

std::string rank_text(const JoinedRanks& joined, std::size_t traced, const PrintStyle& style) {
  std::string text = hanging(
      "ranks           ",
      fmt::format("{}{} on {}; the trace is of rank {}{}", joined.ranks.size(),
                  joined.world ? fmt::format(" of {}", *joined.world) : "", clocks_text(joined),
                  joined.ranks[traced].rank,
                  traced == joined.slowest() ? ", which computes longest: the others wait for it" : ""),
      style.width);
  text += "\n" + (joined.operations.empty() ? std::string("no collectives\n")
                                            : operations_text(joined, style.width));
  text += "\n" + ranks_text(joined, traced, style.width) + "\n";
  for (const std::string& note : joined.notes) text += hanging("note            ", note, style.width);
  return text;
}

nlohmann::ordered_json rank_json(const JoinedRanks& joined, std::size_t traced) {
  Json operations = Json::array();
  for (const JoinedOperation& one : joined.operations) {
    operations.push_back({{"operation", one.what},
                          {"count", one.count},
                          {"bytes", one.bytes > 0 ? Json(one.bytes) : Json()},
                          {"kernels_s", time_of(one.kernels).si()},
                          {"transfer_s", time_of(one.transfer).si()},
                          {"waiting_s", time_of(one.waiting).si()}});
  }
  Json ranks = Json::array();
  for (const JoinedRank& one : joined.ranks) {
    ranks.push_back({{"rank", one.rank},
                     {"file", one.file},
                     {"computing_s", time_of(one.computing).si()},
                     {"collective_kernels_s", time_of(one.kernels).si()},
                     {"waiting_s", time_of(one.waiting).si()},
                     {"clock_shift_s", time_of(one.shift).si()}});
  }
  return {{"world_size", joined.world ? Json(*joined.world) : Json()},
          {"traced_rank", joined.ranks[traced].rank},
          {"steps", joined.steps},
          {"clocks", joined.clocks},
          {"alignment_error_s", joined.clocks > 1 ? Json(time_of(joined.alignment_error).si()) : Json()},
          {"operations", std::move(operations)},
          {"ranks", std::move(ranks)},
          {"notes", joined.notes}};
}

}  // namespace trainyard
