#include "html/fluid_plot.hpp"
#include "html/run_sections.hpp"
#include "html/time_unit.hpp"
#include "report/page.hpp"
#include "report/run_words.hpp"
#include "report/text_layout.hpp"
#include "units/text.hpp"

#include <algorithm>
#include <fmt/format.h>

namespace trainyard {

namespace {

/// Time of the job over the interval between two checkpoints.
Html interval_plot(const FaultReport& faults) {
  std::vector<double> intervals;
  std::vector<double> walls;
  for (const IntervalRow& row : faults.intervals) {
    intervals.push_back(row.every.si());
    if (row.wall) walls.push_back(row.wall->si());
    if (row.expected) walls.push_back(row.expected->si());
  }
  if (walls.empty()) return {};
  for (const std::optional<Seconds>& time : {faults.every, faults.young, faults.daly}) {
    if (time) intervals.push_back(time->si());
  }
  const TimeUnit every = time_unit(Seconds(std::ranges::max(intervals)));
  const TimeUnit wall = time_unit(Seconds(std::ranges::max(walls)));
  for (double& interval : intervals) interval /= every.seconds;
  for (double& time : walls) time /= wall.seconds;
  PlotAxis across =
      decades_axis(intervals, FluidPlot::across_begin, FluidPlot::across_length, 8, rounded_tick);
  PlotAxis up = linear_axis(walls, FluidPlot::up_begin, FluidPlot::up_length, 8, rounded_tick, false);
  FluidPlot plot("time of the job over the checkpoint interval", std::move(across),
                 fmt::format("checkpoint interval, {}", every.name), std::move(up),
                 fmt::format("job time, {}", wall.name));
  std::vector<PlotPoint> simulated;
  std::vector<PlotPoint> expected;
  for (const IntervalRow& row : faults.intervals) {
    const double x = row.every / Seconds(every.seconds);
    const std::string label = fmt::format("every {}: ", estimate(row.every));
    if (row.wall) simulated.push_back({x, *row.wall / Seconds(wall.seconds), label + estimate(*row.wall)});
    if (row.expected)
      expected.push_back({x, *row.expected / Seconds(wall.seconds), label + estimate(*row.expected)});
  }
  std::vector<LegendEntry> entries;
  if (!simulated.empty()) entries.push_back({series_sign("series0", 0), "simulated"});
  const auto upright = [&](const char* kind, const std::optional<Seconds>& time, const std::string& name) {
    if (!time) return;
    const std::string text = fmt::format("{}: {}", name, estimate(*time));
    plot.upright(kind, *time / Seconds(every.seconds), text);
    entries.push_back({swatch_line(kind), text});
  };
  if (!expected.empty()) {
    plot.line("series1", expected);
    entries.push_back({swatch_line("series1"), "closed form"});
  }
  if (!simulated.empty()) {
    plot.line("series0", simulated);
    plot.marks("series0", 0, simulated);
  }
  upright("rule-young", faults.young, "Young's interval");
  upright("rule-daly", faults.daly, "Daly's interval");
  if (!faults.is_daly) upright("rule-used", faults.every, "the interval in use");
  return subheading("Job time with other checkpoint intervals") + plot.html() + legend(entries);
}

Html intervals_html(const FaultReport& faults) {
  HtmlTable table("checkpoint intervals",
                  {{"interval"}, {"job time"}, {"goodput over throughput"}, {"closed form"}});
  for (const IntervalRow& row : faults.intervals) {
    table.row(row.every, row.wall ? HtmlCell(*row.wall) : as_text("never finishes"),
              row.wall ? percent(faults.work / *row.wall) : "", row.expected);
  }
  return folded("The same as a table", table.html());
}

}  // namespace

Html faults_html(const Run& run) {
  if (!run.faults) return {};
  const FaultReport& faults = *run.faults;
  Html html = paragraph(
      fmt::format("{} of work take {}{}. Goodput is {}. There are {} faults, {} of which stop the job.",
                  estimate(faults.work), estimate(faults.wall),
                  faults.runs > 1 ? fmt::format(" (mean of {} runs)", faults.runs) : "",
                  goodput_in_words(faults), rounded(faults.faults), rounded(faults.restarts)));
  std::vector<BarPart> bar;
  HtmlTable table("where the time of the job goes", {{"part", true}, {"time"}, {"share"}});
  const auto add = [&](const char* kind, const char* name, Seconds time) {
    if (time <= Seconds{}) return;
    const double share = time / faults.wall;
    bar.push_back({kind, name, share, fmt::format("{}, {}", estimate(time), percent(share))});
    table.row(swatch(kind) + as_text(std::string(" ") + name), time, percent(share));
  };
  add("compute", "work", faults.work);
  add("wasted-compute", "work lost", faults.lost);
  add("waiting", "running with fewer ranks", faults.slowed);
  add("framework", "restarting", faults.restarting);
  add("input", "writing checkpoints", faults.writing);
  html += stacked_bar("where the time of the job goes", bar) + table.html();
  if (faults.every) {
    html += paragraph(fmt::format("A checkpoint is written every {}{}; it is {} and takes {}.",
                                  estimate(*faults.every), faults.is_daly ? " (Daly's interval)" : "",
                                  estimate(faults.checkpoint_size), estimate(faults.write)));
  }
  if (faults.between_stops)
    html +=
        paragraph(fmt::format("A fault that stops the job comes every {}.", estimate(*faults.between_stops)));
  if (faults.best) {
    html +=
        paragraph(fmt::format("The best simulated interval is {}, with a goodput of {} of the throughput.",
                              estimate(*faults.best), percent(faults.best_share)));
  }
  if (faults.intervals.empty()) return html;
  return html + interval_plot(faults) + intervals_html(faults);
}

}  // namespace trainyard
