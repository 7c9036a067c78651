#include "config/keys.hpp"
#include "lab/page_parts.hpp"
#include "lab/pages.hpp"
#include "published/case_intervals.hpp"
#include "units/text.hpp"
#include "units/text_layout.hpp"
#include "units/version.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace trainyard {
namespace {

/// `has_kernels`: predictions also used the nearest kernels, so that the curve alone has separate errors.
void add_errors(doc::Document& page, std::string words, const std::vector<HeldOutError>& errors,
                bool has_kernels) {
  if (errors.empty()) return;
  doc::Table table = table_of("errors", {"kernels", "count", "mean", "median", "90 %"},
                              {text_column().wraps(16), number_column(7), number_column(7),
                               number_column(7).drops(1), number_column(7).drops(2)},
                              2);
  if (has_kernels) table.columns.push_back({{}, "curve alone", number_column()});
  for (const HeldOutError& error : errors) {
    add_row(table, error.kernels, error.count, percent(error.mape), percent(error.median),
            percent(error.p90));
    if (has_kernels) table.rows.back().cells.emplace_back(percent(error.curve_mape));
  }
  add_part(page, "errors", std::move(words)).add(std::move(table));
}

/// The kernel without concurrent copies; null if it was not recorded.
const RecordedKernel* find_alone(const Recording& recording, const RecordedKernel& overlapped) {
  const bool is_gemm = overlapped.variant.starts_with("gemm");
  const auto found = std::ranges::find_if(recording.rows, [&](const RecordedKernel& row) {
    return row.op == (is_gemm ? "gemm" : "elementwise") && (is_gemm || row.variant == "add") &&
           row.dtype == overlapped.dtype && row.shape == overlapped.shape;
  });
  return found == recording.rows.end() ? nullptr : &*found;
}

std::string launch_meaning(const std::string& variant) {
  return variant == "latency" ? "launch and end of an empty kernel"
         : variant == "rate"  ? "per empty kernel, back to back"
                              : "per empty kernel in a CUDA graph";
}

/// "gemm h2d": "gemm with concurrent h2d copies".
std::string with_copies(const std::string& variant) {
  const std::size_t blank = variant.find(' ');
  return variant.substr(0, blank) + " with concurrent" + variant.substr(std::min(blank, variant.size())) +
         " copies";
}

/// A transfer's rate; only the largest of each kind is listed.
void add_largest_transfers(doc::Table& table, const Recording& recording) {
  std::map<std::string, const RecordedKernel*> largest;
  for (const RecordedKernel& row : recording.rows) {
    if (row.op != "copy" && row.op != "all_reduce") continue;
    const RecordedKernel*& best = largest[row.op + " " + row.variant];
    if (best == nullptr || best->bytes < row.bytes) best = &row;
  }
  for (const auto& [transfer, row] : largest)
    add_row(table, transfer, fmt::format("{} ({})", estimate(row->bytes / row->time), exact(row->bytes)));
}

void add_device(doc::Document& page, const Recording& recording) {
  doc::Table table = table_of("other measurements", {"", ""}, {text_column().wraps(20), text_column()}, 2);
  table.has_heads = false;
  for (const RecordedKernel& row : recording.rows) {
    if (row.op == "launch") add_row(table, launch_meaning(row.variant), estimate(row.time));
  }
  add_largest_transfers(table, recording);
  for (const RecordedKernel& row : recording.rows) {
    if (row.op == "overlap") {
      if (const RecordedKernel* alone = find_alone(recording, row)) {
        const std::string dtype = row.dtype ? std::string(config::name_of(*row.dtype)) : std::string();
        add_row(table, fmt::format("{} {}", dtype, with_copies(row.variant)),
                fmt::format("{:.2f} times as long", row.time / alone->time));
      }
    }
    if (row.op == "power" && row.power) add_row(table, "power, " + row.variant, estimate(*row.power));
  }
  if (table.rows.empty()) return;
  add_part(page, "other measurements", "Other measurements (profiles do not use them yet):")
      .add(std::move(table));
}

}  // namespace

