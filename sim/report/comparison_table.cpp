#include "report/comparison_table.hpp"

#include "explain/comparison_error.hpp"
#include "report/expected_error.hpp"
#include "report/figure_text.hpp"
#include "report/json_text.hpp"
#include "report/page.hpp"
#include "report/ratio_error.hpp"
#include "report/text_layout.hpp"
#include "units/text.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <functional>
#include <nlohmann/json.hpp>

namespace trainyard {

namespace {

using Json = nlohmann::ordered_json;

/// Shows this number of a group's collectives, those with the largest changes.
constexpr std::size_t most_collectives = 4;

/// A label and four columns, each as wide as its widest usual number.
Table comparison_columns() {
  return Table({text_column(24).wraps(14), number_column(17), number_column(17), number_column(18).drops(1),
                number_column(13)},
               {.indent = 2, .gap = 1, .head_hangs = true, .elsewhere = "--json"});
}

void add_line(Table& table, std::string_view label, std::string_view a, std::string_view b,
              std::string_view difference, std::string_view last) {
  table.row(elide(label, 23), a, b, difference, last);
}

/// The numbers of a line have one unit and the same decimals.
void add_figure(Table& table, const ComparedFigure& figure) {
  const FigureUnit unit = figure.figure->unit;
  const double largest = std::max(std::abs(figure.a.value_or(0)), std::abs(figure.b.value_or(0)));
  const auto text = [&](const std::optional<double>& value) {
    return value ? in_unit_like(*value, largest, unit) : "-";
  };
  std::string difference = text(figure.difference);
  if (figure.difference && unit == FigureUnit::share)
    difference = fmt::format("{:.1f} points", 100 * *figure.difference);
  add_line(table, figure.figure->label, text(figure.a), text(figure.b),
           figure.difference ? with_sign(difference) : difference,
           figure.ratio ? rounded(*figure.ratio) + " x" : "-");
}

std::string title_of(std::string_view letter, const RunSummary& run) {
  const auto whole = [&](std::string_view field) { return std::llround(number_of(run, field)); };
  const std::string batch = whole("accumulation") > 1 ? fmt::format("{} x ", whole("accumulation")) : "";
  std::string text = fmt::format(
      "{}: {}, {} on {} of {} x {}; {}, {}, {}, batch {}{} per GPU, fidelity {}", letter,
      text_of(run, "experiment"), text_of(run, "model"), count(whole("ranks"), "GPU"),
      grouped(whole("nodes")), text_of(run, "platform"), text_of(run, "stack"), text_of(run, "precision"),
      text_of(run, "optimizer"), batch, grouped(whole("batch_per_gpu")), text_of(run, "fidelity"));
  const auto figure_of = [&](std::string_view field) { return run.figures.at(index_of(field, run.table)); };
  if (figure_of("one_gpu_scale") && figure_of("one_gpu_samples_per_s")) {
    text += fmt::format("; one GPU measured: {} samples/s; kernels x {}",
                        rounded(number_of(run, "one_gpu_samples_per_s")),
                        rounded(number_of(run, "one_gpu_scale")));
  }
  return text;
}

std::string value_of_key(const std::optional<std::string>& value) { return value ? *value : "not set"; }

void write_keys(Page& out, const Comparison& comparison) {
  out.heading("differences in the input");
  if (comparison.keys.empty()) out.line("  none: the experiments are the same");
  for (const ComparedKey& key : comparison.keys)
    out.paragraph(fmt::format("{}: {} -> {}", key.path, value_of_key(key.a), value_of_key(key.b)), 2);
}

void write_figures(Page& out, const Comparison& comparison) {
  Table table = comparison_columns();
  add_line(table, "side by side", "A", "B", "B - A", "B / A");
  for (const ComparedFigure& figure : comparison.figures) add_figure(table, figure);
  out.headed_table(table);
}

void add_time_line(Table& table, std::string_view label, const ComparedTime& time, Seconds whole) {
  constexpr double rounding = 1e-10;  // relative error that exact sums may leave in the last digit
  const bool is_same = std::abs(time.difference.si()) <= rounding * whole.si();
  const Seconds difference = is_same ? Seconds{} : time.difference;
  add_line(table, label, human_like(time.a, whole), human_like(time.b, whole),
           with_sign(human_like(difference, whole)), signed_percent(difference / whole));
}

std::string label_of(StepPart part) {
  if (part == StepPart::communication) return "exposed comm.";
  std::string label(config::name_of(part));
  std::ranges::replace(label, '_', ' ');
  return label;
}

void write_group(Table& table, const ComparedGroup& group, Seconds whole) {
  if (group.operation.empty()) return;
  add_time_line(table, fmt::format("  {}, {}", group.operation, group.purpose), group.time, whole);
  std::vector<ComparedCollective> sorted = group.collectives;
  std::ranges::stable_sort(sorted, std::greater{},
                           [](const ComparedCollective& one) { return std::abs(one.time.difference.si()); });
  const std::size_t shown = std::min(most_collectives, sorted.size());
  for (std::size_t i = 0; i < shown; ++i)
    add_time_line(table, "    " + sorted[i].name, sorted[i].time, whole);
  if (shown < sorted.size())
    table.row(fmt::format("    {} more in --json", sorted.size() - shown), "", "", "", "");
}

void write_parts(Page& out, const Comparison& comparison) {
  Table table = comparison_columns();
  add_line(table, "step time by part", "A", "B", "B - A", "relative to A");
  const Seconds whole = comparison.step.a;
  for (const ComparedPart& part : comparison.parts) {
    add_time_line(table, label_of(part.part), part.time, whole);
    if (part.part != StepPart::communication) continue;
    for (const ComparedGroup& group : comparison.groups) write_group(table, group, whole);
  }
  add_time_line(table, "step time (sum)", comparison.step, whole);
  out.headed_table(table);
}

void write_error(Page& out, const Comparison& comparison) {
  out.heading("expected error of the comparison");
  if (!comparison.ratio_error) {
    out.text_row("unknown", comparison.ratio_error.error());
    return;
  }
  const RatioError& error = *comparison.ratio_error;
  out.text_row("verdict", verdict_in_words(comparison));
  const double high = highest_ratio(comparison);
  out.text_row("samples/s, B/A", fmt::format("{} predicted; {} to {} ({} to {} %) expected",
                                             rounded_like(comparison.throughput_ratio, high),
                                             rounded_like(lowest_ratio(comparison), high), rounded(high),
                                             whole_percent(error.low), whole_percent(error.high)));
  out.text_row("comes from", ratio_source_in_words(error));
}

Json run_json(const RunSummary& run) {
  Json json;
  for (const char* const field : {"experiment", "platform", "model", "stack", "precision", "optimizer"})
    json[field] = text_of(run, field);
  for (const char* const field : {"batch_per_gpu", "accumulation", "ranks", "nodes"})
    json[field] = std::llround(number_of(run, field));
  json["fidelity"] = text_of(run, "fidelity");
  return json;
}

void add_time(Json& json, const ComparedTime& time) {
  json["a_s"] = time.a.si();
  json["b_s"] = time.b.si();
  json["difference_s"] = time.difference.si();
  json["ratio"] = number_or_null(ratio_of(time.a.si(), time.b.si()));
}

Json text_or_null(const std::optional<std::string>& text) { return text ? Json(*text) : Json(); }

Json group_json(const ComparedGroup& group) {
  Json json;
  json["operation"] = group.operation.empty() ? Json() : Json(group.operation);
  json["purpose"] = group.purpose.empty() ? Json() : Json(group.purpose);
  add_time(json, group.time);
  json["collectives"] = Json::array();
  for (const ComparedCollective& one : group.collectives) {
    Json& row = json["collectives"].emplace_back(Json{{"collective", one.name}});
    add_time(row, one.time);
  }
  return json;
}

}  // namespace

std::string comparison_table(const Comparison& comparison, const PrintStyle& style) {
  Page out(style);
  out.paragraph(title_of("A", comparison.a), 0);
  out.paragraph(title_of("B", comparison.b), 0);
  write_keys(out, comparison);
  write_figures(out, comparison);
  write_parts(out, comparison);
  write_error(out, comparison);
  out.line("");
  out.paragraph(comparison_in_words(comparison), 0);
  return out.text();
}

Json comparison_json(const Comparison& comparison) {
  Json json;
  json["schema_version"] = 2;
  json["a"] = run_json(comparison.a);
  json["b"] = run_json(comparison.b);
  Json& keys = json["experiment_differences"] = Json::array();
  for (const ComparedKey& key : comparison.keys)
    keys.push_back({{"key", key.path}, {"a", text_or_null(key.a)}, {"b", text_or_null(key.b)}});
  Json& step = json["step_time"];
  add_time(step, comparison.step);
  json["throughput_ratio"] = comparison.throughput_ratio;
  json["ratio_error"] = ratio_error_json(comparison);
  Json& figures = json["figures"] = Json::object();
  for (const ComparedFigure& figure : comparison.figures) {
    figures[std::string(figure.figure->field)] = {{"a", number_or_null(figure.a)},
                                                  {"b", number_or_null(figure.b)},
                                                  {"difference", number_or_null(figure.difference)},
                                                  {"ratio", number_or_null(figure.ratio)}};
  }
  Json& parts = json["step_parts"] = Json::array();
  for (const ComparedPart& part : comparison.parts) {
    Json& row = parts.emplace_back(Json{{"part", config::name_of(part.part)}});
    add_time(row, part.time);
  }
  Json& groups = json["exposed_collectives"] = Json::array();
  for (const ComparedGroup& group : comparison.groups) groups.push_back(group_json(group));
  json["in_words"] = comparison_in_words(comparison);
  return json;
}

}  // namespace trainyard
