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

doc::Table path_table(bool has_layout) {
  return {
      .key = "critical_path",
      .title = "critical path",
      .columns = {{.head = "critical path", .layout = text_column(14)},
                  {.key = "what",
                   .head = has_layout ? "summed by stage" : "",
                   .layout = text_column(what_width).wraps(18),
                   .most = what_width},
                  {.head = has_layout ? "first" : "start", .layout = number_column(9).drops(1)},
                  {.head = "length", .layout = number_column(9)},
                  {.head = "share", .layout = number_column(7)},
                  {.head = "kernels or limit", .layout = text_column().wraps(12).drops(2), .is_apart = true}},
      .shape = {.indent = 2, .gap = 1, .head_hangs = true, .elsewhere = "--json"},
      .is_heading = true};
}

void add_path_line(doc::Table& table, const std::string& kind, const std::string& what, doc::Value start,
                   doc::Value length, doc::Value share, const std::string& limit) {
  table.rows.push_back({.cells = {kind, what, std::move(start), std::move(length), std::move(share), limit}});
}

/// A segment's start, length and share of the step.
void add_segment(doc::Table& table, const Run& run, const PathSegment& segment, const std::string& kind,
                 const std::string& what, const std::string& limit) {
  const double share = segment.length / run.pace.time;
  add_path_line(table, kind, what, {human_like(segment.start, run.pace.time), segment.start},
                {human_like(segment.length, run.pace.time), segment.length}, {percent(share), share}, limit);
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

void add_stage_segment(doc::Table& table, const Run& run, const PathSegment& segment,
                       const CollectivePace* pace) {
  std::string kind(config::name_of(segment.kind));
  if (segment.kind == PathKind::collective)
    kind = config::name_of(step_of(run).collectives.at(at(segment.collective)).operation);
  std::string limit = segment.ops > 0 && segment.kind != PathKind::host ? count(segment.ops, "kernel") : "";
  if (pace != nullptr) limit = short_limit(*pace);
  add_segment(table, run, segment, kind, tasks_of_stage(segment), elide(limit, limit_width));
}

void add_rank_segment(doc::Table& table, const Run& run, const Explanation& why, const PathSegment& segment,
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
  add_segment(table, run, segment, kind, what, limit);
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

void add_path(doc::Document& page, const Run& run, const Explanation& why) {
  const bool has_layout = run.experiment.layout.has_value();
  doc::Section& section = page.section("path", "critical path");
  section.is_untitled_in_text = true;
  doc::Table table = path_table(has_layout);
  const std::vector<PathSegment>& path = why.path;
  const std::vector<bool> is_shown = shown_segments(path);
  std::size_t collectives = 0;
  Seconds shorter;
  for (std::size_t i = 0; i < path.size(); ++i) {
    const CollectivePace* pace = is_communication(path[i].kind) ? &why.paces.at(collectives++) : nullptr;
    if (!is_shown[i])
      shorter += path[i].length;
    else if (has_layout)
      add_stage_segment(table, run, path[i], pace);
    else
      add_rank_segment(table, run, why, path[i], pace);
  }
  if (path.size() > most_shown_segments) {
    const double share = shorter / run.pace.time;
    add_path_line(table, "others",
                  fmt::format("{} shorter segments (--json)", path.size() - most_shown_segments + 1), {},
                  {human_like(shorter, run.pace.time), shorter}, {percent(share), share}, "");
  }
  add_path_line(table, "step time", "sum", {}, {human_like(run.pace.time, run.pace.time), run.pace.time}, {},
                "");
  section.add(std::move(table));
  if (std::ranges::any_of(why.paces, &CollectivePace::is_assumed))
    section.add(doc::Sentence{"* rests on an assumed rate of the platform (trainyard topology shows why)"});
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

void add_gap(doc::Document& page, const Run& run, const Explanation& why) {
  doc::Section& section = page.section("bound", "lower bound and the time above it",
                                       "each line adds one condition of the real step");
  Seconds sum;
  const auto total = [&](const char* label, const char* text) {
    section.add(doc::Fact{{}, label, doc::Value(human_like(sum, run.pace.time), sum), text, true});
  };
  for (const GapTime& gap : why.gap) {
    if (gap.part == first_above_bound) total("lower bound", "no algorithm on this network is faster");
    sum += gap.time;
    if (gap.time == Seconds{}) continue;
    const std::string time = human_like(gap.time, run.pace.time);
    section.add(doc::Fact{std::string(config::name_of(gap.part)), std::string(gap_label(gap.part)),
                          doc::Value(gap.part == GapPart::kernels ? time : with_sign(time), gap.time),
                          how_obtained(run, gap.part)});
  }
  total("step time", "sum");
}

void add_update_parts(doc::Document& page, const Run& run) {
  doc::Section& section =
      page.section("where", "where the time goes", "mean over the ranks, share of an update");
  for (const PartTime& part : step_parts(run).parts) {
    if (part.time == Seconds{}) continue;
    section.add(
        doc::Fact{{},
                  std::string(config::name_of(part.part)),
                  doc::Value(human_like(part.time, run.pace.time), part.time),
                  fmt::format("{} {}", percent(part.time / run.pace.time), activity_in_words(part.part))});
  }
}

/// The throughput with its expected error, and the cause of the step time in a sentence.
void add_cause(doc::Document& page, const ExplainedRun& explained) {
  const Run& run = explained.run;
  doc::Section& rate = page.section("rate", "throughput");
  rate.is_untitled_in_text = true;
  if (run.expected_error) {
    rate.add(doc::Fact{"throughput_samples_per_s", "throughput",
                       doc::Value(rounded(run.pace.throughput) + " samples/s", run.pace.throughput),
                       fmt::format("expected error {}: {}", error_range(*run.expected_error),
                                   expected_error_in_words(*run.expected_error))});
    if (run.assumed) rate.fact("assumed inputs", assumed_in_words(run));
  }
  doc::Section& cause = page.section("cause", "why it takes as long");
  cause.is_untitled_in_text = true;
  cause.add(doc::Sentence{
      .text = explained.explanation ? path_in_words(run, *explained.explanation) : updates_in_words(run),
      .indent = 0});
  if (!differs_from_saved(explained)) return;
  cause.add(doc::Sentence{
      .text = fmt::format("The step time in the saved summary.json is {}, but this simulation gives {}. "
                          "Another version of trainyard wrote it, or the input files have changed.",
                          human(*explained.saved_step_time), human(run.pace.time)),
      .indent = 0});
}

}  // namespace

doc::Document explanation_document(const ExplainedRun& explained) {
  const Run& run = explained.run;
  doc::Document page = titled_document(run);
  add_cause(page, explained);
  if (explained.explanation) {
    add_path(page, run, *explained.explanation);
    if (has_bubbles(run.experiment) && step_of(run).classes.size() > 1)
      page.section("stages", run.experiment.layout ? "stages" : "classes of ranks",
                   "the step along the first rank of each")
          .add(stage_table(run));
    add_gap(page, run, *explained.explanation);
  } else {
    add_update_parts(page, run);
  }
  add_changes(page, run, explained.changes, explained.arguments);
  if (!run.notes.empty()) {
    doc::Section& notes = page.section("notes", "notes");
    for (const std::string& note : run.notes) notes.add(doc::Sentence{note});
  }
  doc::Section& help = page.section("answer", "in short");
  help.is_untitled_in_text = help.is_answer = true;
  help.add(doc::Sentence{.text = help_in_words(run, explained.changes), .is_main = true, .indent = 0});
  return page;
}

}  // namespace trainyard
