#include "report/layout_summary.hpp"

#include "report/limits.hpp"
#include "report/part_fill.hpp"
#include "report/run_words.hpp"
#include "report/timeline_chart.hpp"
#include "run/layout_parts.hpp"
#include "run/step_parts.hpp"
#include "units/text.hpp"
#include "units/text_layout.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <string_view>
#include <utility>

namespace trainyard {

namespace {

/// Stages in a table: more than this leave out those in the middle.
constexpr std::size_t most_stages = 16;

struct PartWords {
  StepPart part;
  std::string_view label;   ///< of a line
  std::string_view column;  ///< of a table
  std::string_view fill;
};

constexpr PartWords part_words[] = {
    {StepPart::forward, "forward", "forward", "forward"},
    {StepPart::backward, "backward", "backward", "backward"},
    {StepPart::recompute, "recomputation", "recomp.", "recomputation"},
    {StepPart::optimizer, "optimizer", "optim.", "optimizer"},
    {StepPart::host, "host", "host", "host"},
    {StepPart::kernel_slowdown, "kernel slowdown", "slower", "kernel-slowdown"},
    {StepPart::decoding, "decoding", "decoding", "compute"},
    {StepPart::input, "exposed input", "input", "input"},
    {StepPart::layers, "tensor-parallel", "tensor", "communication"},
    {StepPart::messages, "stage messages", "messages", "framework"},
    {StepPart::communication, "data-parallel", "data", "data-parallel"},
    {StepPart::bubble, "bubble", "bubble", "bubble"}};

Seconds time_of(const StepParts& parts, StepPart part) {
  const auto found = std::ranges::find(parts.parts, part, &PartTime::part);
  return found == parts.parts.end() ? Seconds{} : found->time;
}

/// Parts below this share of the step in every stage are left out.
constexpr double least_share = 5e-4;

/// The stages with a line of their own, in order; the first after some that have none is marked.
struct ShownStage {
  std::size_t stage = 0;
  bool is_after_gap = false;
};

bool is_in_gap(std::size_t stage, std::size_t stages) {
  return stages > most_stages && stage >= most_stages / 2 && stage + (most_stages - most_stages / 2) < stages;
}

std::vector<ShownStage> shown_stages(std::size_t stages) {
  std::vector<ShownStage> shown;
  for (std::size_t i = 0; i < stages; ++i) {
    if (is_in_gap(i, stages)) continue;
    shown.push_back({.stage = i, .is_after_gap = i > 0 && shown.back().stage + 1 < i});
  }
  return shown;
}

/// "layers over 4 by_slice, 10 % drawn", behind `separator`; empty if replicas divide none.
std::string layers_in_words(const RankLayout& layout, std::string_view separator) {
  const std::vector<LayerRule>& rules = layout.parallelism.layers;
  if (rules.empty()) return {};
  std::string text = fmt::format("{}layers over {}", separator, layout.grid.layer);
  const auto in_turns =
      std::ranges::find_if(rules, [](const LayerRule& rule) { return rule.turns != LayerTurns::none; });
  if (in_turns != rules.end()) text += fmt::format(" {}", config::name_of(in_turns->turns));
  const auto drawn = std::ranges::find_if(rules, [](const LayerRule& rule) { return rule.sample < 1; });
  if (drawn != rules.end()) text += fmt::format(", {} drawn", percent(drawn->sample));
  return text;
}

std::string remark_on(Axis axis, const Parallelism& parallelism) {
  if (axis == Axis::tensor && parallelism.sequence) return " with sequence parallelism";
  if (axis == Axis::context) return fmt::format(" by {}", config::name_of(exchange_of(parallelism)));
  return axis == Axis::pipeline && parallelism.unequal_stages ? " in unequal stages" : "";
}

}  // namespace

std::string layout_in_words(const Run& run) { return layout_in_words(*run.experiment.layout); }

std::string layout_in_words(const RankLayout& layout) {
  const Parallelism& parallelism = layout.parallelism;
  std::string text;
  const auto add = [&](Axis axis, int ranks) {
    if (ranks > 1)
      text += fmt::format("{}{} {}{}", text.empty() ? "" : " x ", config::name_of(axis), ranks,
                          remark_on(axis, parallelism));
  };
  for (const GridAxis& one : grid_axes) {
    if (one.place != nullptr && one.given != nullptr) add(one.axis, layout.grid.*one.ranks);
  }
  add(Axis::data, layout.grid.data);
  if (layout.grid.expert > 1)
    text += fmt::format("{}experts over {}", text.empty() ? "" : "; ", layout.grid.expert);
  text += layers_in_words(layout, text.empty() ? "" : "; ");
  if (layout.grid.pipeline > 1) {
    text += fmt::format("; {}", config::name_of(layout.schedule));
    if (parallelism.virtual_stages > 1)
      text += fmt::format(" in {} virtual stages", parallelism.virtual_stages);
  }
  if (parallelism.shard != Sharded::none)
    text += fmt::format("{}sharded {}{}", text.empty() ? "" : "; ", config::name_of(parallelism.shard),
                        parallelism.shard_over == ShardOver::node ? " over the GPUs of a node" : "");
  if (parallelism.recompute != Recompute::none)
    text +=
        fmt::format("{}{} recomputation", text.empty() ? "" : "; ", config::name_of(parallelism.recompute));
  if (parallelism.recompute_layers)
    text += fmt::format(" of {} {} of each virtual stage", *parallelism.recompute_layers,
                        *parallelism.recompute_layers == 1 ? "block" : "blocks");
  if (parallelism.recompute_every) text += fmt::format(" of one block in {}", *parallelism.recompute_every);
  return text;
}

void add_stages(doc::Document& page, const Run& run) {
  const Step& step = step_of(run);
  const ClassStep& last = slowest_class(step);
  doc::Section& where = page.section(
      "where", "where the time goes",
      rank_in_words(run, last) + ", which ends last; share of the step; communication where exposed");
  const StepParts parts = step_parts(run, last);
  for (const PartWords& words : part_words) {
    const Seconds time = time_of(parts, words.part);
    if (time > least_share * run.pace.time)
      where.add(share_of_step(run, words.label, time, words.fill, meaning_of(words.part)));
  }
  if (step.classes.size() == 1) return;
  doc::Section& stages = page.section("stages", "parts of the step by stage");
  stages.is_untitled_in_text = true;
  stages.add(stage_table(run));
}

doc::Table stage_table(const Run& run) {
  const std::vector<ClassStep>& classes = step_of(run).classes;
  std::vector<StepParts> stages;
  for (const ClassStep& one : classes) stages.push_back(step_parts(run, one));
  std::vector<const PartWords*> parts;
  for (const PartWords& words : part_words) {
    const auto matters = [&](const StepParts& one) {
      return time_of(one, words.part) > least_share * run.pace.time;
    };
    if (std::ranges::any_of(stages, matters)) parts.push_back(&words);
  }
  doc::Table table{.key = "stages",
                   .title = "parts of the step by stage",
                   .columns = {{.head = "share of step", .layout = text_column(15)}},
                   .shape = {.indent = 2, .gap = 0, .goes_on_below = true}};
  for (const PartWords* words : parts)
    table.columns.push_back({.head = std::string(words->column), .layout = number_column(9)});
  for (std::size_t i = 0; i < classes.size(); ++i) {
    const bool is_hidden = is_in_gap(i, classes.size());
    if (is_hidden && !is_in_gap(i - 1, classes.size()))
      table.rows.push_back({.cells = {"..."}, .shown = doc::Shown::text});
    doc::Row& row = table.rows.emplace_back(doc::Row{
        .cells = {classes[i].name}, .shown = is_hidden ? doc::Shown::pages : doc::Shown::everywhere});
    for (const PartWords* words : parts) {
      const double share = time_of(stages[i], words->part) / run.pace.time;
      row.cells.emplace_back(doc::Value(percent(share), share));
    }
  }
  return table;
}

void add_stage_letters(doc::Document& page, const Run& run) {
  const std::vector<ClassStep>& classes = step_of(run).classes;
  doc::Section& section = page.section(
      "letters", "timeline", "f forward, b backward, o optimizer, - exposed communication, . bubble");
  section.shown = doc::Shown::text;
  doc::Letters letters{.key = "stages", .end = estimate(run.pace.time)};
  for (const ShownStage& shown : shown_stages(classes.size())) {
    const ClassStep& one = classes[shown.stage];
    if (shown.is_after_gap) letters.lines.emplace_back();
    letters.lines.push_back(
        {one.name, "compute", [&run, &one](int width) { return stage_chart(run, one, width); }});
  }
  section.add(std::move(letters));
}

std::string memory_by_stage(const std::vector<MemoryReport>& reports) {
  std::string text;
  for (const ShownStage& shown : shown_stages(reports.size())) {
    std::string peak = gpu_memory(reports[shown.stage].peak);
    if (shown.stage + 1 < reports.size()) peak = peak.substr(0, peak.find(' '));
    text += fmt::format("{}{}{}", text.empty() ? "" : ", ", shown.is_after_gap ? "..., " : "", peak);
  }
  return fmt::format("{} in {} to {}", text, reports.front().ranks, reports.back().ranks);
}

std::string layout_limit_in_words(const Run& run) {
  const ClassStep& last = slowest_class(step_of(run));
  const StepParts parts = step_parts(run, last);
  const PartWords* most = nullptr;
  for (const PartWords& words : part_words) {
    const bool is_of_input = words.part == StepPart::input || words.part == StepPart::decoding;
    const bool is_loss =
        (words.part >= StepPart::layers && !is_of_input) || words.part == StepPart::recompute;
    if (is_loss && (most == nullptr || time_of(parts, words.part) > time_of(parts, most->part)))
      most = &words;
  }
  const double share = time_of(parts, most->part) / run.pace.time;
  constexpr double negligible_share = 0.02;
  if (share < negligible_share)
    return fmt::format("Compute: kernels fill {} of the step.", percent(last.compute / run.pace.time));
  switch (most->part) {
    case StepPart::recompute:
      return fmt::format("Recomputation of activations takes {} of the step.", percent(share));
    case StepPart::layers:
      return fmt::format("Exposed tensor-parallel collectives: {} of the step.", percent(share)) +
             network_limit_in_words(run);
    case StepPart::messages:
      return fmt::format("Exposed messages between stages: {} of the step.", percent(share)) +
             network_limit_in_words(run);
    case StepPart::communication:
      return fmt::format("Exposed collectives of gradients and parameters: {} of the step.", percent(share)) +
             network_limit_in_words(run);
    default:
      break;
  }
  if (!run.experiment.layout && pipeline_stages(run.experiment) == 1)
    return fmt::format("Waiting for other ranks takes {} of the step.", percent(share));
  return fmt::format(
      "The pipeline's bubble takes {} of the step. More micro-batches or virtual stages, or fewer stages, "
      "make it smaller.",
      percent(share));
}

}  // namespace trainyard
