// Tables of a whole job beside its phases: power and energy by phase, time by function.

#include "accuracy/error_bounds.hpp"
#include "document/time_unit.hpp"
#include "report/figure_text.hpp"
#include "report/run_words.hpp"
#include "report/table_columns.hpp"
#include "run/job_functions.hpp"
#include "run/whole_job.hpp"

#include <algorithm>
#include <fmt/format.h>

namespace trainyard {

namespace {

std::string phase_in_words(JobPhase phase) {
  std::string name(config::name_of(phase));
  std::ranges::replace(name, '_', ' ');
  return name;
}

/// Power per node by phase, and energy of the whole job.
doc::Table power_table(const Run& run, const std::vector<JobPart>& parts) {
  const double nodes = run.nodes;
  doc::Table table{
      .key = "power_by_phase", .title = "power and energy by phase", .shape = {.indent = 2, .gap = 2}};
  add_column(table, "phase", parts, [](const JobPart& part) { return phase_in_words(part.phase); });
  add_column(table, "time", parts, [](const JobPart& part) { return part.time; });
  add_column(table, "node", parts, [&](const JobPart& part) { return part.power->all() / nodes; });
  add_column(table, run.experiment.gpu.is_processor ? "processor" : "GPUs", parts,
             [&](const JobPart& part) { return part.power->processors / nodes; });
  if (run.experiment.gpu.memory_power)
    add_column(table, "memory", parts, [&](const JobPart& part) { return part.power->memory / nodes; });
  add_column(table, "rest", parts, [&](const JobPart& part) { return part.power->rest / nodes; });
  add_column(table, "energy", parts, [](const JobPart& part) { return part.energy.value_or(Joules{}); });
  return table;
}

/// Power of a node over the whole job: its phases one after the other.
doc::Chart power_chart_of_job(const Run& run, const std::vector<JobPart>& parts) {
  const TimeUnit unit = time_unit(run.job->time);
  const double nodes = run.nodes;
  doc::Chart chart{.key = "job_power",
                   .title = "power of a node over the whole job, its phases in order",
                   .across_title = fmt::format("time in the job, {}", unit.name),
                   .up_title = "power per node, W",
                   .series = {{"series0", "node", {}, true},
                              {"series1", run.experiment.gpu.is_processor ? "processor" : "GPUs", {}, true},
                              {"series2", "memory", {}, true}}};
  if (!run.experiment.gpu.memory_power) chart.series.pop_back();
  std::vector<double> dates, heights{0};
  Seconds end;
  for (const JobPart& part : parts) {
    const double watts[] = {part.power->all() / nodes / Watts{1}, part.power->processors / nodes / Watts{1},
                            part.power->memory / nodes / Watts{1}};
    for (const Seconds date : {end, end + part.time}) {
      dates.push_back(date.si() / unit.seconds);
      for (std::size_t i = 0; i < chart.series.size(); ++i) {
        heights.push_back(watts[i]);
        chart.series[i].points.push_back({dates.back(), watts[i], phase_in_words(part.phase)});
      }
    }
    end += part.time;
  }
  constexpr std::size_t most_ticks = 8;
  chart.across =
      linear_axis(dates, FluidPlot::across_begin, FluidPlot::across_length, most_ticks, rounded_tick);
  chart.up = linear_axis(heights, FluidPlot::up_begin, FluidPlot::up_length, most_ticks, rounded_tick);
  return chart;
}

}  // namespace

void add_job_power(doc::Document& page, const Run& run) {
  if (!run.job) return;
  std::vector<JobPart> parts;
  for (const JobPart& part : run.job->parts) {
    if (part.power && part.time > Seconds{}) parts.push_back(part);
  }
  if (parts.empty()) return;
  doc::Section& section =
      page.section("job_power", "power over the job",
                   fmt::format("means per node, {} to {} % expected; energy of all nodes",
                               whole_percent(power_bounds.low), whole_percent(power_bounds.high)));
  section.shown = run.experiment.gpu.memory_power ? doc::Shown::everywhere : doc::Shown::pages;
  section.add(power_chart_of_job(run, parts));
  section.add(power_table(run, parts));
}

void add_job_functions(doc::Document& page, const Run& run) {
  const std::vector<FunctionTime> rows = time_by_function(run);
  if (rows.empty()) return;
  doc::Table table{.key = "functions", .title = "time by function", .shape = {.indent = 2, .gap = 2}};
  add_column(table, "calls", rows, [](const FunctionTime& row) { return std::llround(row.calls); });
  add_column(table, "own time", rows, [](const FunctionTime& row) { return row.own; });
  add_column(table, "cumulative", rows, [](const FunctionTime& row) { return row.cumulative; });
  add_column(table, "function", rows, [](const FunctionTime& row) {
    std::string text;  // HTML would drop leading spaces
    for (int i = 0; i < row.depth; ++i) text += "- ";
    return text + row.name;
  });
  page.section("functions", "time by function", "of rank 0, as cProfile lists it").add(std::move(table));
}

}  // namespace trainyard
