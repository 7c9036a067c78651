#include "accuracy/expected_error.hpp"
#include "config/keys.hpp"
#include "document/json_text.hpp"
#include "lab/page_parts.hpp"
#include "lab/pages.hpp"
#include "platform/names.hpp"
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
doc::Value figure_value(const CurvePoint& point, double value) {
  return {point.figure == CollectiveFigure::time ? human(Seconds{value}) : human(Bandwidth{value}), value};
}

std::string size_text(const CurvePoint& point) {
  const std::string last = fmt::format("{:.0f}", point.size().si());
  return point.sizes.size() == 1 ? last : "to " + last;
}

void add_sizes(doc::Document& page, const ScoredCurve& scored) {
  const CollectiveCurve& curve = scored.curve;
  doc::Section& section = add_part(page, "curve", curve.name);
  section.add(
      doc::Sentence{.text = fmt::format("on {}, {}, NCCL {}", curve.machine->platform,
                                        config::name_of(curve.operation), config::name_of(curve.nccl))});
  doc::Table table =
      table_of("sizes", {"size (B)", "measured", "predicted", "error (%)", "algorithm/protocol"},
               {number_column(14), number_column(12), number_column(12), number_column(9),
                text_column().wraps(8).drops(1)});
  table.shape = {.indent = 2, .gap = 2, .elsewhere = "--json"};
  for (const ScoredPoint& point : scored.points)
    add_row(table, size_text(point.point), figure_value(point.point, point.point.measured),
            figure_value(point.point, point.predicted), signed_value(point.error),
            fmt::format("{}/{}", point.algorithm, point.protocol));
  section.add(std::move(table));
}

/// The mean error of each curve, in %.
void add_curves(doc::Document& page, const CollectiveValidation& validation) {
  doc::Table table = table_of("curves", {"family", "curve", "rows", ">= 1 MiB", "< 1 MiB", "name"},
                              {text_column(13), text_column(6), number_column(4), number_column(8),
                               number_column(8), text_column().wraps(12)},
                              2);
  for (const ScoredCurve& scored : validation.curves)
    add_row(table, config::name_of(scored.family), is_fitted(scored.curve) ? "fitted" : "unseen",
            scored.points.size(), percent_value(scored.large), percent_value(scored.small),
            scored.curve.name);
  add_part(page, "curves of collectives",
           "mean absolute error of each curve in %; fitted: constants were fitted to the curve, unseen: they "
           "were not")
      .add(std::move(table));
}

void add_summary(doc::Table& table, std::string_view name, const SplitSummary& summary) {
  const auto line = [&](std::string_view part, const ErrorSummary& errors) {
    if (errors.rows == 0) return;
    add_row(table, name, part, errors.curves, errors.rows, percent_value(errors.mape),
            percent_value(errors.worst), percent_value(errors.median), percent_value(errors.p90));
  };
  line(">= 1 MiB", summary.large);
  line("< 1 MiB", summary.small);
}

