#include "html/fluid_plot.hpp"
#include "html/run_sections.hpp"
#include "html/time_unit.hpp"
#include "report/figure_text.hpp"
#include "report/run_words.hpp"
#include "report/text_layout.hpp"
#include "run/power_over_step.hpp"
#include "units/text.hpp"

#include <algorithm>
#include <array>
#include <fmt/format.h>

namespace trainyard {

namespace {

/// A fill of the charts.
const char* kind_of(JobPhase phase) {
  switch (phase) {
    case JobPhase::launch:
      return "framework";
    case JobPhase::load:
    case JobPhase::checkpoint:
      return "input";
    case JobPhase::broadcast:
      return "communication";
    case JobPhase::training:
      return "compute";
    case JobPhase::evaluation:
      return "forward";
    case JobPhase::lost_work:
      return "wasted-compute";
    case JobPhase::missing_ranks:
    case JobPhase::restart:
      return "waiting";
  }
  return "";
}

struct PowerUnit {
  const char* name = "";
  double watts = 1;
};

/// The largest unit in which `most` is at least 2, or W.
PowerUnit power_unit(Watts most) {
  constexpr std::array units{PowerUnit{"MW", 1e6}, PowerUnit{"kW", 1e3}, PowerUnit{"W", 1}};
  for (const PowerUnit& unit : units) {
    if (most.si() >= 2 * unit.watts) return unit;
  }
  return units.back();
}

std::string usd(const Known<Dollars>& rent, const Run& run) {
  return rent ? cost_in_words(rent->si(), is_rent_assumed(run.experiment.platform)) : "";
}

}  // namespace

Html job_html(const Run& run) {
  if (!run.job) return {};
  const WholeJob& job = *run.job;
  using Docs = config::Names<JobPhase>;
  std::vector<BarPart> bar;
  HtmlTable table("phases of the job", {{"phase", true},
                                        {"time"},
                                        {"share"},
                                        {"energy"},
                                        {"mean power"},
                                        {"cost"},
                                        {"", true},
                                        {"meaning", true}});
  for (const JobPart& part : job.parts) {
    std::string name(config::name_of(part.phase));
    std::ranges::replace(name, '_', ' ');
    const double share = part.time / job.time;
    if (part.time > Seconds{})
      bar.push_back(
          {kind_of(part.phase), name, share, fmt::format("{}, {}", estimate(part.time), percent(share))});
    const auto doc = std::ranges::find(Docs::table, part.phase, [](const auto& one) { return one.value; });
    const bool has_power = part.energy && part.time > Seconds{};
    table.row(swatch(kind_of(part.phase)) + as_text(" " + name), part.time, percent(share),
              part.energy ? estimate(*part.energy) : "", has_power ? estimate(*part.energy / part.time) : "",
              usd(part.rent, run), times_in_words(part, updates_of(run) != nullptr), doc->doc);
  }
  table.row(as_text("total"), job.time, percent(1), job.energy ? estimate(*job.energy) : "",
            job.energy ? estimate(*job.energy / job.time) : "", usd(job.rent, run), job_in_words(run), "");
  Html text = paragraph(fmt::format("{} take {}.", job_in_words(run), estimate(job.time)));
  if (job.accuracy)
    text += paragraph(fmt::format("Accuracy at the end: {} ({}).", accuracy_in_words(*job.accuracy),
                                  accuracy_remark(*job.accuracy)));
  return text + stacked_bar("where the time of the whole job goes", bar) + table.html();
}

Html power_html(const Run& run) {
  constexpr int slices = 200;
  const std::vector<PowerSpan> power = power_of_job(run, slices);
  if (power.empty()) return {};
  const Watts most = std::ranges::max_element(power, {}, &PowerSpan::power)->power;
  const TimeUnit time = time_unit(power.back().end);
  const PowerUnit unit = power_unit(most);
  std::vector<PlotPoint> points;
  std::vector<double> dates;
  std::vector<double> heights;
  for (const PowerSpan& span : power) {
    for (const Seconds date : {span.start, span.end}) {
      points.push_back({date.si() / time.seconds, span.power.si() / unit.watts, {}});
      dates.push_back(points.back().x);
      heights.push_back(points.back().y);
    }
  }
  constexpr std::size_t most_ticks = 8;
  PlotAxis across =
      linear_axis(dates, FluidPlot::across_begin, FluidPlot::across_length, most_ticks, rounded_tick);
  PlotAxis up = linear_axis(heights, FluidPlot::up_begin, FluidPlot::up_length, most_ticks, rounded_tick);
  FluidPlot plot("power over the time of a step", std::move(across),
                 fmt::format("time in the step, {}", time.name), std::move(up),
                 fmt::format("power of all GPUs and nodes, {}", unit.name));
  plot.level("rule-used", run.energy->average.si() / unit.watts);
  plot.line("series0", points);
  return subheading("Power over the step") + plot.html() +
         legend({{swatch_line("series0"), fmt::format("mean of 1/{} of the step", slices)},
                 {swatch_line("rule-used"), "mean of the step: " + estimate(run.energy->average)}});
}

}  // namespace trainyard
