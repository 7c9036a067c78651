#include "html/run_sections.hpp"
#include "report/fault_text.hpp"
#include "report/limits.hpp"
#include "report/page.hpp"
#include "report/run_title.hpp"
#include "report/text_layout.hpp"
#include "report/unmodelled.hpp"
#include "run/step_parts.hpp"
#include "units/text.hpp"

#include <algorithm>
#include <fmt/format.h>

namespace trainyard {

namespace {

/// A figure, what it is and what it means.
class FigureTiles {
public:
  void add(std::string_view name, std::string_view value, std::string_view remark) {
    tiles_ += element("div",
                      element("dt", name) + element("dd", value, " class=\"value\"") +
                          (remark.empty() ? Html{} : element("dd", remark, " class=\"remark\"")),
                      " class=\"tile\"") +
              Html{"\n"};
  }
  [[nodiscard]] Html html() const {
    return element("dl", Html{"\n"} + tiles_, " class=\"tiles\"") + Html{"\n"};
  }

private:
  Html tiles_;
};

/// Whether the exposed communication is more than collectives.
bool has_framework(const Result& result) {
  constexpr double rounding = 1e-9;
  const StepParts split = step_parts(result);
  return std::ranges::any_of(split.parts, [&](const PartTime& part) {
    return part.part == StepPart::framework && part.time > rounding * result.step_time;
  });
}

void add_speeds(FigureTiles& tiles, const Result& result) {
  tiles.add(result.training ? "an update" : "step time", human(result.step_time), update_in_words(result));
  tiles.add(
      "throughput", rounded(result.throughput) + " samples/s",
      result.tokens_per_second ? rounded(*result.tokens_per_second) + " tokens/s" : "of all GPUs together");
  if (result.faults) {
    tiles.add("goodput", rounded(result.throughput * result.faults->share) + " samples/s",
              goodput_in_words(*result.faults) + ", after faults and checkpoints");
  }
  if (result.epoch_time)
    tiles.add("an epoch", long_time(*result.epoch_time), "all samples of the data set once");
  if (result.ranks == 1) return;
  tiles.add("scaling efficiency", percent(result.scaling_efficiency),
            fmt::format("speedup {} x of {}; one GPU alone takes {}", rounded(result.speedup),
                        grouped(result.ranks), human(result.one_rank_step_time)));
  if (result.training) {
    tiles.add(
        "staleness", rounded(result.training->staleness_mean),
        fmt::format("updates on average, {} at most (1 is fresh)", grouped(result.training->staleness_max)));
  } else {
    tiles.add("exposed communication", human(result.exposed_communication),
              fmt::format("{} of the step{}; {} of communication in all",
                          percent(result.exposed_communication / result.step_time),
                          has_framework(result) ? ", with what the stack does around it" : "",
                          human(result.communication_time)));
  }
}

void add_use(FigureTiles& tiles, const Result& result) {
  if (result.model_flops_utilization) {
    tiles.add(
        "model FLOPs utilisation", percent(*result.model_flops_utilization),
        fmt::format("{} of matrix FLOPs per GPU, of its peak in {}{}", human(result.achieved_flops_per_gpu),
                    result.matrix_dtype, above_peak_in_words(result)));
  }
  if (result.memory) {
    tiles.add("memory of a GPU", human(result.memory->peak),
              fmt::format("{} of {}; batch {} still fits", percent(result.memory->utilization),
                          human(result.memory->capacity), grouped(result.memory->largest_batch)));
  }
  if (result.energy_per_step) {
    tiles.add("energy", human(*result.energy_per_step),
              fmt::format("{}; {} on average", result.training ? "an update" : "a step",
                          human(*result.average_power)));
  }
  if (result.cost)
    tiles.add("cost of an epoch", rounded(result.cost->per_epoch.si()) + " USD", "rent of all nodes");
}

}  // namespace

Html figures_html(const Result& result) {
  FigureTiles tiles;
  add_speeds(tiles, result);
  add_use(tiles, result);
  return tiles.html();
}

Html limits_html(const Result& result) {
  Html html = element("p", limit_in_words(result), " class=\"verdict\"") + Html{"\n"};
  HtmlTable table("limits", {{"limit", true}, {"value"}, {"what it is", true}});
  if (!result.busiest_link.empty()) {
    const LinkRow* const link = busiest_link(result);
    std::string text = result.busiest_link;
    if (link != nullptr) text += fmt::format(": {} at {}", human(link->bytes), human(link->capacity));
    table.row(std::vector<std::string>{"busiest link", percent(result.link_utilization_max), text});
  }
  if (result.ranks > 1 && result.lower_bound.si() > 0) {
    table.row(std::vector<std::string>{
        "lower bound", human(result.lower_bound),
        fmt::format("every collective as fast as bandwidth and latency allow; the step takes {} longer",
                    percent(result.step_time / result.lower_bound - 1))});
  }
  if (result.input) {
    table.row(std::vector<std::string>{"input", human(result.input->pipeline.time),
                                       fmt::format("in which a node makes the samples of a step ready{}",
                                                   result.input->is_prefetched ? ", beside the step" : "")});
    if (result.input->cpu_utilization)
      table.row(std::vector<std::string>{"host CPUs", percent(*result.input->cpu_utilization),
                                         "a node's cores are busy"});
    if (result.input->storage_utilization) {
      table.row(std::vector<std::string>{"storage", percent(*result.input->storage_utilization),
                                         "of what the storage lets through"});
    }
  }
  return table.empty() ? html : html + table.html();
}

Html needs_html(const Result& result) {
  HtmlTable table("energy and cost", {{"what", true}, {"value"}, {"how it is counted", true}});
  const auto add = [&](std::string_view what, const std::string& value, const std::string& how) {
    table.row(std::vector<std::string>{std::string(what), value, how});
  };
  if (result.energy_per_step) {
    add(result.training ? "energy of an update" : "energy of a step", human(*result.energy_per_step),
        "of all GPUs with a rank and of their boxes");
    add("average power", human(*result.average_power), "the same over the time");
    add("samples for a joule", rounded(result.throughput / result.average_power->si()),
        "throughput over the power");
    if (result.epoch_time)
      add("energy of an epoch", human(*result.average_power * *result.epoch_time),
          "power times the time of an epoch");
    if (result.training && result.training->wasted_energy.value_or(Joules{}) > Joules{})
      add("energy wasted", human(*result.training->wasted_energy),
          "an update, for computing that was cancelled");
  }
  if (result.cost) {
    add("rent of a node", rounded(result.cost->per_node_hour.si()) + " USD/h",
        "price of " + result.cost->date);
    add("cost of an epoch", rounded(result.cost->per_epoch.si()) + " USD",
        "all nodes for the time of an epoch");
  }
  if (!table.empty()) return table.html();
  std::string why = "Neither is known.";
  const auto reasons = unmodelled(result);
  for (const char* const field : {"energy_per_step_j", "cost_per_epoch_usd"}) {
    if (reasons.contains(field)) why += fmt::format(" {}: {}.", field, reasons.at(field));
  }
  return paragraph(why);
}

}  // namespace trainyard