void add_families(doc::Document& page, const CollectiveValidation& validation) {
  doc::Table table =
      table_of("families of curves", {"family", "sizes", "curves", "rows", "mean", "worst", "median", "p90"},
               {text_column(13), text_column(9), number_column(6), number_column(5), number_column(6),
                number_column(6), number_column(6).drops(2), number_column(6).drops(1)},
               2);
  for (const auto& family : config::Names<CurveFamily>::table)
    add_summary(table, family.text, summary_of(validation, family.value));
  add_summary(table, "all", summary_of(validation));
  add_summary(table, "unseen", summary_of(validation, {}, true));
  add_part(page, "families of collectives",
           "mean and worst: over the curves' mean errors; median and p90: over sizes (in %)")
      .add(std::move(table));
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
void add_point_intervals(doc::Document& page, const CollectiveValidation& validation) {
  doc::Table table = table_of("expected errors of bandwidths",
                              {"family", "sizes", "curves", "inside", "half width", "held out", "half width"},
                              {text_column(13), text_column(9), number_column(6), number_column(6),
                               number_column(10), number_column(8), number_column(10)},
                              2);
  const auto add = [&](std::string_view name, std::optional<CurveFamily> family) {
    for (const SizeRange range : size_ranges) {
      if (const auto one = point_coverage(validation, range, family))
        add_row(table, name, title_of(range), one->curves, percent_value(one->covered),
                percent_value(one->half_width), percent_value(one->held_out_covered),
                percent_value(one->held_out_half_width));
    }
  };
  for (const auto& family : config::Names<CurveFamily>::table) add(family.text, family.value);
  add("all", {});
  if (table.rows.empty()) return;
  add_part(
      page, "expected errors of bandwidths",
      fmt::format("expected error of bandwidths: share of the sizes inside the interval that `collective` "
                  "prints for them, which is meant to hold {:.0f} %, each curve counting alike, and its "
                  "median half width; held out: the same without the published curves of the same source, "
                  "machine and operation; in %",
                  100 * expected_share))
      .add(std::move(table));
}

nlohmann::ordered_json coverage_json(const PointCoverage& coverage) {
  return {{"curves", coverage.curves},
          {"coverage", coverage.covered},
          {"median_half_width", coverage.half_width},
          {"held_out",
           {{"coverage", coverage.held_out_covered}, {"median_half_width", coverage.held_out_half_width}}}};
}

nlohmann::ordered_json point_intervals_json(const CollectiveValidation& validation,
                                            std::optional<CurveFamily> family) {
  nlohmann::ordered_json json = nlohmann::ordered_json::object();
  for (const SizeRange range : size_ranges) {
    const auto coverage = point_coverage(validation, range, family);
    json[range == SizeRange::large ? "from_1_mib" : "below_1_mib"] =
        coverage ? coverage_json(*coverage) : nlohmann::ordered_json();
  }
  return json;
}

/// The curves with a large error or always named by a rule, with the suspected causes.
void add_named(doc::Document& page, const CollectiveValidation& validation) {
  doc::Table table =
      table_of("large errors", {"error", "curve"}, {number_column(8), text_column().wraps(20)}, 2);
  table.has_heads = false;
  for (const ScoredCurve& scored : validation.curves) {
    if (!is_named(scored)) continue;
    const OutlierRule* rule = scored.curve.outlier;
    add_row(table, doc::Value(fmt::format("{:>8}", percent_cell(worst_mean(scored))), worst_mean(scored)),
            scored.curve.name);
    add_row(table, "",
            fmt::format("{}{}", rule != nullptr && rule->always_named ? "always named: " : "",
                        rule == nullptr ? "unknown cause" : rule->reason));
  }
  if (table.rows.empty()) return;
  add_part(page, "large errors of collectives",
           fmt::format("curves with errors above {:.0f} %, or named by a rule, with the suspected cause",
                       100 * far_off))
      .add(std::move(table));
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

void add_collectives(doc::Document& page, const CollectiveValidation& validation, bool only_curves) {
  if (!only_curves) {
    for (const ScoredCurve& scored : validation.curves) add_sizes(page, scored);
  }
  add_curves(page, validation);
  add_families(page, validation);
  add_point_intervals(page, validation);
  add_named(page, validation);
  std::string rows =
      fmt::format("rows: {} scored, {} left out", validation.scored, excluded_rows(validation));
  if (const std::optional<double> coverage = coverage_of(validation))
    rows += fmt::format("; {:.1f} % of the eligible rows could be predicted", 100 * *coverage);
  add_reasons(add_part(page, "rows about collectives left out", std::move(rows)), validation.excluded);
}

namespace {

/// Adds a curve and its points.
void add_curve_json(const CollectiveValidation& validation, const ScoredCurve& scored,
                    nlohmann::ordered_json& curves, nlohmann::ordered_json& rows) {
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

}  // namespace

nlohmann::ordered_json validation_json(const CollectiveValidation& validation) {
  nlohmann::ordered_json rows = nlohmann::ordered_json::array();
  nlohmann::ordered_json curves = nlohmann::ordered_json::array();
  for (const ScoredCurve& scored : validation.curves) add_curve_json(validation, scored, curves, rows);
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

doc::Document fit_document(const CollectiveFit& fit) {
  doc::Document page{.title = "Constants of NCCL's protocols", .version = version()};
  doc::Table rates = table_of("rates", {"platform", "path", "fitted", "in file", "differ", ""},
                              {text_column(26).wraps(12), text_column(8), number_column(8), number_column(8),
                               number_column(8), text_column().wraps(12)},
                              2);
  constexpr double worth_an_arrow = 0.02;
  for (const FittedRate& rate : fit.rates) {
    const double part = rate.in_file / rate.fitted - 1;
    add_row(rates, rate.platform, config::name_of(rate.path), fmt::format("{:.2f}", rate.fitted.si() / 1e9),
            fmt::format("{:.2f}", rate.in_file.si() / 1e9), signed_cell(part) + " %",
            std::abs(part) > worth_an_arrow ? "<- differs from the platform file" : "");
  }
  add_part(page, "fitted rates", "fitted rates of links, per ring (GB/s)").add(std::move(rates));
  doc::Table curves = table_of(
      "curves", {">= 1 MiB", "< 1 MiB", ">= 1 MiB", "< 1 MiB", "curve"},
      {number_column(9), number_column(8), number_column(9), number_column(8), text_column().wraps(12)}, 2);
  add_row(curves, "fitted", "fitted", "left out", "left out", "");
  double fitted = 0;
  double left_out = 0;
  int count = 0;
  for (const FittedCurve& curve : fit.curves) {
    add_row(curves, percent_value(curve.large), percent_value(curve.small),
            percent_value(curve.large_left_out), percent_value(curve.small_left_out), curve.name);
    if (!is_nvlink(curve.path) || !curve.large || !curve.large_left_out) continue;
    fitted += *curve.large;
    left_out += *curve.large_left_out;
    ++count;
  }
  doc::Section& section =
      add_part(page, "curves",
               "mean absolute error of each curve in %, fitted and with its machine left out of the fit");
  section.add(std::move(curves));
  if (count > 0)
    section.add(doc::Sentence{
        .text = fmt::format("mean over NVLink curves from 1 MiB up: {:.1f} fitted, {:.1f} left out",
                            100 * fitted / count, 100 * left_out / count),
        .indent = 0});
  add_reasons(add_part(page, "rows left out", "rows left out"), fit.excluded);
  return page;
}

}  // namespace trainyard
