#include "published/published_rows.hpp"

#include "config/suggest.hpp"
#include "published/collective_rows.hpp"
#include "published/report_cases.hpp"
#include "published/target_rows.hpp"
#include "units/letters.hpp"
#include "units/text.hpp"
#include "units/trimmed.hpp"
#include "workload/csv.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <fmt/format.h>
#include <initializer_list>
#include <iterator>
#include <map>
#include <span>
#include <tl/expected.hpp>
#include <utility>
#include <variant>

namespace trainyard {
namespace {

/// Index of each column in the file; absent ones are missing.
using ColumnPlaces = std::map<std::string_view, std::size_t>;

class Header {
public:
  Header(const CsvRow& header, CsvProblems& problems) : line_(header.line), problems_(problems) {
    for (const CsvCell& cell : header.cells) names_.push_back(cell.text);
    has_targets_ = is_of_targets(header);
    has_layouts_ = !has_targets_ && has("tp") && has("pp");
    has_reports_ = !has_targets_ && !has_layouts_ &&
                   (has("experiment") || std::ranges::all_of(columns_of_reports, [&](std::string_view name) {
                      return has(name);
                    }));
    if (has_targets_) {
      for (const std::string_view name : columns_of_targets) require({name});
      for (const std::string_view name : columns_of_times) {
        if (!has("energy_mean_j")) require({name});
      }
      use(target_aliases);
    }
    if (has_layouts_) use(layout_aliases);
    if (has_reports_) {
      use(report_aliases);
      require({"metric"});
    }
    if (!has_targets_) {
      for (const PublishedColumn& column : published_columns) {
        if (column.is_required) require({column.name});
      }
      require({"gpus_total", "gpus_per_node"});
    }
    for (std::size_t place = 0; place < names_.size(); ++place) places_.emplace(names_[place], place);
  }

  /// One of these columns.
  void require(std::initializer_list<std::string_view> any) {
    if (std::ranges::any_of(any, [&](std::string_view name) { return has(name); })) return;
    is_complete_ = false;
    const std::string_view first = *any.begin();
    problems_.error(line_, "the column " + in_quotes(first) + " is missing",
                    config::did_you_mean(first, names_));
  }

  /// Only one column has numbers of GPUs: they are on one node.
  [[nodiscard]] bool has_one_node() const {
    return !places_.contains("nodes") && places_.contains("gpus_total") != places_.contains("gpus_per_node");
  }
  [[nodiscard]] bool has_targets() const { return has_targets_; }
  [[nodiscard]] bool has_layouts() const { return has_layouts_; }
  [[nodiscard]] bool has_reports() const { return has_reports_; }
  [[nodiscard]] const ColumnPlaces& places() const { return places_; }
  [[nodiscard]] bool is_complete() const { return is_complete_; }

private:
  [[nodiscard]] bool has(std::string_view name) const {
    return std::ranges::find(names_, name) != names_.end();
  }

  void use(std::span<const ColumnAlias> aliases) {
    for (const ColumnAlias& alias : aliases) {
      const auto found = std::ranges::find(names_, alias.there);
      if (found != names_.end() && !has(alias.column)) *found = alias.column;
    }
  }

