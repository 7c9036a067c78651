#include "config/keys.hpp"
#include "lab/calibration_tables.hpp"
#include "units/table.hpp"
#include "units/text_layout.hpp"

#include <algorithm>
#include <fmt/format.h>

namespace trainyard {

std::string software_fit_table(const Software& software, const PrintStyle& style) {
  std::string text = comment(
      "errors of one-GPU throughputs in %, each run predicted without the runs that agree with it in:",
      style.width);
  Table errors({text_column(16), number_column(6), number_column(6), number_column(7), number_column(6),
                number_column(6)},
               {.indent = 0, .gap = 1});
  errors.row("left out", "runs", "MAPE", "median", "p90", "bias");
  for (const LeftOutError& its : software.left_out)
    errors.row(its.left_out, its.runs, percent_cell(its.mape), percent_cell(its.median),
               percent_cell(its.p90), signed_cell(its.bias));
  text +=
      errors.text(style.width) + '\n' +
      comment("factors on kernel times by precision, before those of GPU, framework and model", style.width);
  Table factors({text_column(16), text_column(16), number_column(6), number_column(8), number_column(10)},
                {.indent = 0, .gap = 1});
  factors.row("precision", "ops", "runs", "factor", "sd of log");
  for (const SoftwareFactor& line : software.table) {
    if (line.use != SoftwareUse{.precision = line.use.precision} || line.use.precision.empty()) continue;
    factors.row(line.use.precision, config::name_of(line.ops), line.runs, fmt::format("{:.3f}", line.factor),
                fmt::format("{:.3f}", line.sd));
  }
  const auto differs = [](const SoftwareFactor& line) { return line.factor < 0.99 || line.factor > 1.01; };
  return text + factors.text(style.width) +
         fmt::format("\n{} factors, {} of them more than 1 % from 1\n", software.table.size(),
                     std::ranges::count_if(software.table, differs));
}

}  // namespace trainyard
