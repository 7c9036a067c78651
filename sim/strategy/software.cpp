#include "strategy/software.hpp"

#include "config/fields.hpp"
#include "config/read.hpp"
#include "config/read_file.hpp"
#include "config/suggest.hpp"
#include "units/text.hpp"
#include "workload/csv.hpp"

#include <algorithm>
#include <filesystem>
#include <fmt/format.h>
#include <utility>

namespace trainyard {
namespace {

constexpr double least_factor = 0.01;
constexpr double largest_factor = 100;

/// The columns after those of SoftwareUse, in the order in which they are written.
constexpr std::string_view other_columns[] = {"ops", "factor", "sd", "runs", "rows"};

bool is_column(std::string_view name) {
  return std::ranges::find(software_columns, name, &SoftwareColumn::name) != software_columns.end() ||
         std::ranges::find(other_columns, name) != std::ranges::end(other_columns);
}

bool check_header(const CsvRow& header, CsvProblems& problems) {
  bool is_right = true;
  const auto has = [&](std::string_view name) {
    return std::ranges::count(header.cells, name, &CsvCell::text) == 1;
  };
  for (const CsvCell& cell : header.cells) {
    if (is_column(cell.text) && has(cell.text)) continue;
    problems.error(
        header.line, cell, "",
        fmt::format("column '{}' is {}", cell.text, is_column(cell.text) ? "repeated" : "unknown"));
    is_right = false;
  }
  for (const std::string_view needed : {"ops", "factor"}) {
    if (has(needed)) continue;
    problems.error(header.line, fmt::format("column '{}' is missing", needed),
                   "a table of factors has at least ops,factor");
    is_right = false;
  }
  return is_right;
}

class FactorReader {
public:
  FactorReader(const CsvRow& header, CsvProblems& problems) : header_(header), problems_(problems) {}

  SoftwareFactor read(const CsvRow& row) {
    SoftwareFactor factor;
    for (std::size_t i = 0; i < header_.cells.size(); ++i)
      read_cell(row.line, row.cells[i], header_.cells[i].text, factor);
    return factor;
  }

private:
  void read_cell(int line, const CsvCell& cell, std::string_view column, SoftwareFactor& factor) {
    const auto* const use = std::ranges::find(software_columns, column, &SoftwareColumn::name);
    if (use != software_columns.end()) {
      factor.use.*use->text = cell.text;
    } else if (column == "ops") {
      const auto ops = config::value_named<FactorOps>(cell.text);
      if (!ops) {
        problems_.error(line, cell, column, "unknown group of ops '" + cell.text + "'",
                        config::suggest(cell.text, config::texts_of<FactorOps>()));
      }
      factor.ops = ops.value_or(FactorOps::kernels);
    } else if (column == "rows") {
      factor.rows = cell.text;
    } else if (column == "factor") {
      factor.factor = number(line, cell, column, least_factor, largest_factor);
    } else if (column == "sd") {
      factor.sd = number(line, cell, column, 0, largest_factor);
    } else {
      factor.runs = static_cast<int>(number(line, cell, column, 0, 1e6));
    }
  }

  double number(int line, const CsvCell& cell, std::string_view column, double least, double most) {
    const Parsed<double> value = parse_number(cell.text);
    if (value && *value >= least && *value <= most) return *value;
    problems_.error(line, cell, column, "'" + cell.text + "' is not a number that fits here",
                    fmt::format("a number from {} to {}", shortest(least), shortest(most)));
    return 1;
  }

  const CsvRow& header_;
  CsvProblems& problems_;
};

void check_table(const Software& software, config::Problems& problems) {
  problems.check_name(software.name);
  if (!software.factors || software.factors->find('/') == std::string::npos) return;
  problems.error("factors", "'" + *software.factors + "' is not in the file's folder",
                 "copy the table into the folder and write its name without a folder");
}

/// Whether a line holds for a job.
bool matches(const SoftwareUse& line, const SoftwareUse& job) {
  return std::ranges::all_of(software_columns, [&](const SoftwareColumn& column) {
    const std::string& wanted = line.*column.text;
    return wanted.empty() || wanted == job.*column.text;
  });
}

}  // namespace

std::vector<SoftwareFactor> read_software_factors(const std::string& name, std::string_view text) {
  CsvProblems problems(name, text);
  const CsvFile file = parse_csv(text, problems);
  std::vector<SoftwareFactor> table;
  if (problems.empty() && check_header(file.header, problems)) {
    FactorReader reader(file.header, problems);
    for (const CsvRow& row : file.rows) table.push_back(reader.read(row));
  }
  problems.finish();
  return table;
}

std::string software_factors_text(const std::vector<SoftwareFactor>& table) {
  CsvText csv("");
  for (const SoftwareColumn& column : software_columns) csv.add(column.name);
  for (const auto& column : other_columns) csv.add(column);
  csv.end_row();
  for (const SoftwareFactor& line : table) {
    for (const SoftwareColumn& column : software_columns) csv.add(line.use.*column.text);
    csv.row(config::name_of(line.ops), shortest(line.factor), shortest(line.sd), line.runs, line.rows);
  }
  return csv.text();
}

Software load_software(const config::Document& document, std::vector<Diagnostic>* warnings) {
  Software software = config::read<Software>(document, check_table, warnings);
  if (software.factors) {
    const std::filesystem::path path = std::filesystem::path(document.name).parent_path() / *software.factors;
    software.table = read_software_factors(path.string(), config::read_file(path, largest_csv));
  }
  return software;
}

OpSlowdown slowdown_of(const Software& software, const SoftwareUse& use) {
  OpSlowdown slowdown;
  if (software.launch) slowdown.launch = software.launch->value;
  for (const SoftwareFactor& line : software.table) {
    if (!matches(line.use, use)) continue;
    if (line.ops == FactorOps::launch) slowdown.launch = line.factor * slowdown.launch;
    for (const OpGroup group : all_op_groups) {
      if (holds_for(line.ops, group)) slowdown.factor[group] *= line.factor;
    }
  }
  return slowdown;
}

}  // namespace trainyard