  int line_;
  CsvProblems& problems_;
  std::vector<std::string> names_;
  ColumnPlaces places_;
  bool is_complete_ = true;
  bool has_targets_ = false;
  bool has_layouts_ = false;
  bool has_reports_ = false;
};

/// The ranges of a cell "KEY=LOW..HIGH;KEY=LOW..HIGH", or what is wrong with it.
tl::expected<std::vector<ReportRange>, std::string> ranges_of(std::string_view cell) {
  std::vector<ReportRange> ranges;
  while (!trimmed(cell).empty()) {
    const std::string_view part = cell.substr(0, cell.find(';'));
    cell.remove_prefix(std::min(cell.size(), part.size() + 1));
    const std::size_t equals = part.find('=');
    const std::size_t dots = part.find("..", std::min(equals, part.size()));
    if (equals == std::string_view::npos || dots == std::string_view::npos)
      return tl::unexpected(fmt::format("a range is KEY=LOW..HIGH, not '{}'", trimmed(part)));
    ReportRange& range = ranges.emplace_back();
    range.key = trimmed(part.substr(0, equals));
    range.low = trimmed(part.substr(equals + 1, dots - equals - 1));
    range.high = trimmed(part.substr(dots + 2));
    if (range.key.empty() || range.low.empty() || range.high.empty())
      return tl::unexpected(fmt::format("a range is KEY=LOW..HIGH, not '{}'", trimmed(part)));
    if (std::ranges::count(ranges, range.key, &ReportRange::key) > 1)
      return tl::unexpected(fmt::format("the key '{}' has two ranges", range.key));
  }
  return ranges;
}

class RowReader {
public:
  RowReader(const CsvRow& header, const CsvRow& row, const ColumnPlaces& places, CsvProblems& problems)
      : header_(header), row_(row), places_(places), problems_(problems) {}

  [[nodiscard]] const std::string& text(std::string_view column) const { return cell(column).text; }

  [[nodiscard]] int count(std::string_view column) const {
    if (text(column).empty()) return 0;
    const Parsed<long long> number = parse_integer(text(column));
    if (number && *number >= 1 && static_cast<double>(*number) <= most_gpus) return static_cast<int>(*number);
    error(column, "a whole number of at least 1 is needed, not " + in_quotes(text(column)));
    return 1;
  }

  /// 0 if it is empty.
  [[nodiscard]] double number(std::string_view column) const {
    if (text(column).empty()) return 0;
    const Parsed<double> read = parse_number(text(column));
    if (read && std::isfinite(*read) && *read >= 0) return *read;
    error(column, "a number of at least 0 is needed, not " + in_quotes(text(column)));
    return 0;
  }

  [[nodiscard]] int whole_number(std::string_view column) const {
    const double read = number(column);
    if (read == std::floor(read) && read <= most_gpus) return static_cast<int>(read);
    error(column, "a whole number is needed, not " + in_quotes(text(column)));
    return 0;
  }

  /// A whole number, or thousands: "250k".
  [[nodiscard]] int rounded_count(std::string_view column) const {
    if (!text(column).ends_with('k')) return count(column);
    const Parsed<long long> thousands = parse_integer(text(column).substr(0, text(column).size() - 1));
    constexpr int thousand = 1000;
    if (thousands && *thousands >= 1 && static_cast<double>(*thousands) <= most_gpus / thousand)
      return static_cast<int>(*thousands) * thousand;
    return count(column);
  }

  [[nodiscard]] double value() const {
    if (text("value").empty() || text("value") == ran_out) return 0;
    if (text("metric") == verdict) return verdict_value();
    if (const Parsed<double> number = parse_number(text("value"))) return *number;
    error("value", "a number is needed, not " + in_quotes(text("value")));
    return 0;
  }

  /// 0 if there is no value.
  [[nodiscard]] double last_digit() const {
    const std::string& printed = text("value");
    const std::size_t end = std::min(printed.find_first_of("eE"), printed.size());
    const Parsed<long long> power = parse_integer(printed.substr(std::min(end + 1, printed.size())));
    if (printed.empty() || (end < printed.size() && !power)) return 0;
    const std::size_t point = printed.substr(0, end).find('.');
    const std::size_t decimals = point == std::string::npos ? 0 : end - point - 1;
    return std::pow(10.0, static_cast<double>(power.value_or(0)) - static_cast<double>(decimals));
  }

