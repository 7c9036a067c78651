#include "document/page.hpp"
#include "report/expected_error.hpp"
#include "report/explanation.hpp"
#include "report/input_ranges.hpp"
#include "report/layout_summary.hpp"
#include "report/run_words.hpp"
#include "run/layout_parts.hpp"
#include "run/step_parts.hpp"
#include "units/ids.hpp"
#include "units/text.hpp"
#include "units/text_layout.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <functional>
#include <numeric>
#include <string_view>
#include <vector>

namespace trainyard {

namespace {

/// If a path has more segments, only the longest are shown.
constexpr std::size_t most_shown_segments = 24;
constexpr std::size_t what_width = 34;
constexpr std::size_t limit_width = 21;
/// At least this number of collectives, the longest, are shown even if they are short compared with kernels.
constexpr std::size_t most_sure_collectives = 6;

Table path_table() {
  return Table({text_column(14), text_column(what_width).wraps(18), number_column(9).drops(1),
                number_column(9), number_column(7), text_column().wraps(12).drops(2)},
               {.indent = 2, .gap = 1, .head_hangs = true, .elsewhere = "--json"});
}

/// One more blank before the last column, which is of text.
void add_path_line(Table& table, std::string_view kind, std::string_view what, std::string_view start,
                   std::string_view length, std::string_view share, std::string_view limit) {
  table.row(kind, elide(what, what_width), start, length, share,
            limit.empty() ? std::string() : ' ' + std::string(limit));
}

/// Cuts off the end of a wider name: names of layers differ at their beginning.
std::string cut(std::string name, std::size_t width) {
  constexpr std::string_view dots = "...";
  if (columns(name) <= width) return name;
  while (columns(name) > width - dots.size()) name.pop_back();
  return name.append(dots);
}

/// "layer1.0.conv1 to layer1.2.add".
std::string layers_of(const PathSegment& segment) {
  const std::string first = layer_shown(segment.first);
  const std::string last = layer_shown(segment.last);
  if (first == last) return cut(first, what_width);
  constexpr std::string_view to = " to ";
  constexpr std::size_t both = what_width - to.size();
  // a name that needs less than half leaves the rest to the other
  const auto beside = [](const std::string& other) { return both - std::min(columns(other), both / 2); };
  return fmt::format("{}{}{}", cut(first, beside(last)), to, cut(last, beside(first)));
}

/// "stage 3, 96 passes": what a segment stands for if the ranks share a model.
std::string tasks_of_stage(const PathSegment& segment) {
  std::string text = segment.what;
  if (segment.passes > 0)
    text += fmt::format(", {} {}", grouped(segment.passes), segment.passes == 1 ? "pass" : "passes");
  if (segment.collective < 0) return text;
  if (segment.kind == PathKind::messages) return text + ", " + count(segment.times, "message");
  return text + ", " + count(segment.times, "collective");
}

/// The limit of a collective, for a column of the table.
std::string short_limit(const CollectivePace& pace) {
  if (is_held_by_sums(pace)) return "sums by one thread";
  const std::string mark = pace.is_assumed ? "*" : "";
  return (pace.is_connection ? fmt::format("connection {}", estimate(pace.edge)) : pace.link) + mark;
}

void write_stage_segment(Table& table, const Run& run, const PathSegment& segment,
                         const CollectivePace* pace) {
  std::string kind(config::name_of(segment.kind));
  if (segment.kind == PathKind::collective)
    kind = config::name_of(step_of(run).collectives.at(at(segment.collective)).operation);
  std::string limit = segment.ops > 0 && segment.kind != PathKind::host ? count(segment.ops, "kernel") : "";
  if (pace != nullptr) limit = short_limit(*pace);
  add_path_line(table, kind, tasks_of_stage(segment), human_like(segment.start, run.pace.time),
                human_like(segment.length, run.pace.time), percent(segment.length / run.pace.time),
                elide(limit, limit_width));
}

void write_segment(Table& table, const Run& run, const Explanation& why, const PathSegment& segment,
                   const CollectivePace* pace) {
  std::string kind(config::name_of(segment.kind));
  std::string what = layers_of(segment);
  std::string limit = segment.ops > 0 ? count(segment.ops, "kernel") : "";
  if (segment.kind == PathKind::host) limit.clear();
  if (segment.collective >= 0) {
    const CollectiveRow& row = step_of(run).collectives.at(static_cast<std::size_t>(segment.collective));
    what = row.name;
    if (segment.kind == PathKind::framework) what = fmt::format("{} of {}", segment.what, row.name);
    if (pace != nullptr) {
      kind = config::name_of(row.operation);
      what = fmt::format("{}, {}, {} {}", row.name, human(row.size), row.algorithm, row.protocol);
      limit = short_limit(*pace);
    }
  }
  if (segment.kind == PathKind::input) {
    what = "data loading";
    limit = segment.what;
  }
  limit = elide(limit, limit_width);
  if (segment.kind != PathKind::input && why.path.back().rank != segment.rank)
    limit += fmt::format(" rank {}", index(segment.rank));
  add_path_line(table, kind, what, human_like(segment.start, run.pace.time),
                human_like(segment.length, run.pace.time), percent(segment.length / run.pace.time), limit);
}

/// The segments with a line of their own: the longest, always including the optimizer's and the longest
/// collectives.
std::vector<bool> shown_segments(const std::vector<PathSegment>& path) {
  std::vector<bool> is_shown(path.size(), path.size() <= most_shown_segments);
  if (path.size() <= most_shown_segments) return is_shown;
  std::vector<std::size_t> order(path.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, std::greater{}, [&](std::size_t i) { return path[i].length; });
  std::size_t left = most_shown_segments - 1;
  const auto show = [&](std::size_t most, const auto& is_wanted) {
    for (const std::size_t i : order) {
      if (most == 0 || left == 0) return;
      if (is_shown[i] || !is_wanted(path[i].kind)) continue;
      is_shown[i] = true;
      --most;
      --left;
    }
  };
  show(1, [](PathKind kind) { return kind == PathKind::optimizer; });
  show(most_sure_collectives, [](PathKind kind) { return kind == PathKind::collective; });
  show(left, [](PathKind) { return true; });
  return is_shown;
}

void write_path(Page& out, const Run& run, const Explanation& why) {
  const bool has_layout = run.experiment.layout.has_value();
  Table table = path_table();
  add_path_line(table, "critical path", has_layout ? "summed by stage" : "", has_layout ? "first" : "start",
                "length", "share", "kernels or limit");
  const std::vector<PathSegment>& path = why.path;
  const std::vector<bool> is_shown = shown_segments(path);
  std::size_t collectives = 0;
  Seconds shorter;
  for (std::size_t i = 0; i < path.size(); ++i) {
    const CollectivePace* pace = is_communication(path[i].kind) ? &why.paces.at(collectives++) : nullptr;
    if (!is_shown[i])
      shorter += path[i].length;
    else if (has_layout)
      write_stage_segment(table, run, path[i], pace);
    else
      write_segment(table, run, why, path[i], pace);
  }
  if (path.size() > most_shown_segments) {
    add_path_line(table, "others",
                  fmt::format("{} shorter segments (--json)", path.size() - most_shown_segments + 1), "",
                  human_like(shorter, run.pace.time), percent(shorter / run.pace.time), "");
  }
  add_path_line(table, "step time", "sum", "", human_like(run.pace.time, run.pace.time), "", "");
  out.headed_table(table);
  if (std::ranges::any_of(why.paces, &CollectivePace::is_assumed))
    out.paragraph("* rests on an assumed rate of the platform (trainyard topology shows why)", 2);
}

std::string_view gap_label(GapPart part) {
  switch (part) {
    case GapPart::bound:
      return "unavoidable";
    case GapPart::host:
      return "waits for host";
    case GapPart::slowest_gpu:
      return "slowest GPU";
    case GapPart::kernel_slowdown:
      return "kernel slowdown";
    default:
      return config::name_of(part);
  }
}

void write_gap(Page& out, const Run& run, const Explanation& why) {
  out.heading("lower bound and the time above it", "each line adds one condition of the real step");
  Seconds sum;
  const auto total = [&](std::string_view label, std::string_view text) {
    out.row(label, human_like(sum, run.pace.time), text, true);
  };
  for (const GapTime& gap : why.gap) {
    if (gap.part == first_above_bound) total("lower bound", "no algorithm on this network is faster");
    sum += gap.time;
    if (gap.time == Seconds{}) continue;
    const std::string time = human_like(gap.time, run.pace.time);
    out.row(gap_label(gap.part), gap.part == GapPart::kernels ? time : with_sign(time),
            how_obtained(run, gap.part));
  }
  total("step time", "sum");
}

void write_updates_parts(Page& out, const Run& run) {
  out.heading("where the time goes", "mean over the ranks, share of an update");
  for (const PartTime& part : step_parts(run).parts) {
    if (part.time == Seconds{}) continue;
    out.row(config::name_of(part.part), human_like(part.time, run.pace.time),
            fmt::format("{} {}", percent(part.time / run.pace.time), activity_in_words(part.part)));
  }
}

void add_help_line(Table& table, std::string_view change, std::string_view step, std::string_view rate,
                   std::string_view gain, std::string_view how) {
  table.row(elide(change, 30), step, rate, gain, how.empty() ? std::string() : ' ' + std::string(how));
}

void write_help(Page& out, const ExplainedRun& explained) {
  Table table({text_column(30).wraps(16), number_column(9).drops(1), number_column(9), number_column(9),
               text_column().drops(-1)},
              {.indent = 2, .gap = 1, .head_hangs = true, .elsewhere = "--json"});
  add_help_line(table, "changes that help", "step", "samples/s", "gain", "simulated with --set");
  const Run& run = explained.run;
  add_help_line(table, "unchanged", human_like(run.pace.time, run.pace.time), rounded(run.pace.throughput),
                "", "");
  std::vector<const WhatIfRow*> refused;
  std::vector<const WhatIfRow*> remarks;
  for (const WhatIfRow& row : explained.changes) {
    if (!row.throughput) {
      refused.push_back(&row);
      continue;
    }
    for (std::size_t i = 0; i < row.what.set.size(); ++i) {
      const std::string key = set_argument(row.what.set[i]);
      if (i == 0)
        add_help_line(table, in_device_words(run.experiment.platform, row.what.change),
                      human_like(*row.step_time, run.pace.time), rounded(*row.throughput),
                      signed_percent(*gain(run, row)), key);
      else
        add_help_line(table, "", "", "", "", key);
    }
    if (!row.what.remark.empty()) remarks.push_back(&row);
  }
  out.headed_table(table);
  for (const WhatIfRow* row : remarks)
    out.paragraph(fmt::format("{}: {}", row->what.change, row->what.remark), 2);
  out.command("  repeat a change: ", fmt::format("trainyard run {} --set KEY=VALUE", explained.arguments));
  if (refused.empty()) return;
  out.heading("not tried");
  for (const WhatIfRow* row : refused)
    out.paragraph(fmt::format("{}: {}", row->what.change, row->what.reason), 2);
}

}  // namespace

std::string explanation_page(const ExplainedRun& explained, const PrintStyle& style) {
  const Run& run = explained.run;
  Page out(style, device_words(run.experiment.platform));
  write_title(out, run);
  out.line("");
  if (run.expected_error) {
    out.row("throughput", rounded(run.pace.throughput) + " samples/s",
            fmt::format("expected error {}: {}", error_range(*run.expected_error),
                        expected_error_in_words(*run.expected_error)));
    if (run.assumed) out.text_row("assumed inputs", assumed_in_words(run));
    out.line("");
  }
  out.paragraph(explained.explanation ? path_in_words(run, *explained.explanation) : updates_in_words(run),
                0);
  if (differs_from_saved(explained)) {
    out.paragraph(fmt::format("The step time in the saved summary.json is {}, but this simulation gives {}. "
                              "Another version of trainyard wrote it, or the input files have changed.",
                              human(*explained.saved_step_time), human(run.pace.time)),
                  0);
  }
  if (explained.explanation) {
    write_path(out, run, *explained.explanation);
    if (has_bubbles(run.experiment) && step_of(run).classes.size() > 1) {
      out.heading(run.experiment.layout ? "stages" : "classes of ranks",
                  "the step along the first rank of each");
      write_stage_table(out, run);
    }
    write_gap(out, run, *explained.explanation);
  } else {
    write_updates_parts(out, run);
  }
  write_help(out, explained);
  if (!run.notes.empty()) out.heading("notes");
  for (const std::string& note : run.notes) out.paragraph(note, 2);
  out.line("");
  out.paragraph(help_in_words(explained), 0);
  return out.text();
}

}  // namespace trainyard