doc::Document calibration_document(const GpuProfile& gpu, const std::vector<Recording>& recordings) {
  doc::Document page{.title = "Profile of a GPU", .version = version()};
  if (gpu.calibration) {
    add_errors(page, "Error on held-out shapes (five folds):", gpu.calibration->held_out, true);
    add_errors(page,
               fmt::format("Error of the same scaling from {}, on the measured kernels of other GPUs:",
                           gpu.calibration->scaled_from.value_or("")),
               gpu.calibration->scaling, false);
  }
  for (const Recording& recording : recordings) add_device(page, recording);
  return page;
}

doc::Document stack_fit_document(const StackFit& fit) {
  doc::Document page{.title = "Fit of a stack", .version = version()};
  doc::Table table = table_of(
      "runs", {"file:line", "GPU", "model", "", "batch", "measured", "predicted", "scale", "error (%)"},
      {text_column(24).wraps(16), text_column(22).wraps(10).drops(2), text_column(16).wraps(8),
       text_column(8).named("precision").drops(1), number_column(6).drops(3), number_column(10),
       number_column(10), number_column(7), number_column(9)});
  for (const FittedRun& fitted : fit.runs) {
    const Case& run = fitted.run;
    add_row(table, place_of(*run.row), run.row->gpu, run.model->model, config::name_of(run.precision),
            run.batch_per_gpu, fmt::format("{:.5g}", fitted.measured),
            fmt::format("{:.5g}", fitted.predicted), fmt::format("{:.3f}", fitted.scale),
            signed_value(fitted.error));
  }
  add_part(
      page, "runs",
      "published runs on one GPU: samples per second, and the factor on kernel times that matches each run")
      .add(std::move(table));
  add_part(page, "scale",
           fmt::format("compute_scale {:.4f}: the geometric mean of the factors; errors are with this mean",
                       fit.stack.compute_scale.value));
  if (!fit.excluded.empty())
    add_reasons(add_part(page, "runs left out", "published runs not used"), fit.excluded);
  return page;
}

doc::Document software_fit_document(const Software& software) {
  doc::Document page{.title = "Factors of software", .version = version()};
  doc::Table errors = table_of("errors", {"left out", "runs", "MAPE", "median", "p90", "bias"},
                               {text_column(16), number_column(6), number_column(6), number_column(7),
                                number_column(6), number_column(6)});
  for (const LeftOutError& one : software.left_out)
    add_row(errors, one.left_out, one.runs, percent_value(one.mape), percent_value(one.median),
            percent_value(one.p90), signed_value(one.bias));
  add_part(page, "errors",
           "errors of one-GPU throughputs in %, each run predicted without the runs that agree with it in:")
      .add(std::move(errors));
  doc::Table factors =
      table_of("factors", {"precision", "ops", "runs", "factor", "sd of log"},
               {text_column(16), text_column(16), number_column(6), number_column(8), number_column(10)});
  for (const SoftwareFactor& line : software.table) {
    if (line.use != SoftwareUse{.precision = line.use.precision} || line.use.precision.empty()) continue;
    add_row(factors, line.use.precision, config::name_of(line.ops), line.runs,
            fmt::format("{:.3f}", line.factor), fmt::format("{:.3f}", line.sd));
  }
  add_part(page, "factors", "factors on kernel times by precision, before those of GPU, framework and model")
      .add(std::move(factors));
  const auto differs = [](const SoftwareFactor& line) { return line.factor < 0.99 || line.factor > 1.01; };
  add_part(page, "number of factors",
           fmt::format("{} factors, {} of them more than 1 % from 1", software.table.size(),
                       std::ranges::count_if(software.table, differs)));
  return page;
}

}  // namespace trainyard