  /// Checks the columns that only a row with an experiment must have.
  [[nodiscard]] ReportColumns report() const {
    ReportColumns read{.id = text("id"), .layout = text("layout"), .experiment = text("experiment")};
    if (read.experiment.empty()) return read;
    auto ranges = ranges_of(text("ranges"));
    if (ranges)
      read.ranges = *std::move(ranges);
    else
      error("ranges", ranges.error());
    if (std::string problem = unit_problem(text("metric"), text("unit")); !problem.empty())
      error("unit", std::move(problem));
    constexpr double whole = 100;
    if (text("metric") == "mfu_pct" && value() > whole)
      error("value", "an MFU is at most 100 %, not " + text("value"));
    return read;
  }

  void check_clean() const {
    constexpr std::array<std::string_view, 3> words{"yes", "partial", "no"};
    const std::string& clean = text("clean");
    if (!clean.empty() && std::ranges::find(words, clean) == words.end())
      error("clean", "unknown word " + in_quotes(clean), config::suggest(clean, words));
  }

private:
  [[nodiscard]] double verdict_value() const {
    if (text("value") == ran || text("value") == "1") return 1;
    if (text("value") != "0") error("value", "1 if it ran, 0 if it ran out of memory");
    return 0;
  }

  // verdicts of reports about memory
  static constexpr std::string_view verdict = "fits";
  static constexpr std::string_view ran = "fits";
  static constexpr std::string_view ran_out = "OOM";

  [[nodiscard]] const CsvCell& cell(std::string_view column) const {
    static const CsvCell absent;
    const auto place = places_.find(column);
    return place == places_.end() ? absent : row_.cells[place->second];
  }
  /// Names the column as the file does.
  void error(std::string_view column, std::string message, std::string hint = {}) const {
    const auto place = places_.find(column);
    const std::string_view name = place == places_.end() ? column : header_.cells[place->second].text;
    problems_.error(row_.line, cell(column), name, std::move(message), std::move(hint));
  }

