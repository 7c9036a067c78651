#include "document/time_unit.hpp"
#include "report/expected_error.hpp"
#include "report/run_words.hpp"
#include "units/text.hpp"
#include "units/text_layout.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <string>
#include <vector>

namespace trainyard {
namespace {

/// "3.00 h (Daly's)".
std::string interval_in_words(const FaultReport& faults) {
  if (!faults.every) return "none";
  return human(*faults.every) + (faults.is_daly ? " (Daly's)" : "");
}

std::string waits_in_words(const FaultReport& faults) {
  if (faults.stall >= faults.write) return "";
  return fmt::format("; training waits for {} of it", estimate(faults.stall));
}

void add_shares(doc::Section& section, const FaultReport& faults) {
  const auto add = [&](const char* label, Seconds time, const char* fill) {
    section.add(doc::Share{.label = label,
                           .part = time.si(),
                           .whole = faults.wall.si(),
                           .text = human_like(time, faults.wall),
                           .fill = fill});
  };
  add("work", faults.work, "compute");
  add("lost work", faults.lost, "wasted-compute");
  if (faults.slowed > Seconds{}) add("missing ranks", faults.slowed, "waiting");
  add("restarting", faults.restarting, "framework");
  if (faults.waiting > Seconds{}) add("waiting for repairs", faults.waiting, "waiting");
  add("checkpoints", faults.writing, "input");
}

/// Time of the job over the interval between two checkpoints.
void add_interval_chart(doc::Section& section, const FaultReport& faults) {
  std::vector<double> intervals;
  std::vector<double> walls;
  for (const IntervalRow& row : faults.intervals) {
    intervals.push_back(row.every.si());
    if (row.wall) walls.push_back(row.wall->si());
    if (row.expected) walls.push_back(row.expected->si());
  }
  if (walls.empty()) return;
  for (const std::optional<Seconds>& time : {faults.every, faults.young, faults.daly})
    if (time) intervals.push_back(time->si());
  const TimeUnit every = time_unit(Seconds(std::ranges::max(intervals)));
  const TimeUnit wall = time_unit(Seconds(std::ranges::max(walls)));
  for (double& interval : intervals) interval /= every.seconds;
  for (double& time : walls) time /= wall.seconds;
  doc::Chart chart{
      .key = "intervals",
      .title = "time of the job over the checkpoint interval",
      .across = decades_axis(intervals, FluidPlot::across_begin, FluidPlot::across_length, 8, rounded_tick),
      .up = linear_axis(walls, FluidPlot::up_begin, FluidPlot::up_length, 8, rounded_tick, false),
      .across_title = fmt::format("checkpoint interval, {}", every.name),
      .up_title = fmt::format("job time, {}", wall.name),
      .series = {{"series1", "closed form", {}, true}, {"series0", "simulated", {}, true, 0}}};
  for (const IntervalRow& row : faults.intervals) {
    const double x = row.every / Seconds(every.seconds);
    const auto add = [&](doc::Chart::Series& series, const std::optional<Seconds>& time) {
      if (time)
        series.points.push_back({x, *time / Seconds(wall.seconds),
                                 fmt::format("every {}: {}", estimate(row.every), estimate(*time))});
    };
    add(chart.series[0], row.expected);
    add(chart.series[1], row.wall);
  }
  std::erase_if(chart.series, [](const auto& one) { return one.points.empty(); });
  const auto upright = [&](const char* kind, const std::optional<Seconds>& time, const char* name) {
    if (time)
      chart.rules.push_back({.kind = kind,
                             .text = fmt::format("{}: {}", name, estimate(*time)),
                             .at = *time / Seconds(every.seconds),
                             .is_upright = true});
  };
  upright("rule-young", faults.young, "Young's interval");
  upright("rule-daly", faults.daly, "Daly's interval");
  if (!faults.is_daly) upright("rule-used", faults.every, "the interval in use");
  section.add(doc::Heading{"job time with other checkpoint intervals", {}, doc::Shown::pages});
  section.add(std::move(chart));
}

doc::Table interval_table(const FaultReport& faults) {
  doc::Table table{.key = "intervals",
                   .title = "checkpoint intervals",
                   .folded = "The same as a table",
                   .shown = doc::Shown::pages};
  for (const char* const head : {"interval", "job time", "goodput over throughput", "closed form"})
    table.columns.push_back({.head = head, .layout = number_column()});
  for (const IntervalRow& row : faults.intervals) {
    const auto time = [](const std::optional<Seconds>& one, const char* none) {
      return one ? doc::Value(estimate(*one), *one) : doc::Value(none);
    };
    table.rows.push_back(
        {.cells = {doc::Value(estimate(row.every), row.every), time(row.wall, "never finishes"),
                   row.wall ? percent(faults.work / *row.wall) : "", time(row.expected, "")}});
  }
  return table;
}

/// "83.1 % of the throughput (95 % confidence: 80.2 % to 86.0 %)": the range that contains 95 % of such
/// means, if there are several runs.
std::string goodput_in_words(const FaultReport& faults) {
  std::string text = percent(faults.share) + " of the throughput";
  if (faults.runs > 1)
    text +=
        fmt::format(" (95 % confidence: {} to {})", percent(faults.share_low), percent(faults.share_high));
  return text;
}

}  // namespace

void add_faults(doc::Document& page, const Run& run) {
  if (!run.faults) return;
  const FaultReport& faults = *run.faults;
  doc::Section& section = page.section("faults", "faults and checkpoints",
                                       faults.runs > 1 ? fmt::format("mean of {} runs", faults.runs) : "");
  const std::string interval = bounds_in_words(run, "goodput_samples_per_s");
  const double goodput = run.pace.throughput * faults.share;
  section.add(doc::Fact{"goodput_samples_per_s", "goodput",
                        doc::Value(rounded(goodput) + " samples/s", goodput),
                        fmt::format("{}{}; {} of work take {}", interval.empty() ? "" : interval + "; ",
                                    goodput_in_words(faults), human(faults.work), estimate(faults.wall)),
                        true});
  add_shares(section, faults);
  section.add(doc::Fact{"faults", "faults", doc::Value(rounded(faults.faults), faults.faults),
                        fmt::format("{} of them restart the job{}", rounded(faults.restarts),
                                    faults.between_stops ? fmt::format(", one every {} on average",
                                                                       estimate(*faults.between_stops))
                                                         : "")});
  if (faults.slowest_gpu > 0)
    section.add(doc::Fact{"slowest_gpu", "slowest GPU",
                          doc::Value(percent(faults.slowest_gpu), faults.slowest_gpu),
                          "of the work goes to waiting for the GPU whose kernels take longest"});
  if (faults.every)
    section.add(doc::Fact{
        "checkpoint_interval", "checkpoint", doc::Value(interval_in_words(faults)),
        fmt::format("between checkpoints; each has {} and takes {} to write{}",
                    estimate(faults.checkpoint_size), estimate(faults.write), waits_in_words(faults))});
  if (faults.every && faults.daly) {
    std::string best = fmt::format("Young {}, Daly {}", estimate(*faults.young), estimate(*faults.daly));
    if (faults.best) {
      best += fmt::format("; best of the simulated intervals: {} ({} of the throughput)",
                          estimate(*faults.best), percent(faults.best_share));
    }
    section.fact("best interval", best);
  }
  if (faults.intervals.empty()) return;
  add_interval_chart(section, faults);
  section.add(interval_table(faults));
}

}  // namespace trainyard
