#include "document/page.hpp"
#include "report/sweep_published.hpp"
#include "report/sweep_report.hpp"
#include "report/sweep_words.hpp"
#include "sweep/choice.hpp"
#include "sweep/gains.hpp"
#include "sweep/learning_front.hpp"
#include "sweep/run_sweep.hpp"
#include "sweep/scaling.hpp"
#include "sweep/sweep_groups.hpp"
#include "units/text.hpp"
#include "units/text_layout.hpp"

#include <algorithm>
#include <cstdint>
#include <fmt/format.h>
#include <optional>
#include <string_view>
#include <utility>

namespace trainyard {
namespace {

constexpr std::size_t most_listed = 24;

/// Where the columns and rows are that a page leaves out.
constexpr std::string_view elsewhere = "--json, the files of --out";

/// Reasons in the order of their first use, each with its number.
class Reasons {
public:
  std::size_t number_of(const std::string& reason) {
    const auto known = std::ranges::find(reasons_, reason, &Reason::text);
    if (known != reasons_.end()) {
      ++known->points;
      return static_cast<std::size_t>(known - reasons_.begin()) + 1;
    }
    reasons_.push_back({reason, 1});
    return reasons_.size();
  }

  [[nodiscard]] std::string text(const PrintStyle& style, bool has_counts) const {
    std::string text;
    for (std::size_t i = 0; i < reasons_.size(); ++i) {
      const auto points = static_cast<std::int64_t>(reasons_[i].points);
      text += hanging(fmt::format("  [{}] ", i + 1),
                      has_counts ? fmt::format("{} failed: {}", count(points, "point"), reasons_[i].text)
                                 : reasons_[i].text,
                      style.width);
    }
    return text;
  }

private:
  struct Reason {
    std::string text;
    std::size_t points;
  };
  std::vector<Reason> reasons_;
};

/// Right-aligned cells under their heads; a failed row has the number of its reason, below, after its keys.
/// If the keys have no room for whole words, they share a column.
class PointTable {
public:
  PointTable(const SweepResult& result, const std::vector<const SweepRow*>& rows)
      : sweep_(result.sweep), shown_(result), rows_(rows) {}

  std::string text(const PrintStyle& style) {
    Table table = with_keys(true);
    if (!sweep_.keys.empty() && !table.has_room(style.width)) {
      reasons_ = {};
      table = with_keys(false);
    }
    return table.text(style.width) + (has_failures_ ? "\n" : "") + reasons_.text(style, false);
  }

private:
  /// The cells of a row with one for all keys in place of one each.
  [[nodiscard]] std::vector<std::string> joined(std::vector<std::string> cells, std::string keys) const {
    cells.erase(cells.begin(), cells.begin() + std::ssize(sweep_.keys));
    cells.insert(cells.begin(), std::move(keys));
    return cells;
  }

  Table with_keys(bool in_columns) {
    constexpr std::size_t least_point = 24;
    std::vector<TableColumn> layout = shown_.layout();
    std::vector<std::string> heads = shown_.heads();
    if (!in_columns) {
      layout.erase(layout.begin(), layout.begin() + std::ssize(sweep_.keys));
      layout.insert(layout.begin(), text_column().wraps(least_point));
      heads = joined(std::move(heads), "point");
    }
    Table table(std::move(layout), {.indent = 2, .gap = 2, .elsewhere = elsewhere});
    table.add(std::move(heads));
    for (const SweepRow* row : rows_) {
      std::vector<std::string> cells = shown_.cells(*row);
      if (!in_columns) cells = joined(std::move(cells), point_in_a_cell(sweep_, sweep_.points[row->point]));
      if (row->status == PointStatus::done) {
        table.add(std::move(cells));
        continue;
      }
      has_failures_ = true;
      cells.resize(in_columns ? sweep_.keys.size() : 1);
      table.add_and_rest(std::move(cells),
                         fmt::format("{} [{}]", name_of(row->status), reasons_.number_of(row->reason)));
    }
    return table;
  }

