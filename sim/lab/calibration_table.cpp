#include "lab/calibration_tables.hpp"
#include "units/lines.hpp"
#include "units/table.hpp"
#include "units/text_layout.hpp"

#include <fmt/format.h>

namespace trainyard {
namespace {

/// `has_kernels`: predictions also used the nearest kernels, so that the curve alone has separate errors.
std::string error_table(const std::string& title, const std::vector<HeldOutError>& errors, bool has_kernels,
                        const PrintStyle& style) {
  if (errors.empty()) return {};
  Table table({text_column().wraps(16), number_column(7), number_column(7), number_column(7).drops(1),
               number_column(7).drops(2), number_column()},
              {.indent = 0, .gap = 2});
  table.row("kernels", "count", "mean", "median", "90 %", has_kernels ? "curve alone" : "");
  for (const HeldOutError& error : errors) {
    table.row(error.kernels, error.count, percent(error.mape), percent(error.median), percent(error.p90),
              has_kernels ? percent(error.curve_mape) : std::string());
  }
  return fitted_lines(title, style.width) + "\n\n" + table.text(style.width) + "\n";
}

}  // namespace

std::string calibration_table(const GpuProfile& gpu, const PrintStyle& style) {
  if (!gpu.calibration) return {};
  const Calibration& calibration = *gpu.calibration;
  return error_table("Error on held-out shapes (five folds):", calibration.held_out, true, style) +
         error_table(fmt::format("Error of the same scaling from {}, on the measured kernels of other GPUs:",
                                 calibration.scaled_from.value_or("")),
                     calibration.scaling, false, style);
}

}  // namespace trainyard
