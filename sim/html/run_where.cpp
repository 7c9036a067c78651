#include "document/fluid_plot.hpp"
#include "html/run_sections.hpp"
#include "report/kernel_kinds.hpp"
#include "report/layout_summary.hpp"
#include "report/limits.hpp"
#include "report/part_fill.hpp"
#include "report/run_words.hpp"
#include "run/layout_parts.hpp"
#include "run/step_parts.hpp"
#include "units/text.hpp"
#include "units/text_layout.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <fmt/format.h>
#include <functional>
#include <optional>

namespace trainyard {

namespace {

/// " of stage 1" where there are several classes of ranks.
std::string of_class(const Run& run, const ClassStep& one) {
  return step_of(run).classes.size() > 1 ? " of " + one.name : std::string();
}

using PartsDocs = config::Names<StepPart>;

/// A part's name, its fill in charts, and its definition.
struct PartWords {
  std::string name, kind;
  std::string_view what;
};

PartWords words_of(StepPart part, bool is_training) {
  const auto entry = std::ranges::find(PartsDocs::table, part, [](const auto& one) { return one.value; });
  PartWords words{.name = std::string(entry->text), .kind = fill_of(part), .what = entry->doc};
  std::ranges::replace(words.name, '_', ' ');
  if (part == StepPart::communication && is_training)
    words.what = "gradients or parameters are sent and nothing is computed";
  else if (part == StepPart::communication)
    words.name = "exposed collectives";
  if (part == StepPart::compute) words.what = "useful computing";
  if (part == StepPart::input) words.what = "GPUs wait for samples";
  return words;
}

/// If the ranks share a model: collectives of layers look as collectives do elsewhere.
PartWords words_in_layout(StepPart part) {
  PartWords words = words_of(part, false);
  if (part == StepPart::layers) words.name = "exposed tensor-parallel collectives";
  if (part == StepPart::messages) words.name = "exposed stage messages";
  if (part == StepPart::communication) {
    words.kind = "input";
    words.name = "exposed data-parallel collectives";
    words.what = "collectives of gradients and parameters while no kernel runs";
  }
  return words;
}

struct PartsOfStep {
  Html bar, table;
};

PartsOfStep parts_of_step(const Run& run, const StepParts& split) {
  std::vector<BarPart> bar;
  HtmlTable table("parts of the step time", {{"part", true}, {"time"}, {"share"}, {"meaning", true}});
  Seconds sum;
  constexpr double rounding = 1e-9;  // of the step: smaller parts are rounding errors of sums
  for (const PartTime& part : split.parts) {
    if (std::abs(part.time.si()) <= rounding * run.pace.time.si()) continue;
    const PartWords words = has_bubbles(run.experiment) ? words_in_layout(part.part)
                                                        : words_of(part.part, (updates_of(run) != nullptr));
    const double share = part.time / run.pace.time;
    bar.push_back(
        {words.kind, words.name, share, fmt::format("{}, {}", estimate(part.time), percent(share))});
    table.row(swatch(words.kind) + as_text(" " + words.name), part.time, percent(share), words.what);
    sum += part.time;
  }
  table.row("sum", sum, percent(sum / run.pace.time),
            updates_of(run) ? "the time of an update" : "the step time");
  return {.bar = stacked_bar("parts of the step time", bar), .table = table.html()};
}

Html kinds_html(const Run& run, const ClassStep& one) {
  const std::vector<KernelKind> kinds = kernel_kinds(one);
  const Seconds sum = sum_of(kinds);
  if (sum.si() <= 0) return {};
  HtmlTable table("kernels by kind",
                  {{"kind of kernel", true}, {"", true}, {"time"}, {"share"}, {"kernels"}});
  for (const auto& [kind, time, kernels] : kinds) {
    table.row(config::name_of(kind), share_bar("compute", time / sum), time, percent(time / sum),
              grouped(kernels));
  }
  return subheading("Kernels by kind" + of_class(run, one)) + table.html();
}

Html exposed_html(const Run& run, const ClassStep& one_class, const StepParts& split) {
  if (split.collectives.empty()) return {};
  HtmlTable table("exposed collectives",
                  {{"collective", true}, {"operation", true}, {"exposed"}, {"of the step"}, {"takes"}});
  std::vector<ExposedCollective> longest = split.collectives;
  std::ranges::stable_sort(longest, std::greater{}, &ExposedCollective::exposed);
  for (const ExposedCollective& one : longest) {
    const CollectiveRow& row = step_of(run).collectives[at(one.collective)];
    table.row(row.name, config::name_of(row.operation), one.exposed, percent(one.exposed / run.pace.time),
              row.end - row.start);
  }
  return subheading("Exposed collectives" + of_class(run, one_class)) +
         paragraph(fmt::format("Time in which {} waits for a collective and computes nothing.",
                               rank_in_words(run, one_class))) +
         table.html();
}

/// The parts of every stage's step as shares.
Html stages_html(const Run& run) {
  const std::vector<ClassStep>& classes = step_of(run).classes;
  if (classes.size() == 1) return {};
  std::vector<StepParts> stages;
  for (const ClassStep& one : classes) stages.push_back(step_parts(run, one));
  constexpr double least = 5e-4;
  std::vector<std::size_t> shown;
  std::vector<HtmlColumn> columns{{"stage", true}, {"ranks"}};
  for (std::size_t part = 0; part < stages.front().parts.size(); ++part) {
    const auto matters = [&](const StepParts& one) { return one.parts[part].time > least * run.pace.time; };
    if (std::ranges::none_of(stages, matters)) continue;
    shown.push_back(part);
    columns.push_back({words_in_layout(stages.front().parts[part].part).name});
  }
  HtmlTable table("parts of the step time by stage", columns);
  for (std::size_t i = 0; i < classes.size(); ++i) {
    std::vector<std::string> cells{
        classes[i].name, grouped(static_cast<std::int64_t>(run.experiment.classes[i].ranks.size()))};
    for (const std::size_t part : shown) cells.push_back(percent(stages[i].parts[part].time / run.pace.time));
    table.row(cells);
  }
  return subheading("Parts of the step time by stage") +
         paragraph("Shares of the step along the compute stream of each stage's first rank.") +
         table.html(classes.size() > 20);
}

/// The step of ranks that share a model: the stage that ends last, and all stages.
Html layout_html(const Run& run) {
  const ClassStep& last = slowest_class(step_of(run));
  const StepParts split = step_parts(run, last);
  const PartsOfStep parts = parts_of_step(run, split);
  return paragraph(
             fmt::format("Layout: {}. The step time, split into parts along the compute stream of {}, which "
                         "ends last.",
                         layout_in_words(run), rank_in_words(run, last))) +
         parts.bar + in_columns({parts.table, exposed_html(run, last, split) + kinds_html(run, last)}) +
         stages_html(run);
}

/// The step of one class of ranks.
Html class_html(const Run& run, const ClassStep& one) {
  const StepParts split = step_parts(run, one);
  Html html = paragraph(fmt::format("The step time, split into parts along the compute stream of {}.",
                                    rank_in_words(run, one)));
  const PartsOfStep parts = parts_of_step(run, split);
  html += parts.bar;
  Html overlap;
  if (run.ranks > 1 && one.communication > Seconds{}) {
    overlap = paragraph(fmt::format("Communication takes {} in total; {} of it is hidden by compute.",
                                    estimate(one.communication),
                                    percent(hidden_communication(one) / one.communication)));
  }
  return html + in_columns({parts.table + overlap + exposed_html(run, one, split), kinds_html(run, one)});
}

}  // namespace

Html where_html(const Run& run) {
  Html html;
  if (updates_of(run)) {
    const PartsOfStep parts = parts_of_step(run, step_parts(run));
    std::vector<Html> blocks{parts.table};
    for (const ClassStep& one : step_of(run).classes) blocks.push_back(kinds_html(run, one));
    return paragraph("The time of an update, split into parts: means over the ranks.") + parts.bar +
           in_columns(blocks);
  }
  if (run.experiment.layout) return layout_html(run);
  for (const ClassStep& one : step_of(run).classes) html += class_html(run, one);
  return html;
}

namespace {

Html layers_of(const Run& run, const ClassStep& one) {
  const std::vector<OpRow>& ops = one.ops;
  constexpr std::size_t most_shown = 20;
  constexpr std::size_t most_listed = 600;
  if (ops.empty()) return {};
  const auto table_of = [&](const std::vector<const OpRow*>& rows, const std::string& name) {
    HtmlTable table(name, {{"layer", true},
                           {"phase", true},
                           {"kind", true},
                           {"shape", true},
                           {"time"},
                           {"share"},
                           {"FLOP rate"},
                           {"bytes"},
                           {"source of the time"}});
    Seconds all;
    for (const OpRow& row : ops) all += row.duration;
    for (const OpRow* row : rows) {
      const bool has_rate = row->flops > Flops{} && row->duration > Seconds{};
      table.row(row->layer, config::name_of(row->phase), config::name_of(row->kind), row->shape,
                row->duration, all > Seconds{} ? percent(row->duration / all) : "",
                has_rate ? std::optional(row->flops / row->duration) : std::nullopt,
                row->bytes > Bytes{} ? std::optional(row->bytes) : std::nullopt,
                config::name_of(row->source));
    }
    return table.html(rows.size() > most_shown);
  };
  std::vector<const OpRow*> longest;
  for (const OpRow& row : ops) longest.push_back(&row);
  const std::vector<const OpRow*> in_order(
      longest.begin(), longest.begin() + static_cast<std::ptrdiff_t>(std::min(most_listed, longest.size())));
  std::ranges::stable_sort(longest, std::greater{}, &OpRow::duration);
  longest.resize(std::min(most_shown, longest.size()));
  const auto kernels = static_cast<std::int64_t>(ops.size());
  Html html = subheading(longest.size() < ops.size()
                             ? fmt::format("The {} longest of {} kernels{}", longest.size(), grouped(kernels),
                                           of_class(run, one))
                             : fmt::format("Kernels{}, the longest first", of_class(run, one)));
  html += table_of(longest, "longest kernels");
  if (longest.size() == ops.size()) return html;
  const std::string all = in_order.size() == ops.size()
                              ? fmt::format("All {} kernels in the order they run", grouped(kernels))
                              : fmt::format("The first {} kernels in the order they run; ops.csv has all {}",
                                            in_order.size(), grouped(kernels));
  return html + folded(all, table_of(in_order, "kernels in order"));
}

}  // namespace

Html layers_html(const Run& run) {
  // Stages run the same kernels but for the ends of the model.
  if (run.experiment.layout) return layers_of(run, slowest_class(step_of(run)));
  Html html;
  for (const ClassStep& one : step_of(run).classes) html += layers_of(run, one);
  return html;
}

}  // namespace trainyard