  const Sweep& sweep_;
  SweepColumns shown_;
  const std::vector<const SweepRow*>& rows_;
  Reasons reasons_;
  bool has_failures_ = false;
};

/// The reasons of points that no table shows.
std::string failures_text(const SweepResult& result, const PrintStyle& style) {
  Reasons reasons;
  for (const SweepRow& row : result.rows) {
    if (row.status != PointStatus::done) reasons.number_of(row.reason);
  }
  const std::string text = reasons.text(style, true);
  return text.empty() ? text : '\n' + text;
}

/// The figure on the left, other cells right-aligned under their heads; sources below, by number.
std::string published_text(const SweepResult& result, const PrintStyle& style) {
  const PublishedTable published = published_table(result);
  if (published.rows.empty()) return {};
  std::vector<TableColumn> layout{text_column().wraps(14)};
  constexpr std::size_t after_keys = 4;  // predicted, published, difference, source
  for (std::size_t i = 1; i < published.heads.size(); ++i)
    layout.push_back(i + after_keys < published.heads.size() ? number_column().wraps(8) : number_column());
  Table table(std::move(layout), {.indent = 2, .gap = 2, .elsewhere = elsewhere});
  table.add(published.heads);
  for (const std::vector<std::string>& row : published.rows) table.add(row);
  std::string text = "\npredicted and published\n" + table.text(style.width);
  for (std::size_t i = 0; i < published.sources.size(); ++i)
    text += hanging(fmt::format("  [{}] ", i + 1), published.sources[i], style.width);
  return text;
}

void write_front(Page& out, const SweepResult& result, const std::vector<Needs>& needs,
                 const Choice& choice) {
  std::string front;
  for (std::size_t i = 0; i < std::min(choice.pareto.size(), most_listed); ++i)
    front += fmt::format("{}{}", i == 0 ? "" : ", ", result.rows[choice.pareto[i]].point);
  if (choice.pareto.size() > most_listed)
    front += fmt::format(" and {} more", choice.pareto.size() - most_listed);
  out.text_row("Pareto front",
               fmt::format("{}, in {}: {}", count(static_cast<std::int64_t>(choice.pareto.size()), "point"),
                           needs_compared(needs), front));
}

void write_choice(Page& out, const SweepResult& result) {
  const std::vector<Needs> needs = needs_of(result);
  const Choice choice = choose(result, needs);
  const auto is_known = [](const Needs& row) { return row.time_s.has_value(); };
  const bool has_any = std::ranges::any_of(needs, is_known);
  if (!has_any && !is_of_learners(result)) return;
  out.heading("best points", limits_in_words(result.sweep.goal));
  if (!has_any) {
    out.paragraph("no point reached the learner's target", 2);
    return;
  }
  const auto write_unknown = [&] {
    for (const auto& [label, names] : unknown_needs_in_words(result, needs)) out.text_row(label, names);
  };
  if (choice.pareto.empty()) {
    out.paragraph("no point is within these limits", 2);
    write_unknown();
    return;
  }
  for (const auto& [label, row] : best_rows(choice)) {
    out.text_row(label, fmt::format("{}: {}", point_in_words(result.sweep, result.rows[row].point),
                                    needs_in_words(result, needs[row])));
  }
  write_unknown();
  if (choice.pareto.size() > 1) write_front(out, result, needs, choice);
  if (const std::string words = intervals_in_words(result, needs); !words.empty()) out.paragraph(words, 2);
}

/// The points worth taking of a sweep that learns.
void write_learning_front(Page& out, const SweepResult& result) {
  const std::vector<std::size_t> front = learning_front(result);
  if (front.empty()) return;
  const bool is_to_target = has_target(result);
  out.heading("best trade-offs of time and loss",
              is_to_target ? "no other point reaches the target earlier and ends lower after as long"
                           : "no other point updates faster and ends lower after as long");
  std::size_t listed = 0;
  for (const std::size_t row : front) {
    if (++listed > most_listed) {
      out.paragraph(fmt::format("and {} more points", front.size() - most_listed), 2);
      break;
    }
    const SweepRow& point = result.rows[row];
    const Seconds time(figure(result, point, is_to_target ? "time_to_target_s" : "step_time_s").value());
    out.paragraph(fmt::format("{}: {} {}, final loss {}", point_in_words(result.sweep, point.point),
                              is_to_target ? "target in" : "an update in", estimate(time),
                              rounded(figure(result, point, "final_loss").value())),
                  2);
  }
}

void write_scaling(Page& out, const SweepResult& result) {
  const std::vector<Series> all = series_of(result);
  if (std::ranges::none_of(all, [](const Series& series) { return series.rows.size() > 1; })) return;
  out.heading("where scaling stops", scaling_rule_in_words(result));
  const Efficiencies reached = efficiencies(result);
  std::size_t listed = 0;
  for (const Series& series : all) {
    if (++listed > most_listed) {
      out.paragraph(fmt::format("and {} more series", all.size() - most_listed), 2);
      break;
    }
    const std::string text = scaling_in_words(result, reached, series);
    out.paragraph(series.name.empty() ? text : series.name + ": " + text, 2);
  }
}

void write_gains(Page& out, const SweepResult& result) {
  const std::vector<GainSeries> all = gains_of(result);
  if (all.empty()) return;
  out.heading("gain from larger values", "samples/s relative to the value before; all other keys equal");
  std::size_t listed = 0;
  for (const GainSeries& series : all) {
    if (++listed > most_listed) {
      out.paragraph(fmt::format("and {} more series", all.size() - most_listed), 2);
      break;
    }
    out.paragraph(fmt::format("{}: {}", name_in_words(series), gain_in_words(series)), 2);
  }
}

/// The table; if it is cut, of the points on the Pareto front, and the reasons of all that failed.
std::string rows_text(const SweepResult& result, bool is_cut, std::size_t most_rows,
                      const PrintStyle& style) {
  std::vector<const SweepRow*> rows;
  const std::vector<Needs> needs = needs_of(result);
  const Choice choice = choose(result, needs);
  for (std::size_t i = 0; i < result.rows.size(); ++i) {
    const bool is_best = std::ranges::find(choice.pareto, i) != choice.pareto.end();
    if (!is_cut || (is_best && rows.size() < most_rows)) rows.push_back(&result.rows[i]);
  }
  std::string text;
  if (is_cut) {
    text += rows.empty() ? "sweep.csv (with --out) and --json have all points\n"
                         : fitted_lines(fmt::format("only points on the Pareto front of {}; sweep.csv (with "
                                                    "--out) and --json have all points\n",
                                                    needs_compared(needs)),
                                        style.width);
  }
  if (!rows.empty()) text += PointTable(result, rows).text(style);
  if (is_cut) text += failures_text(result, style);
  return text;
}

void write_errors(Page& out, const SweepResult& result) {
  for (const std::string& words : {above_peak_in_words(result), expected_errors_in_words(result)}) {
    if (words.empty()) continue;
    out.line("");
    out.paragraph(words, 0);
  }
}

/// The answer: which points to take. `is_whole`: all points have run, as a choice among them needs.
std::string answer_text(const SweepResult& result, bool is_whole, const PrintStyle& style) {
  if (!is_whole) return {};
  Page out(style);
  write_choice(out, result);
  write_learning_front(out, result);
  std::string text = out.text();
  if (text.empty()) return text;
  return text.substr(text.find_first_not_of('\n')) + '\n';
}

/// What the points say of sizes and values.
std::string trends_text(const SweepResult& result, const PrintStyle& style) {
  Page out(style);
  write_scaling(out, result);
  write_gains(out, result);
  return out.text();
}

}  // namespace

std::string sweep_text(const SweepResult& result, std::size_t most_rows, const PrintStyle& style,
                       const std::optional<std::string>& by) {
  const bool is_cut = result.rows.size() > most_rows;
  Page out(style);
  const bool is_whole = result.rows.size() == result.sweep.points.size();
  out.line(fmt::format("{}: {}{}{}{}", result.sweep.name,
                       is_whole ? "" : grouped(static_cast<std::int64_t>(result.rows.size())) + " of ",
                       count(static_cast<std::int64_t>(result.sweep.points.size()), "point"),
                       failures(result) > 0 ? fmt::format(", {} failed", failures(result)) : "",
                       result.sweep.title.empty() ? "" : "; " + result.sweep.title));
  if (!result.sweep.changed.empty()) out.paragraph("set on the command line: " + result.sweep.changed, 2);
  if (const std::string words = one_gpu_in_words(result); !words.empty()) out.paragraph(words, 2);
  std::string text = out.text() + '\n';
  if (!by) {
    text += answer_text(result, is_whole, style);
    text += rows_text(result, is_cut, most_rows, style) + published_text(result, style);
    Page below(style);
    write_errors(below, result);
    return text + below.text() + trends_text(result, style);
  }
  for (const auto& [value, group] : groups_of(result, *by)) {
    Page head(style);
    head.line(fmt::format("{}={}: {}{}", *by, value,
                          count(static_cast<std::int64_t>(group.rows.size()), "point"),
                          failures(group) > 0 ? fmt::format(", {} failed", failures(group)) : ""));
    text += head.text() + answer_text(group, is_whole, style) + rows_text(group, is_cut, most_rows, style) +
            trends_text(group, style) + '\n';
  }
  Page end(style);
  end.line(fmt::format("all values of {}", *by));
  write_errors(end, result);
  if (is_whole) write_choice(end, result);
  const std::string published = published_text(result, style);
  return text + end.text() + published;
}

std::string sweep_line(const SweepResult& result, const SweepRow& row) {
  std::string text = point_in_words(result.sweep, row.point) + ": ";
  if (row.status != PointStatus::done) return text + reason_in_words(row);
  const auto value = [&](const char* name) { return figure(result, row, name).value(); };
  text += fmt::format("{}, {} samples/s", estimate(Seconds(value("step_time_s"))),
                      rounded(value("throughput_samples_per_s")));
  const std::optional<double> efficiency = figure(result, row, "scaling_efficiency");
  if (!efficiency) return text;  // ranks share a model
  return text + fmt::format(", {} efficiency{}", percent(*efficiency),
                            is_strong_scaling(result.sweep) ? " relative to one GPU with this batch" : "");
}

}  // namespace trainyard
