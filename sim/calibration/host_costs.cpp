#include "calibration/host_costs.hpp"

#include "units/text.hpp"
#include "workload/csv.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <fmt/format.h>
#include <stdexcept>
#include <utility>
#include <vector>

namespace trainyard {

namespace {

struct HostCost {
  std::string_view operation;
  double seconds;
};

/// Costs of the host of the lowering pytorch_2_11: 16 virtual Xeon CPUs (Sapphire Rapids) with an H100,
/// PyTorch 2.11, one recording of 2026-11-28.
constexpr std::array reference_costs{
    HostCost{"add_", 10.71e-6},        HostCost{"mul", 12.20e-6},
    HostCost{"mm", 19.57e-6},          HostCost{"copy_dtype", 12.91e-6},
    HostCost{"view", 2.60e-6},         HostCost{"transpose", 2.39e-6},
    HostCost{"linear_grad", 38.82e-6}, HostCost{"layer_norm_grad", 22.62e-6}};

}  // namespace

double host_launch_factor(const std::string& name, std::string_view text) {
  CsvProblems problems(name, text);
  CsvFile file = parse_csv(text, problems);
  problems.finish();
  std::vector<CsvRow> rows = std::move(file.rows);
  if (file.header.cells.size() != 2)
    problems.error(file.header.line, "a row has an operation and its seconds", "add_,1.07e-05");
  else if (file.header.cells.front().text != "name")
    rows.insert(rows.begin(), std::move(file.header));
  problems.finish();
  double sum = 0;
  for (const HostCost& reference : reference_costs) {
    const auto found = std::ranges::find(
        rows, reference.operation, [](const CsvRow& row) -> std::string_view { return row.cells[0].text; });
    if (found == rows.end()) {
      problems.error(0, fmt::format("no row of the operation '{}'", reference.operation),
                     "the program of 'trainyard calibrate host' measures all");
      continue;
    }
    const Parsed<double> seconds = parse_number(found->cells[1].text);
    if (seconds && *seconds > 0 && *seconds < 1)
      sum += std::log(*seconds / reference.seconds);
    else
      problems.error(found->line, found->cells[1], "seconds", "not the time of a call in seconds",
                     "1.07e-05");
  }
  problems.finish();
  return std::exp(sum / static_cast<double>(reference_costs.size()));
}

std::string host_launch_line(const std::string& name, double factor) {
  return fmt::format("host: {{launch: {{value: {:.3g}, measured: \"{}, {} operations\"}}}}\n", factor, name,
                     reference_costs.size());
}

std::string host_script(std::string script) {
  constexpr std::string_view mark = "REFERENCE_US = {}";
  const std::size_t place = script.find(mark);
  if (place == std::string::npos)
    throw std::runtime_error("host_costs.py has no place for the reference's costs");
  std::string table = "REFERENCE_US = {";
  for (const HostCost& cost : reference_costs)
    table +=
        fmt::format("{}\"{}\": {:.2f}", table.back() == '{' ? "" : ", ", cost.operation, 1e6 * cost.seconds);
  const std::size_t end = script.find('\n', place);
  return script.replace(place, end - place, table + "}");
}

}  // namespace trainyard
