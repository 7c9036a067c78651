#include "lab/validation_table.hpp"

#include "accuracy/expected_error.hpp"
#include "config/keys.hpp"
#include "document/json_text.hpp"
#include "lab/validation_parts.hpp"
#include "platform/names.hpp"
#include "units/table.hpp"
#include "units/text.hpp"
#include "units/text_layout.hpp"
#include "units/version.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>
#include <vector>

namespace trainyard {
namespace {

/// "96 GB/s" or "1.24 ms": in the unit of the measured value.
std::string figure_text(const CurvePoint& point, double value) {
  return point.figure == CollectiveFigure::time ? human(Seconds{value}) : human(Bandwidth{value});
}

std::string size_text(const CurvePoint& point) {
  const std::string last = fmt::format("{:.0f}", point.size().si());
  return point.sizes.size() == 1 ? last : "to " + last;
}

void add_sizes(std::string& text, const ScoredCurve& scored, const PrintStyle& style) {
  const CollectiveCurve& curve = scored.curve;
  text += hanging("# ", curve.name, style.width);
  text += hanging("#   ",
                  fmt::format("on {}, {}, NCCL {}", curve.machine->platform, config::name_of(curve.operation),
                              config::name_of(curve.nccl)),
                  style.width);
  Table table({number_column(14), number_column(12), number_column(12), number_column(9),
               text_column().wraps(8).drops(1)},
              {.indent = 2, .gap = 2, .elsewhere = "--json"});
  table.row("size (B)", "measured", "predicted", "error (%)", "algorithm/protocol");
  for (const ScoredPoint& point : scored.points) {
    table.row(size_text(point.point), figure_text(point.point, point.point.measured),
              figure_text(point.point, point.predicted), signed_cell(point.error),
              fmt::format("{}/{}", point.algorithm, point.protocol));
  }
  text += table.text(style.width) + '\n';
}

/// The mean error of each curve, in %.
Table curve_table(const CollectiveValidation& validation) {
  Table table({text_column(13), text_column(6), number_column(4), number_column(8), number_column(8),
               text_column().wraps(12)},
              {.indent = 0, .gap = 2});
  table.row("family", "curve", "rows", ">= 1 MiB", "< 1 MiB", "name");
  for (const ScoredCurve& scored : validation.curves)
    table.row(config::name_of(scored.family), is_fitted(scored.curve) ? "fitted" : "unseen",
              scored.points.size(), percent_cell(scored.large), percent_cell(scored.small),
              scored.curve.name);
  return table;
}

void add_summary(Table& table, std::string_view name, const SplitSummary& summary) {
  const auto line = [&](std::string_view part, const ErrorSummary& errors) {
    if (errors.rows == 0) return;
    table.row(name, part, errors.curves, errors.rows, percent_cell(errors.mape), percent_cell(errors.worst),
              percent_cell(errors.median), percent_cell(errors.p90));
  };
  line(">= 1 MiB", summary.large);
  line("< 1 MiB", summary.small);
}

nlohmann::ordered_json summary_json(const ErrorSummary& summary) {
  return {{"rows", summary.rows},
          {"curves", summary.curves},
          {"mape", number_or_null(summary.mape)},
          {"median", number_or_null(summary.median)},
          {"p90", number_or_null(summary.p90)},
          {"worst", number_or_null(summary.worst)}};
}

nlohmann::ordered_json split_json(const SplitSummary& summary) {
  nlohmann::ordered_json json = summary_json(summary.all);
  json["from_1_mib"] = summary_json(summary.large);
  json["below_1_mib"] = summary_json(summary.small);
  return json;
}

/// Why collectives have no value there, as in summary.json.
nlohmann::ordered_json unmodelled_baselines() {
  return {
      {"baselines.linear_from_one_gpu", "one GPU alone performs no collective that could be scaled"},
      {"baselines.linear_from_one_node", "a collective's time is not proportional to the number of nodes"}};
}

int excluded_rows(const CollectiveValidation& validation) {
  int rows = 0;
  for (const auto& [reason, count] : validation.excluded) rows += count;
  return rows;
}

std::string_view title_of(SizeRange range) { return range == SizeRange::large ? ">= 1 MiB" : "< 1 MiB"; }

/// How many sizes lie in the interval that `collective` would print for them.
void add_point_intervals(std::string& text, const CollectiveValidation& validation, const PrintStyle& style) {
  Table table({text_column(13), text_column(9), number_column(6), number_column(6), number_column(10),
               number_column(8), number_column(10)},
              {.indent = 0, .gap = 2});
  const auto add = [&](std::string_view name, std::optional<CurveFamily> family) {
    for (const SizeRange range : size_ranges) {
      const auto its = point_coverage(validation, range, family);
      if (!its) continue;
      if (table.empty())
        table.row("family", "sizes", "curves", "inside", "half width", "held out", "half width");
      table.row(name, title_of(range), its->curves, percent_cell(its->covered), percent_cell(its->half_width),
                percent_cell(its->held_out_covered), percent_cell(its->held_out_half_width));
    }
  };
  for (const auto& family : config::Names<CurveFamily>::table) add(family.text, family.value);
  add("all", {});
  if (table.empty()) return;
  text +=
      '\n' +
      comment(
          fmt::format(
              "expected error of bandwidths: share of the sizes inside the interval that `collective` "
              "prints for them, which is meant to hold {:.0f} %, each curve counting alike, and its median "
              "half width; held out: the same without the published curves of the same source, machine "
              "and operation; in %",
              100 * expected_share),
          style.width);
  text += table.text(style.width);
}

nlohmann::ordered_json coverage_json(const PointCoverage& its) {
  return {{"curves", its.curves},
          {"coverage", its.covered},
          {"median_half_width", its.half_width},
          {"held_out", {{"coverage", its.held_out_covered}, {"median_half_width", its.held_out_half_width}}}};
}

nlohmann::ordered_json point_intervals_json(const CollectiveValidation& validation,
                                            std::optional<CurveFamily> family) {
  nlohmann::ordered_json json = nlohmann::ordered_json::object();
  for (const SizeRange range : size_ranges) {
    const auto its = point_coverage(validation, range, family);
    json[range == SizeRange::large ? "from_1_mib" : "below_1_mib"] =
        its ? coverage_json(*its) : nlohmann::ordered_json();
  }
  return json;
}

/// The curves with a large error or always named by a rule, with the suspected causes.
void add_named(std::string& text, const CollectiveValidation& validation, const PrintStyle& style) {
  bool is_first = true;
  for (const ScoredCurve& scored : validation.curves) {
    if (!is_named(scored)) continue;
    if (std::exchange(is_first, false)) {
      text += '\n' + comment(fmt::format("curves with errors above {:.0f} %, or named by a rule, with the "
                                         "suspected cause",
                                         100 * far_off),
                             style.width);
    }
    const OutlierRule* rule = scored.curve.outlier;
    text += hanging(fmt::format("{:>8}  ", percent_cell(worst_mean(scored))), scored.curve.name, style.width);
    text += hanging(std::string(10, ' '),
                    fmt::format("{}{}", rule != nullptr && rule->always_named ? "always named: " : "",
                                rule == nullptr ? "unknown cause" : rule->reason),
                    style.width);
  }
}

nlohmann::ordered_json outliers_json(const CollectiveValidation& validation) {
  nlohmann::ordered_json outliers = nlohmann::ordered_json::array();
  for (std::size_t i = 0; i < validation.curves.size(); ++i) {
    const ScoredCurve& scored = validation.curves[i];
    if (!is_named(scored)) continue;
    const OutlierRule* rule = scored.curve.outlier;
    outliers.push_back(
        {{"curve", i},
         {"name", scored.curve.name},
         {"mape_from_1_mib", number_or_null(scored.large)},
         {"mape_below_1_mib", number_or_null(scored.small)},
         {"reason", rule == nullptr ? nlohmann::ordered_json(nullptr) : nlohmann::ordered_json(rule->reason)},
         {"always_named", rule != nullptr && rule->always_named}});
  }
  return outliers;
}

/// Errors of one family, or of all, with its coverage, and of those of its curves that were not used in a
/// fit.
nlohmann::ordered_json family_json(const CollectiveValidation& validation,
                                   std::optional<CurveFamily> family) {
  nlohmann::ordered_json json = split_json(summary_of(validation, family));
  json["coverage"] = number_or_null(coverage_of(validation, family));
  json["expected_error"] = point_intervals_json(validation, family);
  json["unseen"] = split_json(summary_of(validation, family, true));
  return json;
}

}  // namespace

std::string validation_table(const CollectiveValidation& validation, bool only_curves,
                             const PrintStyle& style) {
  std::string text;
  if (!only_curves) {
    for (const ScoredCurve& scored : validation.curves) add_sizes(text, scored, style);
  }
  text += comment(
      "mean absolute error of each curve in %; fitted: constants were fitted to the curve, unseen: they were "
      "not",
      style.width);
  text += curve_table(validation).text(style.width);
  text += '\n' + comment("mean and worst: over the curves' mean errors; median and p90: over sizes (in %)",
                         style.width);
  Table table({text_column(13), text_column(9), number_column(6), number_column(5), number_column(6),
               number_column(6), number_column(6).drops(2), number_column(6).drops(1)},
              {.indent = 0, .gap = 2, .elsewhere = "--json"});
  table.row("family", "sizes", "curves", "rows", "mean", "worst", "median", "p90");
  for (const auto& family : config::Names<CurveFamily>::table)
    add_summary(table, family.text, summary_of(validation, family.value));
  add_summary(table, "all", summary_of(validation));
  add_summary(table, "unseen", summary_of(validation, {}, true));
  text += table.text(style.width);
  add_point_intervals(text, validation, style);
  add_named(text, validation, style);
  std::string rows =
      fmt::format("rows: {} scored, {} left out", validation.scored, excluded_rows(validation));
  if (const std::optional<double> coverage = coverage_of(validation))
    rows += fmt::format("; {:.1f} % of the eligible rows could be predicted", 100 * *coverage);
  text += '\n' + comment(rows, style.width);
  text += reasons_text(validation.excluded, style);
  return text;
}

nlohmann::ordered_json validation_json(const CollectiveValidation& validation) {
  nlohmann::ordered_json rows = nlohmann::ordered_json::array();
  nlohmann::ordered_json curves = nlohmann::ordered_json::array();
  for (const ScoredCurve& scored : validation.curves) {
    const CollectiveCurve& curve = scored.curve;
    curves.push_back({{"name", curve.name},
                      {"family", config::name_of(scored.family)},
                      {"split", curve.split},
                      {"platform", curve.machine->platform},
                      {"nccl", config::name_of(curve.nccl)},
                      {"fitted", is_fitted(curve)},
                      {"rows", scored.points.size()},
                      {"mape_from_1_mib", number_or_null(scored.large)},
                      {"mape_below_1_mib", number_or_null(scored.small)}});
    std::array<std::optional<CollectiveError>, size_ranges.size()> intervals;
    if (validation.shipped_errors) {
      for (const SizeRange range : size_ranges)
        intervals[static_cast<std::size_t>(range)] =
            collective_error(*validation.shipped_errors, subject_of(scored), range);
    }
    for (const ScoredPoint& point : scored.points) {
      const PublishedRow& row = *point.point.row;
      const auto& interval = intervals[static_cast<std::size_t>(range_of(point.point.size()))];
      rows.push_back({{"file", row.file},
                      {"line", row.line},
                      {"curve", curves.size() - 1},
                      {"family", config::name_of(scored.family)},
                      {"platform", curve.machine->platform},
                      {"operation", config::name_of(curve.operation)},
                      {"gpus", curve.gpus},
                      {"nodes", curve.nodes},
                      {"size_bytes", point.point.size().si()},
                      {"metric", row.metric},
                      {"algorithm", point.algorithm},
                      {"protocol", point.protocol},
                      {"fitted", is_fitted(curve)},
                      {"unit", point.point.figure == CollectiveFigure::time ? "s" : "B/s"},
                      {"measured", point.point.measured},
                      {"predicted", point.predicted},
                      {"error", point.error},
                      {"low", interval ? nlohmann::ordered_json(interval->low) : nlohmann::ordered_json()},
                      {"high", interval ? nlohmann::ordered_json(interval->high) : nlohmann::ordered_json()},
                      {"inside", interval ? nlohmann::ordered_json(covers(*interval, point.error))
                                          : nlohmann::ordered_json()}});
    }
  }
  nlohmann::ordered_json families = nlohmann::ordered_json::object();
  for (const auto& family : config::Names<CurveFamily>::table)
    families[std::string(family.text)] = family_json(validation, family.value);
  nlohmann::ordered_json excluded = nlohmann::ordered_json::object();
  for (const auto& [reason, count] : validation.excluded) excluded[reason] = count;
  return {{"schema_version", validation_schema_version},
          {"trainyard_version", version()},
          {"overall", family_json(validation, {})},
          {"families", std::move(families)},
          {"baselines", {{"linear_from_one_gpu", nullptr}, {"linear_from_one_node", nullptr}}},
          {"unmodelled", unmodelled_baselines()},
          {"curves", std::move(curves)},
          {"rows", std::move(rows)},
          {"outliers", outliers_json(validation)},
          {"excluded", std::move(excluded)}};
}

std::string fit_table(const CollectiveFit& fit, const PrintStyle& style) {
  std::string text = "# fitted rates of links, per ring (GB/s)\n";
  Table rates({text_column(26).wraps(12), text_column(8), number_column(8), number_column(8),
               number_column(8), text_column().wraps(12)},
              {.indent = 0, .gap = 2});
  rates.row("platform", "path", "fitted", "in file", "differ", "");
  constexpr double worth_an_arrow = 0.02;
  for (const FittedRate& rate : fit.rates) {
    const double part = rate.in_file / rate.fitted - 1;
    rates.row(rate.platform, config::name_of(rate.path), fmt::format("{:.2f}", rate.fitted.si() / 1e9),
              fmt::format("{:.2f}", rate.in_file.si() / 1e9), signed_cell(part) + " %",
              std::abs(part) > worth_an_arrow ? "<- differs from the platform file" : "");
  }
  text += rates.text(style.width) + '\n' +
          comment("mean absolute error of each curve in %, fitted and with its machine left out of the fit",
                  style.width);
  Table curves(
      {number_column(9), number_column(8), number_column(9), number_column(8), text_column().wraps(12)},
      {.indent = 0, .gap = 2});
  curves.row(">= 1 MiB", "< 1 MiB", ">= 1 MiB", "< 1 MiB", "curve");
  curves.row("fitted", "fitted", "left out", "left out", "");
  double fitted = 0;
  double left_out = 0;
  int count = 0;
  for (const FittedCurve& curve : fit.curves) {
    curves.row(percent_cell(curve.large), percent_cell(curve.small), percent_cell(curve.large_left_out),
               percent_cell(curve.small_left_out), curve.name);
    if (!is_nvlink(curve.path) || !curve.large || !curve.large_left_out) continue;
    fitted += *curve.large;
    left_out += *curve.large_left_out;
    ++count;
  }
  text += curves.text(style.width);
  if (count > 0) {
    text += comment(fmt::format("mean over NVLink curves from 1 MiB up: {:.1f} fitted, {:.1f} left out",
                                100 * fitted / count, 100 * left_out / count),
                    style.width);
  }
  text += "\n# rows left out\n";
  text += reasons_text(fit.excluded, style);
  return text;
}

}  // namespace trainyard
