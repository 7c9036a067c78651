#include "html/run_sections.hpp"
#include "report/fault_text.hpp"
#include "report/figure_text.hpp"
#include "report/limits.hpp"
#include "report/page.hpp"
#include "report/run_title.hpp"
#include "report/text_layout.hpp"
#include "run/step_parts.hpp"
#include "units/text.hpp"

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
                     (remark.empty() ? Html{} : element("dd", remark, " class=\"remark\"")),
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

std::string throughput_remark(const Run& run) {
  const Known<double> tokens = tokens_per_second(run);
  return tokens ? rounded(*tokens) + " tokens/s" : "of all GPUs together";
}

std::string efficiency_remark(const Run& run) {
  return fmt::format("speedup {} x of {}; one GPU alone takes {}", rounded(run.pace.speedup),
                     grouped(run.ranks), human(run.pace.one_rank));
}

std::string exposed_remark(const Run& run) {
  return fmt::format(
      "{} of the step{}; {} of communication in all", percent(exposed_communication(run) / run.pace.time),
      has_framework(run) ? ", with what the stack does around it" : "", human(communication_time(run)));
}

std::string staleness_remark(const Run& run) {
  return fmt::format("updates on average, {} at most (1 is fresh)", grouped(updates_of(run)->staleness.max));
}

std::string goodput_remark(const Run& run) {
  return goodput_in_words(*run.job) + ", after faults and checkpoints";
}

std::string mfu_remark(const Run& run) {
  return fmt::format("{} of matrix FLOPs per GPU, of its peak in {}{}", human(run.matrix->rate),
                     matrix_dtype_name(run), above_peak_in_words(run));
}

std::string memory_remark(const Run& run) {
  return fmt::format("{} of {}; batch {} still fits", percent(run.memory->utilization),
                     human(run.memory->capacity), grouped(run.memory->largest_batch));
}

std::string energy_remark(const Run& run) { return human(run.energy->average) + " on average"; }

std::string cost_remark(const Run&) { return "rent of all nodes"; }

bool is_always(const Run&) { return true; }
bool has_peers(const Run& run) { return run.ranks > 1; }
bool is_steady_with_peers(const Run& run) { return run.ranks > 1 && updates_of(run) == nullptr; }
bool is_multi_with_peers(const Run& run) { return run.ranks > 1 && updates_of(run) != nullptr; }
bool has_job(const Run& run) { return run.job.has_value(); }

/// A key figure with a remark on its tile besides its definition, and the condition for the remark.
struct TileText {
  std::string_view field;
  bool (*applies)(const Run&);
  std::string (*remark)(const Run&);
};

constexpr TileText tile_texts[] = {{"step_time_s", is_always, update_in_words},
                                   {"throughput_samples_per_s", is_always, throughput_remark},
                                   {"goodput_samples_per_s", has_job, goodput_remark},
                                   {"scaling_efficiency", has_peers, efficiency_remark},
                                   {"exposed_communication_s", is_steady_with_peers, exposed_remark},
                                   {"staleness_mean", is_multi_with_peers, staleness_remark},
                                   {"model_flops_utilization", is_always, mfu_remark},
                                   {"memory_peak_bytes", is_always, memory_remark},
                                   {"energy_per_step_j", is_always, energy_remark},
                                   {"cost_per_epoch_usd", is_always, cost_remark}};

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
                  has_text ? text->remark(run) : std::string(figure.doc));
  }
  return element("dl", Html{"\n"} + tiles, " class=\"tiles\"") + Html{"\n"};
}

Html limits_html(const Run& run) {
  Html html = element("p", limit_in_words(run), " class=\"verdict\"") + Html{"\n"};
  HtmlTable table("limits", {{"limit", true}, {"value"}, {"what it is", true}});
  if (!run.links.busiest.empty()) {
    const LinkRow* const link = busiest_link(run);
    std::string text = run.links.busiest;
    if (link != nullptr) text += fmt::format(": {} at {}", human(link->bytes), human(link->capacity));
    table.row(std::vector<std::string>{"busiest link", percent(run.links.most), text});
  }
  if (run.ranks > 1 && updates_of(run) == nullptr) {
    table.row(std::vector<std::string>{
        "lower bound", human(step_of(run).lower_bound),
        fmt::format("every collective as fast as bandwidth and latency allow; the step takes {} longer",
                    percent(run.pace.time / step_of(run).lower_bound - 1))});
  }
  if (run.input) {
    table.row(std::vector<std::string>{"input", human(run.input->loading.time),
                                       fmt::format("in which a node makes the samples of a step ready{}",
                                                   run.input->is_prefetched ? ", beside the step" : "")});
    if (run.input->cpu_utilization)
      table.row(std::vector<std::string>{"host CPUs", percent(*run.input->cpu_utilization),
                                         "a node's cores are busy"});
    if (run.input->storage_utilization) {
      table.row(std::vector<std::string>{"storage", percent(*run.input->storage_utilization),
                                         "of what the storage lets through"});
    }
  }
  return table.empty() ? html : html + table.html();
}

Html needs_html(const Run& run) {
  HtmlTable table("energy and cost", {{"what", true}, {"value"}, {"how it is counted", true}});
  const auto add = [&](std::string_view what, const std::string& value, const std::string& how) {
    table.row(std::vector<std::string>{std::string(what), value, how});
  };
  if (run.energy) {
    add(updates_of(run) ? "energy of an update" : "energy of a step", human(run.energy->per_step),
        "of all GPUs with a rank and of their boxes");
    add("average power", human(run.energy->average), "the same over the time");
    add("samples for a joule", rounded(run.pace.throughput / run.energy->average.si()),
        "throughput over the power");
    if (epoch_time(run))
      add("energy of an epoch", human(run.energy->average * *epoch_time(run)),
          "power times the time of an epoch");
    if (updates_of(run) && updates_of(run)->wasted_energy.value_or(Joules{}) > Joules{})
      add("energy wasted", human(*updates_of(run)->wasted_energy),
          "an update, for computing that was cancelled");
  }
  if (run.cost) {
    add("rent of a node", rounded(run.cost->per_node_hour.si()) + " USD/h", "price of " + run.cost->date);
    add("cost of an epoch", rounded(run.cost->per_epoch.si()) + " USD", "all nodes for the time of an epoch");
  }
  if (!table.empty()) return table.html();
  std::string why = "Neither is known.";
  const auto reasons = unmodelled(run);
  for (const char* const field : {"energy_per_step_j", "cost_per_epoch_usd"}) {
    if (reasons.contains(field)) why += fmt::format(" {}: {}.", field, reasons.at(field));
  }
  return paragraph(why);
}

}  // namespace trainyard
