#include "document/page.hpp"
#include "document/writers.hpp"
#include "html/run_sections.hpp"
#include "report/expected_error.hpp"
#include "report/figure_text.hpp"
#include "report/limits.hpp"
#include "report/run_words.hpp"
#include "run/layout_parts.hpp"
#include "run/step_parts.hpp"
#include "units/text.hpp"
#include "units/text_layout.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <iterator>
#include <span>

namespace trainyard {

namespace {

/// A figure, its value and a remark.
Html tile(std::string_view name, std::string_view value, std::string_view remark) {
  return element("div",
                 element("dt", name) + element("dd", value, " class=\"value\"") +
                     (remark.empty() ? Html{} : element("dd", prose(remark), " class=\"remark\"")),
                 " class=\"tile\"") +
         Html{"\n"};
}

/// Whether the exposed communication includes more than collectives.
bool has_framework(const Run& run) {
  constexpr double rounding = 1e-9;
  const StepParts split = step_parts(run);
  return std::ranges::any_of(split.parts, [&](const PartTime& part) {
    return part.part == StepPart::framework && part.time > rounding * run.pace.time;
  });
}

bool is_always(const Run&) { return true; }
bool has_peers(const Run& run) { return run.ranks > 1; }
bool is_steady_with_peers(const Run& run) { return run.ranks > 1 && updates_of(run) == nullptr; }
bool is_multi_with_peers(const Run& run) { return run.ranks > 1 && updates_of(run) != nullptr; }
bool has_faults(const Run& run) { return run.faults.has_value(); }

/// A key figure with a remark on its tile besides its definition, and the condition for the remark.
struct TileText {
  std::string_view field;
  bool (*applies)(const Run&);
  std::string (*remark)(const Run&);
};

constexpr TileText tile_texts[] = {
    {"step_time_s", is_always, update_in_words},
    {"throughput_samples_per_s", is_always,
     [](const Run& run) {
       const Known<double> tokens = tokens_per_second(run);
       const std::string unit = tokens ? rounded(*tokens) + " tokens/s" : "of all GPUs together";
       if (!run.expected_error) return unit;
       return fmt::format("{}; 80 % of {} comparable published runs within {}", unit,
                          run.expected_error->runs, error_range(*run.expected_error));
     }},
    {"goodput_samples_per_s", has_faults,
     [](const Run& run) { return goodput_in_words(*run.faults) + ", after faults and checkpoints"; }},
    {"scaling_efficiency", has_peers,
     [](const Run& run) {
       return fmt::format("speedup {} x, ideal {}; one GPU alone takes {}", rounded(run.pace.speedup),
                          grouped(run.ranks), estimate(run.pace.one_rank));
     }},
    {"exposed_communication_s", is_steady_with_peers,
     [](const Run& run) {
       if (has_bubbles(run.experiment))
         return percent(exposed_communication(run) / run.pace.time) + " of the step, without the bubble";
       return fmt::format("{} of the step{}; {} of communication in total",
                          percent(exposed_communication(run) / run.pace.time),
                          has_framework(run) ? ", including the stack's own work around it" : "",
                          estimate(communication_time(run)));
     }},
    {"bubble_s", is_always,
     [](const Run& run) {
       const StepParts split = step_parts(run);
       const auto bubble = std::ranges::find(split.parts, StepPart::bubble, &PartTime::part);
       return percent(bubble->time / run.pace.time) + " of the step: the last stage to end waits for others";
     }},
    {"one_gpu_scale", is_always,
     [](const Run& run) { return "from the measured " + *run.experiment.settings.one_gpu + " of one GPU"; }},
    {"staleness_mean", is_multi_with_peers,
     [](const Run& run) {
       return fmt::format("updates on average, {} at most (1 is fresh)",
                          grouped(updates_of(run)->staleness.max));
     }},
    {"model_flops_utilization", is_always,
     [](const Run& run) {
       return fmt::format("{} of matrix FLOPs per GPU, relative to its {} peak{}", estimate(run.matrix->rate),
                          matrix_dtype_name(run), above_peak_in_words(run));
     }},
    {"memory_peak_bytes", is_always,
     [](const Run& run) {
       const MemoryReport& memory = fullest(*run.memory);
       const std::string share =
           fmt::format("{} of {}", percent(memory.utilization), gpu_memory(memory.capacity));
       if (!run.experiment.model) return share + ", as the trace states";
       return fmt::format("{}; batch {} is the largest that fits", share, grouped(memory.largest_batch));
     }},
    {"energy_per_step_j", is_always,
     [](const Run& run) { return estimate(run.energy->average) + " on average"; }},
    {"cost_per_epoch_usd", is_always, [](const Run& run) {
       return std::string(is_rent_assumed(run.experiment.platform) ? "assumed rent of all nodes"
                                                                   : "rent of all nodes");
     }}};

/// The remark and the figure's interval; that of the throughput stands in percent in its remark.
std::string with_interval(const Run& run, const Figure& figure, const std::string& remark) {
  const bool is_said = figure.field == "throughput_samples_per_s" || figure.field == "step_time_s";
  const std::string words = is_said ? std::string() : bounds_in_words(run, figure.field);
  return words.empty() ? remark : remark + "; " + words;
}

}  // namespace

Html figures_html(const Run& run, std::span<const Figure> table) {
  Html tiles;
  for (const Figure& figure : table) {
    if (!figure.shown.as_tile) continue;
    const auto* const text = std::ranges::find(tile_texts, figure.field, &TileText::field);
    const bool has_text = text != std::end(tile_texts);
    if (has_text && !text->applies(run)) continue;
    const Known<FigureValue> value = figure.of(run);
    if (!value) continue;
    tiles += tile(figure.label, in_unit(*value, figure.unit),
                  with_interval(run, figure, has_text ? text->remark(run) : std::string(figure.doc)));
  }
  return element("dl", Html{"\n"} + tiles, " class=\"tiles\"") + Html{"\n"};
}

Html limits_html(const Run& run) {
  const Html words =
      element("p", prose(limit_in_words(run) + costly_choice_in_words(run)), " class=\"verdict\"") +
      Html{"\n"};
  HtmlTable table("limits", {{"limit", true}, {"value"}, {"meaning", true}});
  if (!run.links.busiest.empty()) {
    const LinkRow* const link = busiest(run.links);
    std::string text = run.links.busiest;
    if (link != nullptr)
      text += fmt::format(": {} at {}{}", estimate(link->bytes), estimate(link->capacity),
                          assumed_mark(link->is_assumed));
    table.row("busiest link", percent(run.links.most), text);
  }
  if (run.ranks > 1 && updates_of(run) == nullptr) {
    table.row("lower bound", estimate(step_of(run).lower_bound),
              fmt::format("every collective as fast as bandwidth and latency allow; the step {}",
                          takes_longer(run.pace.time, step_of(run).lower_bound)));
  }
  if (run.input) {
    table.row(
        std::vector<std::string>{"input", estimate(run.input->loading.time),
                                 fmt::format("time in which a node prepares the samples of a step{}",
                                             run.input->is_prefetched ? ", during the step before" : "")});
    if (run.input->cpu_utilization)
      table.row("host CPUs", percent(*run.input->cpu_utilization), "busy share of a node's cores");
    if (run.input->storage_utilization) {
      table.row("storage", percent(*run.input->storage_utilization), "of the storage's rate");
    }
  }
  return in_columns({words, table.empty() ? Html{} : table.html()});
}

Html needs_html(const Run& run) {
  HtmlTable table("energy and cost", {{"quantity", true}, {"value"}, {"definition", true}});
  const auto add = [&](std::string_view what, const std::string& value, const std::string& how) {
    table.row(what, value, how);
  };
  if (run.energy) {
    add(updates_of(run) ? "energy of an update" : "energy of a step", estimate(run.energy->per_step),
        "all GPUs with a rank, and their nodes");
    add("average power", estimate(run.energy->average), "energy over time");
    add("samples per joule", rounded(run.pace.throughput / run.energy->average.si()),
        "throughput over average power");
    if (epoch_time(run))
      add("energy of an epoch", estimate(run.energy->average * *epoch_time(run)),
          "average power times the time of an epoch");
    if (updates_of(run) && updates_of(run)->wasted_energy.value_or(Joules{}) > Joules{})
      add("energy wasted", estimate(*updates_of(run)->wasted_energy), "per update, for cancelled computing");
  }
  if (run.cost) {
    add("rent of a node", shortest(run.cost->per_node_hour.si()) + " USD/h",
        "price of " + run.cost->date + (run.cost->is_assumed ? ", assumed" : ""));
    add("cost of an epoch", cost_in_words(run.cost->per_epoch.si(), run.cost->is_assumed),
        "all nodes for the time of an epoch");
  }
  if (!table.empty()) {
    doc::Section power;
    add_power(power, run);
    return table.html() + doc::content_html(power);
  }
  std::string why = "Neither energy nor cost is known.";
  const auto reasons = unmodelled(run);
  for (const char* const field : {"energy_per_step_j", "cost_per_epoch_usd"}) {
    if (reasons.contains(field)) why += fmt::format(" {}: {}.", field, reasons.at(field));
  }
  return paragraph(why);
}

}  // namespace trainyard
