#include "experiment/read_factors.hpp"

#include "config/file_paths.hpp"
#include "config/read_file.hpp"
#include "units/text.hpp"
#include "workload/csv.hpp"

#include <algorithm>

namespace trainyard {

namespace fs = std::filesystem;

std::vector<double> read_factors(const std::string& name, std::string_view text) {
  CsvProblems problems(name, text);
  const CsvFile file = parse_csv(text, problems);
  problems.finish();
  const auto& header = file.header.cells;
  const auto is_factor = [](const CsvCell& cell) { return cell.text == "factor"; };
  const auto found = std::find_if(header.begin(), header.end(), is_factor);
  std::vector<double> factors;
  if (found == header.end()) {
    problems.error(file.header.line, "the column 'factor' is missing");
  } else {
    for (const CsvRow& row : file.rows) {
      const CsvCell& cell = row.cells[static_cast<std::size_t>(found - header.begin())];
      const Parsed<double> number = parse_number(cell.text);
      if (number && *number > 0)
        factors.push_back(*number);
      else
        problems.error(row.line, cell, "factor", "a number above 0 is needed, not " + in_quotes(cell.text));
    }
    if (file.rows.empty()) problems.error(0, "the file has no factors");
  }
  problems.finish();
  std::ranges::sort(factors);
  return factors;
}

void read_factor_files(Randomness& randomness, const fs::path& experiment, std::set<std::string>& paths) {
  for_each_factor(randomness, [&](std::string_view, random::Distribution& distribution) {
    if (!distribution.file) return;
    const fs::path path = config::beside(experiment, *distribution.file);
    paths.insert(path.string());
    distribution.seen = read_factors(path.string(), config::read_file(path, largest_csv));
    distribution.file = config::real_path(path).string();
  });
}

}  // namespace trainyard
