#include "report/page.hpp"
#include "report/sweep_published.hpp"
#include "report/sweep_report.hpp"
#include "report/sweep_words.hpp"
#include "report/text_layout.hpp"
#include "sweep/choice.hpp"
#include "sweep/gains.hpp"
#include "sweep/learning_front.hpp"
#include "sweep/run_sweep.hpp"
#include "sweep/scaling.hpp"
#include "units/text.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <optional>

namespace trainyard {
namespace {

constexpr std::size_t most_listed = 24;

/// The width of each column of lines with equally many cells.
std::vector<std::size_t> widths_of(const std::vector<std::vector<std::string>>& lines) {
  std::vector<std::size_t> widths(lines.front().size());
  for (const std::vector<std::string>& line : lines) {
    for (std::size_t i = 0; i < line.size(); ++i) widths[i] = std::max(widths[i], columns(line[i]));
  }
  return widths;
}

std::string right_aligned(const std::string& cell, std::size_t width) {
  return std::string(2 + width - columns(cell), ' ') + cell;
}

/// Right-aligned cells under their heads; a failed row has the number of its reason, below, after its keys.
std::string table(const SweepResult& result, const std::vector<const SweepRow*>& rows) {
  const SweepColumns shown(result);
  const std::vector<std::string> heads = shown.heads();
  std::vector<std::vector<std::string>> lines{heads};
  for (const SweepRow* row : rows) lines.push_back(shown.cells(*row));
  const std::vector<std::size_t> widths = widths_of(lines);
  std::string text;
  std::vector<std::string> reasons;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const SweepRow* const row = i == 0 ? nullptr : rows[i - 1];
    const bool has_failed = row != nullptr && row->status != PointStatus::done;
    const std::size_t cells = has_failed ? result.sweep.keys.size() : lines[i].size();
    for (std::size_t k = 0; k < cells; ++k) text += right_aligned(lines[i][k], widths[k]);
    if (has_failed) {
      const auto known = std::ranges::find(reasons, row->reason);
      text += fmt::format("  {} [{}]", name_of(row->status), known - reasons.begin() + 1);
      if (known == reasons.end()) reasons.push_back(row->reason);
    }
    text += '\n';
  }
  if (!reasons.empty()) text += '\n';
  for (std::size_t i = 0; i < reasons.size(); ++i) text += hanging(fmt::format("  [{}] ", i + 1), reasons[i]);
  return text;
}

/// The figure on the left, other cells right-aligned under their heads; sources below, by number.
std::string published_text(const SweepResult& result) {
  const PublishedTable published = published_table(result);
  if (published.rows.empty()) return {};
  std::vector<std::vector<std::string>> lines{published.heads};
  lines.insert(lines.end(), published.rows.begin(), published.rows.end());
  const std::vector<std::size_t> widths = widths_of(lines);
  std::string text = "\npredicted and published\n";
  for (const std::vector<std::string>& line : lines) {
    text += "  " + line.front() + std::string(widths.front() - columns(line.front()), ' ');
    for (std::size_t k = 1; k < line.size(); ++k) text += right_aligned(line[k], widths[k]);
    text += '\n';
  }
  for (std::size_t i = 0; i < published.sources.size(); ++i)
    text += hanging(fmt::format("  [{}] ", i + 1), published.sources[i]);
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
  if (choice.pareto.empty()) {
    out.paragraph("no point is within these limits", 2);
    return;
  }
  for (const auto& [label, row] : best_rows(choice)) {
    out.text_row(label, fmt::format("{}: {}", point_in_words(result.sweep, result.rows[row].point),
                                    needs_in_words(result, needs[row])));
  }
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
  out.heading("where scaling stops", scaling_rule_in_words(result.sweep));
  const std::vector<std::optional<double>> reached = efficiencies(result);
  std::size_t listed = 0;
  for (const Series& series : all) {
    if (++listed > most_listed) {
      out.paragraph(fmt::format("and {} more series", all.size() - most_listed), 2);
      break;
    }
    const std::string text = scaling_in_words(result, series, reached);
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

}  // namespace

std::string sweep_text(const SweepResult& result, std::size_t most_rows, bool colour) {
  std::vector<const SweepRow*> rows;
  const std::vector<Needs> needs = needs_of(result);
  const Choice choice = choose(result, needs);
  const bool is_cut = result.rows.size() > most_rows;
  for (std::size_t i = 0; i < result.rows.size(); ++i) {
    const bool is_best = std::ranges::find(choice.pareto, i) != choice.pareto.end();
    if (!is_cut || (is_best && rows.size() < most_rows)) rows.push_back(&result.rows[i]);
  }
  Page out(colour);
  const bool is_whole = result.rows.size() == result.sweep.points.size();
  out.line(fmt::format("{}: {}{}{}{}", result.sweep.name,
                       is_whole ? "" : grouped(static_cast<std::int64_t>(result.rows.size())) + " of ",
                       count(static_cast<std::int64_t>(result.sweep.points.size()), "point"),
                       failures(result) > 0 ? fmt::format(", {} failed", failures(result)) : "",
                       result.sweep.title.empty() ? "" : "; " + result.sweep.title));
  if (const std::string words = one_gpu_in_words(result); !words.empty()) out.paragraph(words, 2);
  std::string text = out.text() + '\n';
  if (is_cut) {
    text += rows.empty() ? "sweep.csv has all points\n"
                         : fmt::format("only points on the Pareto front of {}; sweep.csv has all points\n",
                                       needs_compared(needs));
  }
  if (!rows.empty()) text += table(result, rows);
  text += published_text(result);
  Page below(colour);
  for (const std::string& words : {above_peak_in_words(result), expected_errors_in_words(result)}) {
    if (words.empty()) continue;
    below.line("");
    below.paragraph(words, 0);
  }
  write_scaling(below, result);
  write_gains(below, result);
  if (is_whole) write_learning_front(below, result);
  if (is_whole) write_choice(below, result);  // a choice needs all points
  return text + below.text();
}

std::string sweep_line(const SweepResult& result, const SweepRow& row) {
  std::string text = point_in_words(result.sweep, row.point) + ": ";
  if (row.status != PointStatus::done) return text + reason_in_words(row);
  const auto value = [&](const char* name) { return figure(result, row, name).value(); };
  return text + fmt::format("{}, {} samples/s, {} efficiency{}", estimate(Seconds(value("step_time_s"))),
                            rounded(value("throughput_samples_per_s")), percent(value("scaling_efficiency")),
                            is_strong_scaling(result.sweep) ? " relative to one GPU with this batch" : "");
}

}  // namespace trainyard
