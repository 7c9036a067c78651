#include "html/sweep_learning.hpp"

#include "document/fluid_plot.hpp"
#include "document/html_page.hpp"
#include "document/time_unit.hpp"
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
constexpr std::size_t most_listed = 20;

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

struct LearningPlot {
  std::string name;
  std::string across;  ///< title of the axis, without its unit
  const char* time;    ///< figure
};

Html loss_plot(const SweepResult& result, const LearningPlot& text, const std::vector<std::size_t>& front,
               const SignKey& signs) {
  const std::vector<LearningMark> marks = marks_of(result, text.time);
  if (marks.size() < 2) return {};
  std::vector<double> times, losses;
  for (const LearningMark& mark : marks) {
    times.push_back(mark.time);
    losses.push_back(mark.loss);
    if (mark.loss_low) losses.push_back(*mark.loss_low);
    if (mark.loss_high) losses.push_back(*mark.loss_high);
  }
  const TimeUnit unit = time_unit(Seconds(std::ranges::max(times)));  // short texts of ticks, also on a phone
  for (double& time : times) time /= unit.seconds;
  FluidPlot plot(text.name,
                 decades_axis(times, FluidPlot::across_begin, FluidPlot::across_length, 6, rounded_tick),
                 fmt::format("{}, {}", text.across, unit.name),
                 linear_axis(losses, FluidPlot::up_begin, FluidPlot::up_length, 8, rounded_tick, false),
                 "final training loss");
  const auto point_of = [&](const LearningMark& mark) {
    const SweepRow& row = result.rows[mark.row];
    return PlotPoint{mark.time / unit.seconds, mark.loss,
                     fmt::format("{}: {}, final loss {}", point_in_words(result.sweep, row.point),
                                 estimate(Seconds(mark.time)), rounded(mark.loss))};
  };
  for (const LearningMark& mark : marks) {
    if (mark.loss_low && mark.loss_high && *mark.loss_low < *mark.loss_high)
      plot.line("quartiles", {{mark.time / unit.seconds, *mark.loss_low, {}},
                              {mark.time / unit.seconds, *mark.loss_high, {}}});
  }
  const std::size_t count = std::max<std::size_t>(signs.values.size(), 1);
  for (std::size_t sign = 0; sign < count; ++sign) {
    std::vector<PlotPoint> points;
    for (const LearningMark& mark : marks) {
      const PointValues& values = result.sweep.points[result.rows[mark.row].point];
      if (signs.values.empty() || values[signs.key] == signs.values[sign]) points.push_back(point_of(mark));
    }
    plot.marks(fmt::format("series{}", sign), static_cast<int>(sign) % mark_shapes, points);
  }
  std::vector<PlotPoint> best;
  for (const LearningMark& mark : marks) {
    if (std::ranges::find(front, mark.row) != front.end()) best.push_back(point_of(mark));
  }
  std::ranges::sort(best, {}, [](const PlotPoint& point) { return std::pair(point.x, -point.y); });
  plot.line("on-front", best);
  plot.marks("on-front", ring, best);
  return element("div", subheading(text.name) + plot.html(), "") + Html{"\n"};
}

}  // namespace

Html learning_plots(const SweepResult& result) {
  const SignKey signs = key_of_signs(result);
  const bool is_to_target = has_target(result);
  Html plots = loss_plot(result, {"Final loss and time of an update", "time of an update", "step_time_s"},
                         error_runtime_front(result), signs);
  if (is_to_target)
    plots += loss_plot(result, {"Final loss and time to target", "time to target", "time_to_target_s"},
                       learning_front(result), signs);
  if (plots.markup.empty()) return {};
  std::vector<LegendEntry> entries;
  for (std::size_t i = 0; i < signs.values.size(); ++i)
    entries.push_back({mark_sign(fmt::format("series{}", i), static_cast<int>(i) % mark_shapes),
                       fmt::format("{}={}", result.sweep.keys[signs.key], signs.values[i])});
  entries.push_back({mark_sign("on-front", ring), "front"});
  entries.push_back({swatch_line("quartiles"), "quartiles of the repeats"});
  Html html = paragraph(
      "Real gradients in the order of each point's updates. Frequent updates learn fast; updates of many and "
      "fresh gradients end lower. A point is on the front if no other is as fast and as low after as long, "
      "and better in one. Points that diverged or did not learn are left out.");
  html += element("div", plots, " class=\"plots\"") + Html{"\n"} + legend(entries);
  const std::vector<std::size_t> front = learning_front(result);
  HtmlTable table(
      "front of learning",
      {{"point"}, {"keys", true}, {is_to_target ? "time to target" : "time of an update"}, {"final loss"}});
  for (const std::size_t row : front) {
    if (table.rows() == most_listed) break;
    const SweepRow& point = result.rows[row];
    table.row(grouped(static_cast<std::int64_t>(point.point)), point_in_words(result.sweep, point.point),
              Seconds(figure(result, point, is_to_target ? "time_to_target_s" : "step_time_s").value()),
              rounded(figure(result, point, "final_loss").value()));
  }
  return html + subheading("The front") + table.html();
}

}  // namespace trainyard
