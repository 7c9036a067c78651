#include "config/keys.hpp"
#include "report/calibration_tables.hpp"
#include "units/text.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <iterator>

namespace trainyard {

std::string software_fit_table(const Software& software) {
  std::string text =
      "# errors of one-GPU throughputs in %, each run predicted without the runs that agree with it in:\n";
  const auto out = std::back_inserter(text);
  constexpr std::string_view errors_format = "{:<16} {:>6} {:>6} {:>7} {:>6} {:>6}\n";
  fmt::format_to(out, fmt::runtime(errors_format), "left out", "runs", "MAPE", "median", "p90", "bias");
  for (const LeftOutError& its : software.left_out) {
    const auto percent = [](double ratio) { return fmt::format("{:.1f}", 100 * ratio); };
    fmt::format_to(out, fmt::runtime(errors_format), its.left_out, its.runs, percent(its.mape),
                   percent(its.median), percent(its.p90), fmt::format("{:+.1f}", 100 * its.bias));
  }
  fmt::format_to(out, "\n# factors on kernel times by precision, before those of GPU, framework and model\n");
  constexpr std::string_view factors_format = "{:<16} {:<16} {:>6} {:>8} {:>10}\n";
  fmt::format_to(out, fmt::runtime(factors_format), "precision", "ops", "runs", "factor", "sd of log");
  for (const SoftwareFactor& line : software.table) {
    if (line.use != SoftwareUse{.precision = line.use.precision} || line.use.precision.empty()) continue;
    fmt::format_to(out, fmt::runtime(factors_format), line.use.precision, config::name_of(line.ops),
                   line.runs, fmt::format("{:.3f}", line.factor), fmt::format("{:.3f}", line.sd));
  }
  const auto differs = [](const SoftwareFactor& line) { return line.factor < 0.99 || line.factor > 1.01; };
  fmt::format_to(out, "\n{} factors, {} of them more than 1 % from 1\n", software.table.size(),
                 std::ranges::count_if(software.table, differs));
  return text;
}

}  // namespace trainyard
