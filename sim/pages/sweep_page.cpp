#include "pages/sweep_page.hpp"

#include "document/writers.hpp"
#include "pages/sweep_best.hpp"
#include "pages/sweep_curves.hpp"
#include "pages/sweep_place.hpp"
#include "pages/sweep_points.hpp"
#include "pages/sweep_report_tables.hpp"
#include "pages/sweep_table.hpp"
#include "report/known_errors.hpp"
#include "report/sweep_groups.hpp"
#include "report/sweep_published.hpp"
#include "report/sweep_words.hpp"
#include "sweep/gains.hpp"
#include "sweep/goal_figures.hpp"
#include "sweep/learning_front.hpp"
#include "sweep/run_sweep.hpp"
#include "sweep/sweep_groups.hpp"
#include "units/lines.hpp"
#include "units/shell_word.hpp"
#include "units/text.hpp"
#include "units/text_layout.hpp"
#include "units/version.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <set>
#include <utility>
#include <vector>

namespace trainyard {
namespace {

constexpr std::size_t most_values = 40;

/// Adds as many items as there is room for, and how many there are besides.
void add_items(const Place& place, doc::Section& section, std::vector<doc::Labelled> items,
               const char* what) {
  const std::size_t most = place.origin != nullptr ? most_on_page : most_in_text;
  const std::size_t left = items.size() - std::min(items.size(), most);
  items.resize(items.size() - left);
  section.add(doc::List{.items = std::move(items)});
  if (left > 0) section.add(doc::Sentence{fmt::format("and {} more {}", left, what)});
}

std::string points_in_words(const SweepResult& result) {
  std::string text = count(static_cast<std::int64_t>(result.rows.size()), "point");
  if (failures(result) > 0) text += fmt::format(", {} failed", failures(result));
  return text;
}

bool is_whole(const SweepResult& result) { return result.rows.size() == result.sweep.points.size(); }

void add_head(doc::Document& page, const SweepResult& result) {
  const Sweep& sweep = result.sweep;
  const std::string points = count(static_cast<std::int64_t>(sweep.points.size()), "point");
  page.title = fmt::format("{}: {}", sweep.name, points);
  if (!sweep.title.empty()) page.lead.push_back(sweep.title);
  doc::Section& section = page.section("head", "");
  section.shown = doc::Shown::text;
  section.is_untitled_in_text = true;
  const std::string done =
      is_whole(result) ? "" : grouped(static_cast<std::int64_t>(result.rows.size())) + " of ";
  section.add(doc::Listing{
      .text = fmt::format("{}: {}{}{}{}", sweep.name, done, points,
                          failures(result) > 0 ? fmt::format(", {} failed", failures(result)) : "",
                          sweep.title.empty() ? "" : "; " + sweep.title)});
  for (const std::string& line :
       {sweep.changed.empty() ? "" : "set on the command line: " + sweep.changed, one_gpu_in_words(result)}) {
    if (line.empty()) continue;
    section.add(doc::Sentence{line});
    page.lead.push_back(line);
  }
  for (const auto& [reason, number] : left_out_by_reason(sweep)) {
    const std::string line =
        fmt::format("left out: {}: {}", count(static_cast<std::int64_t>(number), "point"), reason);
    section.add(doc::Sentence{line});
    page.lead.push_back(line);
  }
}

/// The points worth taking of a sweep that learns.
void add_learning(const Place& place, const SweepResult& result) {
  const std::vector<std::size_t> front = learning_front(result);
  if (front.empty()) return;
  const bool is_to_target = has_target(result);
  doc::Section& section =
      place.topic("learning", "best trade-offs of time and loss",
                  is_to_target ? "no other point reaches the target earlier and ends lower after as long"
                               : "no other point updates faster and ends lower after as long");
  std::vector<doc::Labelled> items;
  for (const std::size_t row : front) {
    const SweepRow& point = result.rows[row];
    const Seconds time(figure(result, point, is_to_target ? "time_to_target_s" : "step_time_s").value());
    items.push_back({point_in_words(result.sweep, point.point),
                     fmt::format("{} {}, final loss {}", is_to_target ? "target in" : "an update in",
                                 estimate(time), rounded(figure(result, point, "final_loss").value()))});
  }
  add_items(place, section, std::move(items), "points");
  if (place.origin != nullptr) add_learning_charts(section, result);
}

/// The points on the Pareto front of each section of the report's tables, or of all.
std::set<std::size_t> points_on_fronts(const SweepResult& result) {
  std::set<std::size_t> points;
  for (const auto& [value, section] : sections_of(result))
    for (const std::size_t row : choose(section, needs_of(section)).pareto)
      points.insert(section.rows[row].point);
  return points;
}

/// The points that the terminal shows: if there are too many, those on a Pareto front.
std::vector<const SweepRow*> rows_shown(const SweepResult& result, std::size_t most_rows) {
  const bool is_cut = result.rows.size() > most_rows;
  const std::set<std::size_t> best = is_cut ? points_on_fronts(result) : std::set<std::size_t>();
  std::vector<const SweepRow*> rows;
  for (const SweepRow& row : result.rows) {
    if (!is_cut || (best.contains(row.point) && rows.size() < most_rows)) rows.push_back(&row);
  }
  return rows;
}

/// The table, and the reasons of points that failed; if it is cut, of all that failed.
void add_rows(const Place& place, const SweepResult& result, const SweepShown& shown) {
  const std::vector<const SweepRow*> rows = rows_shown(result, shown.most_rows);
  const bool is_cut = result.rows.size() > shown.most_rows;
  if (result.rows.empty()) return;
  Reasons reasons;
  doc::Section& section = place.untitled("points", "points");
  if (is_cut)
    section.add(doc::Listing{
        .text = rows.empty()
                    ? "sweep.csv (with --out) and --json have all points"
                    : fmt::format("only points on the Pareto front of {}{}; sweep.csv (with --out) "
                                  "and --json have all points",
                                  needs_compared(needs_of(result)),
                                  result.sweep.report ? " of each " + result.sweep.report->section : "")});
  if (!rows.empty()) section.add(points_table(result, rows, reasons, shown.width));
  if (is_cut)
    for (const SweepRow& row : result.rows)
      if (row.status != PointStatus::done) reasons.number_of(row.reason);
  if (failures(result) > 0) place.untitled("failures", "points that failed").add(reasons.list(is_cut));
}

void add_failures(doc::Document& page, const Reasons& reasons) {
  doc::Section& section = page.section("failures", "points that failed");
  section.add(reasons.list(false));
  section.add(
      doc::Sentence{"Wrong: invalid on any hardware. Impossible: valid, but not possible on this machine. "
                    "Unreadable: a file cannot be read. failures.csv, next to this page, has all of them."});
}

/// The points of a page.
void add_points(doc::Document& page, const SweepResult& result, const std::optional<std::string>& by) {
  if (result.rows.empty()) return;
  doc::Section& section = page.section("points", "points");
  if (result.rows.size() >= failures(result) + 2) section.add(points_chart(result, by));
  if (is_relative_to_smallest(result) && !series_of(result).empty())
    section.add(doc::Sentence{
        "Speedup and efficiency are relative to the smallest run of each series; sweep.csv also has those "
        "relative to one GPU with the same batch per GPU, where ranks do not share a model."});
  std::vector<const SweepRow*> rows;
  for (const SweepRow& row : result.rows)
    if (rows.size() < most_points_on_page) rows.push_back(&row);
  section.add(doc::Sentence{
      rows.size() < result.rows.size()
          ? fmt::format("The first {} of {} points; sweep.csv, next to this page, has all of them with more "
                        "columns.",
                        grouped(static_cast<std::int64_t>(rows.size())),
                        grouped(static_cast<std::int64_t>(result.rows.size())))
          : "sweep.csv, next to this page, has the finished points with more columns, in SI base units."});
  Reasons reasons;
  section.add(points_table_of_page(result, rows, reasons));
  if (failures(result) > 0) add_failures(page, reasons);
}

std::string differences_in_words(const SweepResult& result) {
  std::vector<double> differences;
  int expected = 0;
  int inside = 0;
  for (const PublishedComparison& comparison : published_comparisons(result)) {
    if (const auto one = relative_difference(comparison)) differences.push_back(*one);
    if (!comparison.expected) continue;
    ++expected;
    if (is_as_expected(comparison)) ++inside;
  }
  if (differences.empty()) return {};
  double sum = 0;
  for (const double one : differences) sum += std::abs(one);
  const auto [least, most] = std::ranges::minmax(differences);
  std::string words = fmt::format("Predictions differ by {} on average, from {} to {}",
                                  percent(sum / static_cast<double>(differences.size())),
                                  signed_percent(least), signed_percent(most));
  if (expected > 0) words += fmt::format("; {} of {} are within the expected error", inside, expected);
  return words + ".";
}

/// The figure on the left, other cells right-aligned under their heads; sources below, by number.
void add_published(const Place& place, const SweepResult& result, std::size_t width) {
  const TableShape shape{.indent = 2, .gap = 2, .elsewhere = elsewhere};
  auto [table, sources] = published_table(result, PublishedKeys::in_columns);
  if (table.rows.empty()) return;
  table.shape = shape;
  if (place.origin == nullptr && !has_room(table, width)) {
    table = published_table(result, PublishedKeys::behind_figure).first;
    table.shape = shape;
  }
  doc::Section& section = place.page.section("published", "predicted and published");
  const bool has_several = table.rows.size() > 1;
  section.add(std::move(table));
  if (has_several) section.add(doc::Sentence{.text = differences_in_words(result), .indent = 2});
  section.add(std::move(sources));
  if (place.origin == nullptr) return;
  section.add(doc::Sentence{
      "Differences of shares and of figures relative to another point are in percentage points, others in "
      "percent of the published figure. published.csv has them in SI base units."});
  add_published_charts(section, result);
}

void add_notes(const Place& place, const SweepResult& result) {
  doc::Section* section = nullptr;
  for (const std::string& words : {above_peak_in_words(result), expected_errors_in_words(result)}) {
    if (words.empty()) continue;
    if (section == nullptr) section = &place.untitled("notes", "notes");
    if (!section->parts.empty() || place.group != nullptr) section->add(doc::gap());
    section->add(doc::Sentence{.text = words, .indent = 0});
  }
}

void add_scaling(const Place& place, const SweepResult& result) {
  const std::vector<Series> all = series_of(result);
  if (std::ranges::none_of(all, [](const Series& series) { return series.rows.size() > 1; })) return;
  doc::Section& section = place.topic("scaling", "where scaling stops", scaling_rule_in_words(result));
  const Efficiencies reached = efficiencies(result);
  std::vector<doc::Labelled> items;
  for (const Series& series : all) items.push_back({series.name, scaling_in_words(result, reached, series)});
  add_items(place, section, std::move(items), "series");
  if (place.origin != nullptr) add_scaling_curves(section, result);
}

void add_gains(const Place& place, const SweepResult& result) {
  const std::vector<GainSeries> all = gains_of(result);
  if (all.empty()) return;
  doc::Section& section = place.topic("gains", "gain from larger values",
                                      "samples/s relative to the value before; all other keys equal");
  std::vector<doc::Labelled> items;
  for (const GainSeries& series : all) items.push_back({name_in_words(series), gain_in_words(series)});
  add_items(place, section, std::move(items), "series");
}

/// Each named group in short, and the effects of keys.
void add_named_groups(const Place& place, const SweepResult& result) {
  const std::vector<GroupFinding> findings = group_findings(result);
  if (findings.empty()) return;
  doc::Section& section = place.topic("groups", "groups", "median (least to most) of each");
  section.is_answer = section.is_answer || place.group == nullptr;
  std::vector<doc::Labelled> items;
  for (const GroupFinding& finding : findings) items.push_back({finding.group, finding_in_words(finding)});
  section.add(doc::List{.items = std::move(items)});
  doc::Table table = effects_table(findings);
  if (table.rows.empty()) return;
  table.shape = {.indent = 2, .gap = 2, .elsewhere = elsewhere};
  section.add(doc::gap());
  section.add(doc::Sentence{
      "Pairs of points that differ in one key alone, on the most GPUs on which both ran; efficiency as "
      "difference, others as ratio."});
  section.add(std::move(table));
}

/// A section for each value of a key, and one for the best points of all.
void add_groups(const Place& place, const SweepResult& result, const SweepShown& shown) {
  doc::Document& page = place.page;
  int number = 0;
  const bool has_brief = place.origin != nullptr && is_whole(result);
  doc::Section brief{.key = "short", .title = "in short", .is_untitled_in_text = true, .is_answer = true};
  for (const auto& [value, group] : groups_of(result, *shown.by)) {
    if (has_brief) brief.fact(fmt::format("{}={}", *shown.by, value), best_in_words(group));
    doc::Section& section = page.section(fmt::format("group{}", ++number),
                                         fmt::format("{}={}: {}", *shown.by, value, points_in_words(group)));
    const Place within{page, place.origin, &section, true};
    if (is_whole(result)) {
      add_best(within, group);
      add_learning(within, group);
    }
    if (place.origin == nullptr) add_rows(within, group, shown);
    add_scaling(within, group);
    add_gains(within, group);
    add_named_groups(within, group);
  }
  doc::Section& all = page.section("answer", "all values of " + *shown.by);
  all.is_answer = true;
  const Place within{page, place.origin, &all};
  add_notes(within, result);
  if (is_whole(result)) add_best(within, result);
  add_named_groups(within, result);
  add_published(place, result, shown.width);
  if (has_brief) page.sections.push_back(std::move(brief));
}

void add_topics(const Place& place, const SweepResult& result, const SweepShown& shown) {
  if (shown.by) return add_groups(place, result, shown);
  if (is_whole(result)) {
    add_best(place, result);
    add_learning(place, result);
  }
  if (place.origin == nullptr) add_rows(place, result, shown);
  add_published(place, result, shown.width);
  add_notes(place, result);
  add_scaling(place, result);
  add_gains(place, result);
  add_named_groups(place, result);
}

void add_varied(doc::Document& page, const Sweep& sweep) {
  doc::Section& section = page.section("what", "what was varied");
  section.fact("experiment", experiment_name(sweep));
  doc::Table varied{
      .key = "varied",
      .title = "varied keys",
      .columns = {{.head = "varied key"}, {.head = "number", .layout = number_column()}, {.head = "values"}}};
  for (std::size_t key = 0; key < sweep.keys.size(); ++key) {
    std::set<std::string> known;
    std::string values;
    for (const PointValues& point : sweep.points)
      if (known.insert(point[key]).second && known.size() <= most_values)
        values += (values.empty() ? "" : ", ") + point[key];
    if (known.size() > most_values) values += ", ...";
    varied.rows.push_back(
        {.cells = {sweep.keys[key], grouped(static_cast<std::int64_t>(known.size())), values}});
  }
  if (!varied.rows.empty()) section.add(std::move(varied));
  if (sweep.set.empty()) return;
  doc::Table set{
      .key = "set", .title = "set", .columns = {{.head = "set for every point"}, {.head = "value"}}};
  for (const auto& [key, value] : sweep.set) set.rows.push_back({.cells = {key, value}});
  section.add(std::move(set));
}

void add_file(doc::Document& page, const SweepOrigin& origin, const std::optional<std::string>& by) {
  doc::Section& section = page.section("sweep", "the sweep");
  section.add(doc::Sentence{"The sweep, with the changes of the command line."});
  section.add(doc::Command{"", origin.sweep});
  section.add(doc::Sentence{"This is sweep.resolved.yaml, next to this page. To run it again:"});
  section.add(doc::Command{"", "trainyard sweep sweep.resolved.yaml --out again" +
                                   (by ? " --by " + shell_word(*by) : std::string())});
  section.add(doc::Sentence{
      fmt::format("trainyard {}. The same input gives the same page, byte for byte, in whatever order and "
                  "parts it was run. To see a single point with its timeline and sources: `trainyard run` "
                  "with the point's keys as --set, and --out.",
                  origin.version)});
}

}  // namespace

doc::Document sweep_document(const SweepResult& result, const SweepShown& shown, const SweepOrigin* origin) {
  doc::Document page{.version = origin == nullptr ? version() : origin->version};
  add_head(page, result);
  if (origin != nullptr) add_points(page, shown.by ? sorted_by_group(result, *shown.by) : result, shown.by);
  add_topics({page, origin}, result, shown);
  if (origin == nullptr) return page;
  add_report_tables(page, result);
  add_varied(page, result.sweep);
  add_origin(page, *origin);
  add_known_errors(page);
  add_file(page, *origin, shown.by);
  return page;
}

}  // namespace trainyard