  const CsvRow& header_;
  const CsvRow& row_;
  const ColumnPlaces& places_;
  CsvProblems& problems_;
};

/// Computes the missing one of the number of nodes, GPUs per node and total GPUs from the other two.
/// Contradictory counts are left unchanged.
void complete_counts(PublishedRow& row) {
  const auto product = static_cast<long long>(row.nodes) * row.gpus_per_node;
  if (row.gpus_total == 0 && product <= static_cast<long long>(most_gpus))
    row.gpus_total = static_cast<int>(product);
  if (row.nodes == 0 && row.gpus_per_node > 0) {
    if (row.gpus_total > 0 && row.gpus_total <= row.gpus_per_node)
      row.nodes = 1;
    else if (row.gpus_total % row.gpus_per_node == 0)
      row.nodes = row.gpus_total / row.gpus_per_node;
  }
  if (row.gpus_per_node == 0 && row.nodes > 0 && row.gpus_total % row.nodes == 0)
    row.gpus_per_node = row.gpus_total / row.nodes;
}

LayoutColumns layout_of(const RowReader& row) {
  LayoutColumns read;
  for (const LayoutColumn& column : layout_columns) {
    if (column.text != nullptr) read.*column.text = row.text(column.name);
    if (column.count != nullptr) read.*column.count = row.rounded_count(column.name);
  }
  return read;
}

/// Nodes with eight GPUs if their number is not stated.
void complete_nodes(PublishedRow& row) {
  constexpr int most_in_a_node = 8;
  if (row.nodes > 0 || row.gpus_total == 0) return;
  if (row.gpus_total <= most_in_a_node) row.nodes = 1;
  if (row.gpus_total % most_in_a_node == 0) row.nodes = row.gpus_total / most_in_a_node;
}

/// Fills in the rest of a row about a training to a target.
void read_target(const RowReader& from, const ColumnPlaces& places, PublishedRow& row) {
  const bool has_energy = places.contains("energy_mean_j");
  std::string round = from.text("round");
  if (round.starts_with('v')) round.erase(0, 1);
  const bool is_dawnbench = small_letters(round) == "dawnbench";
  row.model = (is_dawnbench ? "DAWNBench " : "MLPerf ") + from.text("benchmark");
  if (!is_dawnbench) row.year = year_of_round(round);
  row.to_target =
      TargetColumns{.round = round,
                    .submitter = from.text("submitter"),
                    .benchmark = from.text("benchmark"),
                    .optimizer = small_letters(from.text("optimizer")),
                    .samples = from.number("samples_mean"),
                    .runs = from.whole_number(places.contains("converged") ? "converged" : "runs"),
                    .epochs = is_dawnbench ? from.number("epochs") : 0,
                    .time_s = from.number("time_to_train_score_s"),
                    .cost_usd = from.number("cost_usd"),
                    .energy_j = from.number("energy_mean_j"),
                    .metered_s = has_energy ? from.number("time_mean_s") : 0,
                    .result_submitter = {}};
  row.metric = has_energy ? "energy_to_train" : "time_to_train";
  row.unit = has_energy ? "J" : "s";
  row.value = has_energy ? row.to_target->energy_j : row.to_target->time_s;
  if (const int accumulation = from.whole_number("accumulation"); accumulation > 1)
    row.notes = "grad_accum=" + std::to_string(accumulation) + (row.notes.empty() ? "" : "; ") + row.notes;
}

/// The metric of a rate or a time in a file without the column `metric`. Longer times may be for an epoch or
/// a whole run.
std::string metric_of(const std::string& unit) {
  if (unit.find('/') != std::string::npos) return "throughput";
  return unit == "ms" || unit == "us" ? "step_time" : "";
}

/// The rows of a table in the columns of workloads/published.
std::vector<PublishedRow> rows_of(const std::string& name, const FormedTable& table, CsvProblems& problems) {
  const CsvFile& file = table.file;
  Header header(file.header, problems);
  std::vector<PublishedRow> rows;
  if (!header.is_complete()) return rows;
  for (const CsvRow& csv : file.rows) {
    const RowReader row(file.header, csv, header.places(), problems);
    PublishedRow& read = rows.emplace_back();
    read.file = name;
    read.line = csv.line;
    if (!table.unknown.empty()) read.unknown = table.unknown[rows.size() - 1];
    if (read.unknown) read.unknown->file = name;
    row.check_clean();
    for (const PublishedColumn& column : published_columns) {
      if (column.text != nullptr) read.*column.text = row.text(column.name);
      if (column.count != nullptr)
        read.*column.count = header.has_targets() ? row.whole_number(column.name) : row.count(column.name);
    }
    if (header.has_targets()) {
      read_target(row, header.places(), read);
      continue;
    }
    read.value = row.value();
    read.last_digit = row.last_digit();
    if (!header.places().contains("metric")) read.metric = metric_of(read.unit);
    if (header.has_layouts()) {
      read.layout = layout_of(row);
      complete_nodes(read);
    }
    if (header.has_reports()) read.report = row.report();
    if (header.has_one_node() && !header.has_reports()) read.nodes = 1;
    complete_counts(read);
  }
  const auto is_of_rules = [](const PublishedRow& row) {
    return !row.report && !row.to_target && !is_about_a_collective(row);
  };
  if (std::ranges::any_of(rows, is_of_rules)) {
    for (const std::string_view column : {"framework", "precision", "batch_per_gpu"})
      header.require({column});
  }
  return rows;
}

}  // namespace

std::vector<PublishedRow> read_published_rows(const std::string& name, std::string_view text,
                                              const TableForms& forms) {
  CsvProblems problems(name, text);
  CsvFile file = parse_csv(text, problems);
  problems.finish();
  const bool has_form = !is_of_targets(file.header);
  std::vector<PublishedRow> rows;
  for (const FormedTable& table :
       in_published_columns(std::move(file), has_form ? forms : TableForms(), problems)) {
    std::vector<PublishedRow> read = rows_of(name, table, problems);
    std::ranges::move(read, std::back_inserter(rows));
  }
  std::ranges::stable_sort(rows, {}, &PublishedRow::line);
  problems.finish();
  return rows;
}

}  // namespace trainyard
