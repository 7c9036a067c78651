#include "published/published_rows.hpp"

#include "config/suggest.hpp"
#include "published/collective_rows.hpp"
#include "units/text.hpp"
#include "workload/csv.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <initializer_list>
#include <map>
#include <variant>

namespace trainyard {
namespace {

constexpr double most_gpus = 1e7;

/// Index of each column in the file; absent ones are missing.
using ColumnPlaces = std::map<std::string_view, std::size_t>;

class Header {
public:
  Header(const CsvRow& header, CsvProblems& problems) : line_(header.line), problems_(problems) {
    for (const CsvCell& cell : header.cells) names_.push_back(cell.text);
    for (const PublishedColumn& column : published_columns) {
      const auto found = std::ranges::find(names_, column.name);
      if (found != names_.end())
        places_[column.name] = static_cast<std::size_t>(found - names_.begin());
      else if (column.is_required)
        require({column.name});
    }
    require({"gpus_total", "gpus_per_node"});
  }

  /// One of these columns.
  void require(std::initializer_list<std::string_view> any) {
    if (std::ranges::any_of(any, [&](std::string_view name) { return places_.contains(name); })) return;
    is_complete_ = false;
    const std::string_view first = *any.begin();
    problems_.error(line_, "the column " + in_quotes(first) + " is missing",
                    config::did_you_mean(first, names_));
  }

  /// Only one column has numbers of GPUs: they are on one node.
  [[nodiscard]] bool has_one_node() const {
    return !places_.contains("nodes") && places_.contains("gpus_total") != places_.contains("gpus_per_node");
  }
  [[nodiscard]] const ColumnPlaces& places() const { return places_; }
  [[nodiscard]] bool is_complete() const { return is_complete_; }

private:
  int line_;
  CsvProblems& problems_;
  std::vector<std::string> names_;
  ColumnPlaces places_;
  bool is_complete_ = true;
};

class RowReader {
public:
  RowReader(const CsvRow& row, const ColumnPlaces& places, CsvProblems& problems)
      : row_(row), places_(places), problems_(problems) {}

  [[nodiscard]] const std::string& text(std::string_view column) const { return cell(column).text; }

  [[nodiscard]] int count(std::string_view column) const {
    if (text(column).empty()) return 0;
    const Parsed<long long> number = parse_integer(text(column));
    if (number && *number >= 1 && static_cast<double>(*number) <= most_gpus) return static_cast<int>(*number);
    error(column, "a whole number of at least 1 is needed, not " + in_quotes(text(column)));
    return 1;
  }

  [[nodiscard]] double value() const {
    if (text("value").empty()) return 0;
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

private:
  [[nodiscard]] const CsvCell& cell(std::string_view column) const {
    static const CsvCell absent;
    const auto place = places_.find(column);
    return place == places_.end() ? absent : row_.cells[place->second];
  }
  void error(std::string_view column, std::string message) const {
    problems_.error(row_.line, cell(column), column, std::move(message));
  }

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

/// What a rate or a time measures in a file without the column `metric`. Longer times may be those of an
/// epoch or of a whole run.
std::string metric_of(const std::string& unit) {
  if (unit.find('/') != std::string::npos) return "throughput";
  return unit == "ms" || unit == "us" ? "step_time" : "";
}

}  // namespace

std::vector<PublishedRow> read_published_rows(const std::string& name, std::string_view text) {
  CsvProblems problems(name, text);
  const CsvFile file = parse_csv(text, problems);
  problems.finish();
  Header header(file.header, problems);
  std::vector<PublishedRow> rows;
  if (header.is_complete()) {
    for (const CsvRow& csv : file.rows) {
      const RowReader row(csv, header.places(), problems);
      PublishedRow& read = rows.emplace_back();
      read.file = name;
      read.line = csv.line;
      for (const PublishedColumn& column : published_columns) {
        if (column.text != nullptr) read.*column.text = row.text(column.name);
        if (column.count != nullptr) read.*column.count = row.count(column.name);
      }
      read.value = row.value();
      read.last_digit = row.last_digit();
      if (!header.places().contains("metric")) read.metric = metric_of(read.unit);
      if (header.has_one_node()) read.nodes = 1;
      complete_counts(read);
    }
  }
  if (std::ranges::any_of(rows, [](const PublishedRow& row) { return !is_about_a_collective(row); })) {
    for (const std::string_view column : {"framework", "precision", "batch_per_gpu"})
      header.require({column});
  }
  problems.finish();
  return rows;
}

}  // namespace trainyard
