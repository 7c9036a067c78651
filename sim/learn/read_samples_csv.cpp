#include "learn/samples.hpp"
#include "units/text.hpp"
#include "workload/csv.hpp"

#include <algorithm>
#include <fmt/format.h>

namespace trainyard {

namespace {

constexpr int most_classes = 1000;
constexpr double largest_value = 1e30;  // of a feature; single precision ends at 3e38

/// The column of that name; reports columns without names or with the same.
std::optional<std::size_t> label_column(const CsvRow& header, CsvProblems& problems) {
  std::optional<std::size_t> found;
  for (std::size_t i = 0; i < header.cells.size(); ++i) {
    if (header.cells[i].text != "label") continue;
    if (found)
      problems.error(header.line, header.cells[i], "", "a second column 'label'", "keep one of them");
    found = i;
  }
  if (!found)
    problems.error(header.line, "no column 'label'",
                   "name the column of the classes, whole numbers from 0, 'label'");
  return found;
}

}  // namespace

Samples read_samples_csv(const std::string& name, std::string_view text) {
  CsvProblems problems(name, text);
  const CsvFile file = parse_csv(text, problems);
  problems.finish();
  const std::optional<std::size_t> labels = label_column(file.header, problems);
  if (file.header.cells.size() < 2) problems.error(file.header.line, "no column with a feature");
  if (file.rows.size() < 2) problems.error(0, "a set of samples needs at least two");
  problems.finish();
  Samples samples;
  samples.features = static_cast<int>(file.header.cells.size()) - 1;
  samples.values.reserve(file.rows.size() * static_cast<std::size_t>(samples.features));
  samples.labels.reserve(file.rows.size());
  for (const CsvRow& row : file.rows) {
    for (std::size_t i = 0; i < row.cells.size(); ++i) {
      const CsvCell& cell = row.cells[i];
      const std::string& column = file.header.cells[i].text;
      if (i == *labels) {
        const auto label = parse_integer(cell.text);
        if (!label || *label < 0 || *label >= most_classes)
          problems.error(row.line, cell, column, fmt::format("{} is not a class", in_quotes(cell.text)),
                         fmt::format("a whole number from 0 to {}", most_classes - 1));
        samples.labels.push_back(label ? static_cast<int>(std::clamp<long long>(*label, 0, most_classes))
                                       : 0);
        continue;
      }
      const auto value = parse_number(cell.text);
      if (!value)
        problems.error(row.line, cell, column, value.error().message, value.error().hint);
      else if (*value < -largest_value || *value > largest_value)
        problems.error(row.line, cell, column, "the value is too large", "scale the features to about 1");
      samples.values.push_back(value ? static_cast<float>(*value) : 0.0F);
    }
  }
  samples.classes = *std::ranges::max_element(samples.labels) + 1;
  if (samples.classes < 2)
    problems.error(0, "all samples have label 0", "there must be at least two classes");
  problems.finish();
  return samples;
}

}  // namespace trainyard
