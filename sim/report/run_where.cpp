#include "report/layout_summary.hpp"
#include "report/limits.hpp"
#include "report/part_fill.hpp"
#include "report/run_page.hpp"
#include "report/run_words.hpp"
#include "report/table_columns.hpp"
#include "report/timeline_chart.hpp"
#include "run/layout_parts.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <functional>
#include <map>
#include <vector>

namespace trainyard {

namespace {

/// Smaller shares round to 0.0 %.
constexpr double least_shown = 5e-4;

StepPart part_of(Phase phase) {
  switch (phase) {
    case Phase::forward:
      return StepPart::forward;
    case Phase::backward:
      return StepPart::backward;
    default:
      return StepPart::optimizer;
  }
}

/// The parts of the step of a class of ranks.
void add_parts(doc::Document& page, const Run& run, const ClassStep& one) {
  const bool is_first = &one == &step_of(run).classes.front();
  doc::Section& section =
      page.section(is_first ? "where" : fmt::format("where-{}", index(one.first)), "where the time goes",
                   rank_in_words(run, one) + ", share of the step");
  const auto add = [&](std::string_view label, Seconds time, StepPart part) {
    section.add(share_of_step(run, label, time, fill_of(part), meaning_of(part)));
  };
  std::map<Phase, Seconds> phases;
  for (const OpRow& row : one.ops) phases[row.phase] += row.duration;
  for (const auto& [phase, time] : phases) add(config::name_of(phase), time, part_of(phase));
  if (one.launch_waits > least_shown * run.pace.time) add("waits for host", one.launch_waits, StepPart::host);
  if (run.input && run.input->loading.kernels > Seconds{})
    add("decoding", run.input->loading.kernels, StepPart::decoding);
  if (run.input && run.input->exposed > Seconds{}) add("exposed input", run.input->exposed, StepPart::input);
  if (run.ranks == 1) return;
  if (one.slowed > least_shown * run.pace.time) add("kernel slowdown", one.slowed, StepPart::kernel_slowdown);
  section.add(share_of_step(run, "exposed comm.", one.exposed, "communication",
                            "collectives, and work of the framework around them, while no kernel runs"));
  const double hidden = one.communication > Seconds{} ? hidden_communication(one) / one.communication : 0;
  section.add(doc::Fact{
      "communication_time_s",
      "communication",
      {estimate(one.communication), one.communication},
      fmt::format("in total, {} of it overlaps with compute; {}", percent(hidden),
                  count(static_cast<std::int64_t>(step_of(run).collectives.size()), "collective"))});
}

struct KernelKind {
  OpKind kind{};
  Seconds time;  ///< sum of the times of each alone
  int kernels = 0;
};

/// The kinds of a class's ops, the longest first.
std::vector<KernelKind> kernel_kinds(const ClassStep& one) {
  std::map<OpKind, KernelKind> by_kind;
  for (const OpRow& row : one.ops) {
    KernelKind& kind = by_kind[row.kind];
    kind.kind = row.kind;
    kind.time += row.runs * row.duration;
    kind.kernels += row.runs;
  }
  std::vector<KernelKind> kinds;
  for (const auto& [name, kind] : by_kind) kinds.push_back(kind);
  std::ranges::stable_sort(kinds, std::greater{}, &KernelKind::time);
  return kinds;
}

/// Kernels by kind: the largest shares in a line, and for a browser all of them.
void add_kinds(doc::Section& section, const Run& run, const ClassStep& one) {
  const std::vector<KernelKind> kinds = kernel_kinds(one);
  Seconds sum;
  for (const KernelKind& kind : kinds) sum += kind.time;
  if (sum.si() <= 0) return;
  std::string text;
  Seconds rest = sum;
  for (const auto& [kind, time, kernels] : kinds) {
    if (time / sum < 0.01) break;
    rest -= time;
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", config::name_of(kind), percent(time / sum));
  }
  if (rest / sum > 1e-9) text += ", others " + percent(rest / sum);
  const std::string ranks =
      updates_of(run) && step_of(run).classes.size() > 1 ? " on " + rank_in_words(run, one) : std::string();
  section.fact("kernels", fmt::format("{} in total{}: {}", estimate(sum), ranks, text));
  doc::Table table{.key = "kinds", .title = "kernels by kind", .shown = doc::Shown::browser};
  add_column(table, "kind of kernel", kinds, [](const auto& kind) { return config::name_of(kind.kind); });
  add_column(table, "", kinds,
             [&](const auto& kind) { return bar_cell("compute", "share", kind.time / sum); });
  add_column(table, "time", kinds, [](const auto& kind) { return kind.time; });
  add_column(table, "share", kinds, [&](const auto& kind) { return Percent{kind.time / sum}; });
  add_column(table, "kernels", kinds, [](const auto& kind) { return kind.kernels; });
  section.add(std::move(table));
}

void add_letters(doc::Document& page, const Run& run, const ClassStep& one) {
  doc::Section& section =
      page.section("letters", "timeline of " + rank_in_words(run, one),
                   fmt::format("f forward, b backward, o optimizer,{} . waiting; = communication",
                               run.input && run.input->loading.kernels > Seconds{} ? " d decoding," : ""));
  section.shown = doc::Shown::text;
  doc::Letters& letters =
      section.add(doc::Letters{.key = one.name, .lines = {}, .end = estimate(run.pace.time)});
  letters.lines.push_back(
      {"compute", "compute", [&run, &one](int width) { return timeline_chart(run, one, width).compute; }});
  if (run.ranks > 1)
    letters.lines.push_back({"communication", "communication", [&run, &one](int width) {
                               return timeline_chart(run, one, width).communication;
                             }});
}

}  // namespace

void add_where(doc::Document& page, const Run& run) {
  const std::vector<ClassStep>& classes = step_of(run).classes;
  if (updates_of(run)) {
    add_activities(page, run);
    for (const ClassStep& one : classes) add_kinds(page.sections.back(), run, one);
  } else if (has_bubbles(run.experiment)) {
    add_stages(page, run);
    add_kinds(page.sections.back(), run, slowest_class(step_of(run)));
    add_stage_letters(page, run);
  } else {
    for (const ClassStep& one : classes) {
      add_parts(page, run, one);
      add_kinds(page.sections.back(), run, one);
      add_letters(page, run, one);
    }
  }
}

}  // namespace trainyard
