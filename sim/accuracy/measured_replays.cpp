#include "accuracy/measured_replays.hpp"

#include "accuracy/replays_file.hpp"
#include "workload/csv.hpp"

#include <algorithm>
#include <charconv>
#include <iterator>
#include <system_error>

namespace trainyard {
namespace {

constexpr std::string_view file_name = "replays.csv";

std::size_t place_of(std::string_view column, const CsvFile& file, CsvProblems& problems) {
  const auto found = std::ranges::find(file.header.cells, column, &CsvCell::text);
  if (found == file.header.cells.end()) problems.error(file.header.line, "no column " + std::string(column));
  problems.finish();
  return static_cast<std::size_t>(std::distance(file.header.cells.begin(), found));
}

/// The seconds of a positive number in a cell, given the seconds of 1.
Seconds time_in(const CsvRow& row, std::size_t place, double unit, CsvProblems& problems) {
  const CsvCell& cell = row.cells[place];
  double number = 0;
  const auto [end, error] = std::from_chars(cell.text.data(), cell.text.data() + cell.text.size(), number);
  if (error != std::errc() || end != cell.text.data() + cell.text.size() || !(number > 0))
    problems.error(row.line, cell, "", "no positive number");
  return Seconds{number * unit};
}

}  // namespace

std::vector<MeasuredReplay> read_measured_replays(std::string_view csv) {
  CsvProblems problems(std::string(file_name), csv);
  const CsvFile file = parse_csv(csv, problems);
  problems.finish();
  const auto place = [&](std::string_view column) { return place_of(column, file, problems); };
  const std::size_t model = place("model");
  const std::size_t trace = place("trace");
  const std::size_t measured = place("step_time_s");
  const std::size_t replayed = place("kernel_time_s");
  const std::size_t mean_op = place("mean_op_us");
  std::vector<MeasuredReplay> steps;
  for (const CsvRow& row : file.rows) {
    steps.push_back({.model = row.cells[model].text,
                     .trace = row.cells[trace].text,
                     .measured = time_in(row, measured, 1, problems),
                     .replayed = time_in(row, replayed, 1, problems),
                     .mean_op = time_in(row, mean_op, 1e-6, problems)});
  }
  problems.finish();
  return steps;
}

const std::vector<MeasuredReplay>& measured_replays() {
  static const std::vector<MeasuredReplay> steps = read_measured_replays(replays_csv);
  return steps;
}

}  // namespace trainyard
