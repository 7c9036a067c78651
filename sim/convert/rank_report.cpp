#include "convert/rank_report.hpp"

#include "convert/import_report.hpp"
#include "document/json_text.hpp"
#include "document/writers.hpp"
#include "units/lines.hpp"
#include "units/plural.hpp"
#include "units/text.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

namespace trainyard {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t most_printed_ranks = 16;

std::string number_text(double number) {
  return number == std::floor(number) ? fmt::format("{:.0f}", number) : fmt::format("{:.1f}", number);
}

std::string clocks_text(const JoinedRanks& joined) {
  if (joined.clocks == 1) return "one clock";
  std::int64_t largest = 0;
  for (const JoinedRank& one : joined.ranks) largest = std::max(largest, std::abs(one.shift));
  return fmt::format("{} clocks, moved by up to {} so that collectives end together (within {})",
                     joined.clocks, estimate(from_ns(largest)), estimate(from_ns(joined.alignment_error)));
}

doc::Value time_value(std::int64_t ns, std::int64_t largest) {
  return {human_like(from_ns(ns), from_ns(largest)), from_ns(ns)};
}

/// Means per rank and step.
doc::Table operations_table(const JoinedRanks& joined) {
  doc::Table table{.key = "operations",
                   .title = "collectives of a rank and step",
                   .columns = {doc::texts("per rank and step", "operation"), doc::numbers("number", "count"),
                               doc::numbers("bytes", "bytes"), doc::numbers("kernels", "kernels_s"),
                               doc::numbers("transfer", "transfer_s"), doc::numbers("waiting", "waiting_s")},
                   .shape = {}};
  std::int64_t largest = 0;
  for (const JoinedOperation& one : joined.operations) largest = std::max(largest, one.kernels);
  for (const JoinedOperation& one : joined.operations) {
    const std::string bytes = grouped(static_cast<std::int64_t>(std::min(one.bytes, 9e18)));
    table.rows.push_back({.cells = {one.what, doc::Value(number_text(one.count), one.count),
                                    one.bytes > 0 ? doc::Value(bytes, one.bytes) : doc::Value("unknown"),
                                    time_value(one.kernels, largest), time_value(one.transfer, largest),
                                    time_value(one.waiting, largest)}});
  }
  return table;
}

/// The terminal shows the first 16 ranks and the traced one.
doc::Table ranks_table(const JoinedRanks& joined, std::size_t traced) {
  doc::Table table{.key = "ranks",
                   .title = "computing and collectives of the ranks",
                   .columns = {doc::texts("rank"),
                               doc::texts("file", "", doc::Shown::pages),
                               doc::numbers("computing", "computing_s"),
                               doc::numbers("collectives", "collective_kernels_s"),
                               doc::numbers("waiting there", "waiting_s"),
                               doc::numbers("shift of its clock", "clock_shift_s", 0, doc::Shown::pages),
                               {}},
                   .shape = {}};
  std::int64_t largest = 0;
  for (const JoinedRank& one : joined.ranks) largest = std::max({largest, one.computing, one.kernels});
  for (std::size_t i = 0; i < joined.ranks.size(); ++i) {
    const JoinedRank& one = joined.ranks[i];
    table.rows.push_back(
        {.cells = {doc::Value(fmt::format("{}", one.rank), one.rank), one.file,
                   time_value(one.computing, largest), time_value(one.kernels, largest),
                   time_value(one.waiting, largest), time_value(one.shift, largest),
                   i == traced ? "the trace" : ""},
         .shown = i < most_printed_ranks || i == traced ? doc::Shown::everywhere : doc::Shown::pages});
  }
  return table;
}

}  // namespace

void add_ranks(doc::Document& page, const JoinedRanks& joined, std::size_t traced) {
  page.account("job", "ranks")
      .fact(
          "ranks",
          fmt::format("{}{} on {}; the trace is of rank {}{}", joined.ranks.size(),
                      joined.world ? fmt::format(" of {}", *joined.world) : "", clocks_text(joined),
                      joined.ranks[traced].rank,
                      traced == joined.slowest() ? ", which computes longest: the others wait for it" : ""));
  doc::Section& operations = page.account("operations", "collectives of the ranks");
  if (joined.operations.empty())
    operations.add(doc::Sentence{.text = "no collectives", .indent = 0});
  else
    operations.add(operations_table(joined));
  doc::Section& ranks = page.account("ranks", "work of the ranks");
  ranks.add(ranks_table(joined, traced));
  std::string end;
  if (joined.ranks.size() > most_printed_ranks)
    end = fmt::format("all {} ranks: --json\n", joined.ranks.size());
  ranks.add(doc::Listing{.key = "end", .text = std::move(end), .shown = doc::Shown::text});
  for (const std::string& note : joined.notes) ranks.fact("note", note);
}

nlohmann::ordered_json rank_json(const JoinedRanks& joined, std::size_t traced) {
  return {{"world_size", joined.world ? Json(*joined.world) : Json()},
          {"traced_rank", joined.ranks[traced].rank},
          {"steps", joined.steps},
          {"clocks", joined.clocks},
          {"alignment_error_s", joined.clocks > 1 ? Json(from_ns(joined.alignment_error).si()) : Json()},
          {"operations", doc::rows_json(operations_table(joined))},
          {"ranks", doc::rows_json(ranks_table(joined, traced))},
          {"notes", joined.notes}};
}

}  // namespace trainyard
