#include "document/time_unit.hpp"
#include "pages/sweep_curves.hpp"
#include "sweep/learning_front.hpp"
#include "sweep/run_sweep.hpp"
#include "units/text.hpp"
#include "units/text_layout.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace trainyard {
namespace {

constexpr std::size_t most_signs = 8;  // the style sheet's series
constexpr int mark_shapes = 4;
constexpr int ring = 4;

/// A point that learnt: its place in the plot, and the quartiles of its loss over the repeats.
struct LearningMark {
  std::size_t row = 0;
  double time = 0, loss = 0;
  std::optional<double> loss_low, loss_high;
};

std::vector<LearningMark> marks_of(const SweepResult& result, const char* time) {
  const auto has = [&](const char* name) {
    return std::ranges::find(result.figures, name) != result.figures.end();
  };
  std::vector<LearningMark> marks;
  if (!has("final_loss") || !has(time)) return marks;
  const auto quartile = [&](const SweepRow& row, const char* name) {
    return has(name) ? figure(result, row, name) : std::nullopt;
  };
  for (std::size_t i = 0; i < result.rows.size(); ++i) {
    const SweepRow& row = result.rows[i];
    const auto seconds = figure(result, row, time);
    const auto loss = figure(result, row, "final_loss");
    if (seconds.value_or(0) <= 0 || !loss) continue;
    marks.push_back({i, *seconds, *loss, quartile(row, "final_loss_low"), quartile(row, "final_loss_high")});
  }
  return marks;
}

/// The first key with several values, few enough for a sign each; its values in the order of the points.
struct SignKey {
  std::size_t key = 0;
  std::vector<std::string> values;  ///< empty: all points have one sign
};

SignKey key_of_signs(const SweepResult& result) {
  for (std::size_t key = 0; key < result.sweep.keys.size(); ++key) {
    SignKey found{.key = key, .values = {}};
    for (const SweepRow& row : result.rows) {
      const std::string& value = result.sweep.points[row.point][key];
      if (std::ranges::find(found.values, value) == found.values.end()) found.values.push_back(value);
    }
    if (found.values.size() > 1 && found.values.size() <= most_signs) return found;
  }
  return {};
}

/// Final losses over a time; nothing for a single point.
std::optional<doc::Chart> loss_chart(const SweepResult& result, const std::string& across, const char* time,
                                     const std::vector<std::size_t>& front) {
  const std::vector<LearningMark> marks = marks_of(result, time);
  if (marks.size() < 2) return std::nullopt;
  const SignKey signs = key_of_signs(result);
  const TimeUnit unit = time_unit(Seconds(std::ranges::max(marks, {}, &LearningMark::time).time));
  doc::Chart chart{.key = "learning",
                   .title = "final loss and " + across,
                   .across_title = fmt::format("{}, {}", across, unit.name),
                   .up_title = "final training loss"};
  const std::size_t count = std::max<std::size_t>(signs.values.size(), 1);
  for (std::size_t sign = 0; sign < count; ++sign) {
    const std::string name =
        signs.values.empty() ? "" : fmt::format("{}={}", result.sweep.keys[signs.key], signs.values[sign]);
    chart.series.push_back(
        {fmt::format("series{}", sign), name, {}, false, static_cast<int>(sign) % mark_shapes});
  }
  std::vector<PlotPoint> best;
  for (const LearningMark& mark : marks) {
    const SweepRow& row = result.rows[mark.row];
    const double x = mark.time / unit.seconds;
    const PlotPoint point{x, mark.loss,
                          fmt::format("{}: {}, final loss {}", point_in_words(result.sweep, row.point),
                                      estimate(Seconds(mark.time)), rounded(mark.loss))};
    const auto sign = signs.values.empty()
                          ? signs.values.begin()
                          : std::ranges::find(signs.values, result.sweep.points[row.point][signs.key]);
    chart.series[static_cast<std::size_t>(sign - signs.values.begin())].points.push_back(point);
    if (std::ranges::find(front, mark.row) != front.end()) best.push_back(point);
    if (mark.loss_low && mark.loss_high && *mark.loss_low < *mark.loss_high)
      chart.series.push_back({"quartiles",
                              "quartiles of the repeats",
                              {{x, *mark.loss_low, {}}, {x, *mark.loss_high, {}}},
                              true});
  }
  std::ranges::sort(best, {}, [](const PlotPoint& point) { return std::pair(point.x, -point.y); });
  chart.series.push_back({"on-front", "front", best, true, ring});
  chart.across =
      decades_axis(numbers_across(chart), FluidPlot::across_begin, FluidPlot::across_length, 6, rounded_tick);
  chart.up =
      linear_axis(numbers_upwards(chart), FluidPlot::up_begin, FluidPlot::up_length, 8, rounded_tick, false);
  return chart;
}

}  // namespace

void add_learning_charts(doc::Section& section, const SweepResult& result) {
  section.add(doc::Sentence{
      "Real gradients in the order of each point's updates. Frequent updates learn fast; updates of many and "
      "fresh gradients end lower. A point is on the front if no other is as fast and as low after as long, "
      "and better in one. Points that diverged or did not learn are left out."});
  if (auto chart = loss_chart(result, "time of an update", "step_time_s", error_runtime_front(result)))
    section.add(std::move(*chart));
  if (!has_target(result)) return;
  if (auto chart = loss_chart(result, "time to target", "time_to_target_s", learning_front(result)))
    section.add(std::move(*chart));
}

}  // namespace trainyard
