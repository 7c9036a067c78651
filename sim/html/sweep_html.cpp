#include "html/sweep_html.hpp"

#include "document/fluid_plot.hpp"
#include "document/html_page.hpp"
#include "document/page.hpp"
#include "html/known_errors_html.hpp"
#include "html/sweep_answer.hpp"
#include "html/sweep_curves.hpp"
#include "html/sweep_learning.hpp"
#include "html/sweep_points.hpp"
#include "html/sweep_published.hpp"
#include "report/sweep_words.hpp"
#include "sweep/run_sweep.hpp"
#include "sweep/sweep_groups.hpp"
#include "units/shell_word.hpp"
#include "units/text_layout.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <set>

namespace trainyard {
namespace {

constexpr std::size_t most_rows = 500;
constexpr std::size_t most_series = 200;
constexpr std::size_t most_choices = 100;
constexpr std::size_t most_values = 40;

Html what_html(const SweepResult& result) {
  Html html = paragraph(fmt::format(
      "Experiment {}. {} done, {} failed.", experiment_name(result.sweep),
      count(static_cast<std::int64_t>(result.rows.size() - failures(result)), "point"), failures(result)));
  if (const std::string words = one_gpu_in_words(result); !words.empty()) html += paragraph(words);
  HtmlTable table("varied keys", {{"varied key", true}, {"number"}, {"values", true}});
  for (std::size_t key = 0; key < result.sweep.keys.size(); ++key) {
    std::set<std::string> known;
    std::string values;
    for (const PointValues& point : result.sweep.points) {
      if (known.insert(point[key]).second && known.size() <= most_values)
        values += (values.empty() ? "" : ", ") + point[key];
    }
    if (known.size() > most_values) values += ", ...";
    table.row(result.sweep.keys[key], grouped(static_cast<std::int64_t>(known.size())), values);
  }
  const Html varied = table.empty() ? Html{} : table.html();
  if (result.sweep.set.empty()) return html + varied;
  HtmlTable set("set for every point", {{"set for every point", true}, {"value", true}});
  for (const auto& [key, value] : result.sweep.set) set.row(key, value);
  return html + in_columns({varied, set.html()});
}

/// The size up to which each series scales well.
Html stops_html(const SweepResult& result) {
  const std::vector<Series> all = series_of(result);
  if (std::ranges::none_of(all, [](const Series& series) { return series.rows.size() > 1; })) return {};
  const Efficiencies reached = efficiencies(result);
  const std::vector<std::string> names = telling_names(result, all);
  const auto ranks = [&](std::size_t row) {
    return count_text(figure(result, result.rows[row], "ranks").value());
  };
  HtmlTable table("where scaling stops", {{"series", true},
                                          {"scales to, GPUs"},
                                          {"efficiency there"},
                                          {"largest run, GPUs"},
                                          {"efficiency there"}});
  for (const Series& series : all) {
    if (table.rows() == most_series) break;
    const std::optional<std::size_t> last = efficient_up_to(reached, series, scales_well);
    std::string scales_to = last ? ranks(*last) : "none";
    if (const std::string range = scaling_range_in_words(result, reached, series); !range.empty())
      scales_to += fmt::format(" ({})", range);
    table.row(names[table.rows()], scales_to, last ? percent(*reached[*last]) : "", ranks(series.rows.back()),
              percent(*reached[series.rows.back()]));
  }
  std::string rule = "Scales to: " + scaling_rule_in_words(result) + ".";
  if (table.rows() < all.size()) rule += fmt::format(" The first {} of {} series.", table.rows(), all.size());
  return paragraph(rule) + table.html(all.size() > 20);
}

Html choice_html(const SweepResult& result) {
  const std::vector<Needs> needs = needs_of(result);
  if (std::ranges::none_of(needs, [](const Needs& row) { return row.time_s.has_value(); })) return {};
  const Choice choice = choose(result, needs);
  const std::string limits = limits_in_words(result.sweep.goal);
  Html html;
  if (!limits.empty()) html += paragraph("Chosen " + limits + ".");
  Html unknown;
  for (const auto& [label, names] : unknown_needs_in_words(result, needs))
    unknown += paragraph(fmt::format("{}: {}.", label, names));
  if (choice.pareto.empty())
    return html + paragraph("No point meets these limits.") + unknown + needs_plot(result, needs, choice);
  const auto name = [&](std::size_t row) { return point_in_words(result.sweep, result.rows[row].point); };
  const std::string compared = needs_compared(needs);
  HtmlTable best("which point to take", {{"choice", true}, {"point"}, {"keys", true}, {compared, true}});
  for (const auto& [label, row] : best_rows(choice)) {
    best.row(label, grouped(static_cast<std::int64_t>(result.rows[row].point)), name(row),
             needs_in_words(result, needs[row]));
  }
  if (const std::string words = intervals_in_words(result, needs); !words.empty()) html += paragraph(words);
  html += unknown;
  html += in_columns({best.html(), needs_plot(result, needs, choice)});
  if (choice.pareto.size() < 2) return html;
  HtmlTable front("Pareto front", {{"point"}, {"keys", true}, {compared, true}});
  for (const std::size_t row : choice.pareto) {
    if (front.rows() == most_choices) break;
    front.row(grouped(static_cast<std::int64_t>(result.rows[row].point)), name(row),
              needs_in_words(result, needs[row]));
  }
  return html + subheading("Pareto front of " + compared) +
         paragraph(fmt::format(
             "{}No other point is as good in all of them and better in one. Unknown values count as worst.",
             front.rows() < choice.pareto.size()
                 ? fmt::format("The fastest {} of {} points. ", front.rows(), choice.pareto.size())
                 : "")) +
         front.html(choice.pareto.size() > 20);
}

Html failures_html(const SweepResult& result) {
  if (failures(result) == 0) return {};
  std::vector<HtmlColumn> columns{{"point", true}};
  for (const std::string& key : result.sweep.keys) columns.push_back({key, true});
  columns.push_back({"why it failed", true});
  HtmlTable table("points that failed", std::move(columns));
  for (const SweepRow& row : result.rows) {
    if (row.status == PointStatus::done) continue;
    if (table.rows() == most_rows) break;
    std::vector<std::string> cells = result.sweep.points[row.point];
    cells.insert(cells.begin(), grouped(static_cast<std::int64_t>(row.point)));
    cells.push_back(reason_in_words(row));
    table.row(cells);
  }
  return paragraph(
             "Wrong: invalid on any hardware. Impossible: valid, but not possible on this machine. "
             "Unreadable: a file cannot be read. failures.csv, next to this page, has all of them.") +
         table.html(table.rows() > 12);
}

Html group_heading(std::string_view text) { return element("h3", text, " class=\"group\"") + Html{"\n"}; }

/// A section for each value of the key; empty if all are.
Html in_groups(const std::vector<SweepGroup>& groups, const std::string& key,
               Html (*section)(const SweepResult&)) {
  Html html;
  for (const auto& [value, group] : groups) {
    const Html its = section(group);
    if (its.markup.empty()) continue;
    html += group_heading(fmt::format("{}={}", key, value)) + its;
  }
  return html;
}

Html resolved_html(const SweepOrigin& origin, const std::optional<std::string>& by) {
  return paragraph("The sweep, with the changes of the command line.") +
         element("button", "Copy",
                 " type=\"button\" class=\"copy\" hidden=\"hidden\" data-copies=\"resolved\"") +
         Html{"\n"} + element("pre", origin.sweep, " id=\"resolved\" tabindex=\"0\"") + Html{"\n"} +
         paragraph("This is sweep.resolved.yaml, next to this page. To run it again:") +
         element("pre", "trainyard sweep sweep.resolved.yaml --out again" +
                            (by ? " --by " + shell_word(*by) : std::string())) +
         Html{"\n"} +
         paragraph(fmt::format("trainyard {}. The same input gives the same page, byte for byte, in whatever "
                               "order and parts it was run. To see a single point with its timeline and "
                               "sources: trainyard run with the point's keys as --set, and --out.",
                               origin.version));
}

}  // namespace

std::string sweep_html(const SweepResult& result, const SweepOrigin& origin,
                       const std::optional<std::string>& by) {
  const SweepResult points = by ? sorted_by_group(result, *by) : result;
  const std::vector<SweepGroup> groups = by ? groups_of(result, *by) : std::vector<SweepGroup>();
  const auto grouped_by = [&](Html (*section)(const SweepResult&)) {
    return by ? in_groups(groups, *by, section) : section(result);
  };
  const auto grouped_and_all = [&](Html (*section)(const SweepResult&), Html (*of_all)(const SweepResult&)) {
    Html html = grouped_by(section);
    if (by && !html.markup.empty()) html += group_heading("all values of " + *by) + of_all(result);
    return html;
  };
  const Html answer = grouped_and_all(sweep_answer, best_points_html) + sweep_caveats(result);
  Html lead;
  if (!result.sweep.title.empty()) lead = paragraph(result.sweep.title);
  if (!result.sweep.changed.empty()) lead += paragraph("set on the command line: " + result.sweep.changed);
  const HtmlPage page{
      .title = fmt::format("{}: {}", result.sweep.name,
                           count(static_cast<std::int64_t>(result.sweep.points.size()), "point")),
      .lead = lead,
      .sections = {{"answer", "In short", answer},
                   {"chart", "Chart of the points", points_chart(points)},
                   {"points", "Points", points_table(points)},
                   {"scaling", "Scaling", grouped_by(scaling_curves)},
                   {"published", "Predicted and published", published_html(result)},
                   {"stops", "Where scaling stops", grouped_by(stops_html)},
                   {"choice", "Which point to take", grouped_and_all(choice_html, choice_html)},
                   {"learning", "Learning", grouped_by(learning_plots)},
                   {"failures", "Points that failed", failures_html(result)},
                   {"what", "What was varied", what_html(result)},
                   {"trust", "Sources of the numbers", sweep_trust_html(origin)},
                   {"errors", "Known errors of predictions", known_errors_html()},
                   {"sweep", "The sweep", resolved_html(origin, by)}},
      .points = points_json(points, by),
      .version = origin.version};
  return html_text(page);
}

}  // namespace trainyard
