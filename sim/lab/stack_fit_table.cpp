#include "config/keys.hpp"
#include "lab/calibration_tables.hpp"
#include "lab/validation_parts.hpp"
#include "units/table.hpp"
#include "units/text_layout.hpp"

#include <filesystem>
#include <fmt/format.h>

namespace trainyard {

std::string stack_fit_table(const StackFit& fit, const PrintStyle& style) {
  std::string text = comment(
      "published runs on one GPU: samples per second, and the factor on kernel times that matches each run",
      style.width);
  Table table({text_column(24).wraps(16), text_column(22).wraps(10).drops(2), text_column(16).wraps(8),
               text_column(8).named("precision").drops(1), number_column(6).drops(3), number_column(10),
               number_column(10), number_column(7), number_column(9)},
              {.indent = 0, .gap = 1});
  table.row("file:line", "GPU", "model", "", "batch", "measured", "predicted", "scale", "error (%)");
  for (const FittedRun& fitted : fit.runs) {
    const Case& run = fitted.run;
    const std::string file = std::filesystem::path(run.row->file).filename().string();
    table.row(fmt::format("{}:{}", file, run.row->line), run.row->gpu, run.model->model,
              config::name_of(run.precision), run.batch_per_gpu, fmt::format("{:.5g}", fitted.measured),
              fmt::format("{:.5g}", fitted.predicted), fmt::format("{:.3f}", fitted.scale),
              signed_cell(fitted.error));
  }
  text += table.text(style.width) + '\n' +
          fitted_lines(fmt::format("compute_scale {:.4f}: the geometric mean of the factors; errors are with "
                                   "this mean\n",
                                   fit.stack.compute_scale.value),
                       style.width);
  if (!fit.excluded.empty()) text += "\n# published runs not used\n";
  text += reasons_text(fit.excluded, style);
  return text;
}

}  // namespace trainyard
