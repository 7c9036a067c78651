#include "document/time_unit.hpp"
#include "report/run_words.hpp"
#include "run/power_over_step.hpp"
#include "units/text.hpp"

#include <algorithm>
#include <array>
#include <fmt/format.h>

namespace trainyard {
namespace {

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

}  // namespace

void add_power(doc::Document& page, const Run& run) {
  constexpr int slices = 200;
  const std::vector<PowerSpan> power = power_of_job(run, slices);
  if (power.empty()) return;
  const Watts most = std::ranges::max_element(power, {}, &PowerSpan::power)->power;
  const TimeUnit time = time_unit(power.back().end);
  const PowerUnit unit = power_unit(most);
  doc::Chart::Series curve{"series0", fmt::format("mean of 1/{} of the step", slices), {}, true};
  std::vector<double> dates;
  std::vector<double> heights;
  for (const PowerSpan& span : power) {
    for (const Seconds date : {span.start, span.end}) {
      dates.push_back(date.si() / time.seconds);
      heights.push_back(span.power.si() / unit.watts);
      curve.points.push_back({dates.back(), heights.back(), {}});
    }
  }
  constexpr std::size_t most_ticks = 8;
  page.section("power", "power over the step")
      .add(doc::Chart{
          .key = "power",
          .title = "power over the time of a step",
          .across =
              linear_axis(dates, FluidPlot::across_begin, FluidPlot::across_length, most_ticks, rounded_tick),
          .up = linear_axis(heights, FluidPlot::up_begin, FluidPlot::up_length, most_ticks, rounded_tick),
          .across_title = fmt::format("time in the step, {}", time.name),
          .up_title = fmt::format("power of all GPUs and nodes, {}", unit.name),
          .series = {std::move(curve)},
          .rules = {{.kind = "least",
                     .text = "mean of the step: " + estimate(run.energy->average),
                     .at = run.energy->average.si() / unit.watts}}});
}

}  // namespace trainyard
