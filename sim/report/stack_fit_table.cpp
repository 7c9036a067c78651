#include "config/keys.hpp"
#include "report/calibration_tables.hpp"

#include <filesystem>
#include <fmt/format.h>
#include <iterator>

namespace trainyard {

std::string stack_fit_table(const StackFit& fit) {
  std::string text =
      "# published runs on one GPU: samples per second, and the factor on kernel times that matches each "
      "run\n";
  const auto out = std::back_inserter(text);
  constexpr std::string_view format = "{:<24} {:<22} {:<16} {:<8} {:>6} {:>10} {:>10} {:>7} {:>9}\n";
  fmt::format_to(out, fmt::runtime(format), "file:line", "GPU", "model", "", "batch", "measured", "predicted",
                 "scale", "error (%)");
  for (const FittedRun& fitted : fit.runs) {
    const PublishedRun& run = fitted.run;
    const std::string file = std::filesystem::path(run.row->file).filename().string();
    fmt::format_to(out, fmt::runtime(format), fmt::format("{}:{}", file, run.row->line), run.row->gpu,
                   run.model->model, config::name_of(run.measured.precision), run.measured.batch_per_gpu,
                   fmt::format("{:.5g}", fitted.measured), fmt::format("{:.5g}", fitted.predicted),
                   fmt::format("{:.3f}", fitted.scale), fmt::format("{:+.1f}", 100 * fitted.error));
  }
  fmt::format_to(out,
                 "\ncompute_scale {:.4f}: the geometric mean of the factors; errors are with this mean\n",
                 fit.stack.compute_scale.value);
  if (!fit.excluded.empty()) fmt::format_to(out, "\n# published runs not used\n");
  for (const auto& [reason, count] : fit.excluded) fmt::format_to(out, "{:>8}  {}\n", count, reason);
  return text;
}

}  // namespace trainyard
