#include "document/fluid_plot.hpp"
#include "document/time_unit.hpp"
#include "html/run_sections.hpp"
#include "learn/learn.hpp"
#include "report/run_words.hpp"
#include "run/learning.hpp"
#include "units/text.hpp"
#include "units/text_layout.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <functional>

namespace trainyard {

namespace {

/// A value of a point, if it has one.
using Curve = std::function<const Quartiles*(const LearningRow&)>;
using Across = std::function<double(const LearningRow&)>;

const Quartiles* loss_of(const LearningRow& row) { return &row.loss; }
const Quartiles* error_of(const LearningRow& row) { return row.error ? &*row.error : nullptr; }

struct PlotText {
  std::string name, across, up;
};

/// The median of the repeats, and the quartiles as thin lines. A target is a line across.
Html curve_plot(const std::vector<LearningRow>& rows, const PlotText& text, const Across& across,
                const Curve& curve, const std::optional<double>& target) {
  std::vector<PlotPoint> low, median, high;
  std::vector<double> x, y;
  for (const LearningRow& row : rows) {
    const Quartiles* const values = curve(row);
    if (values == nullptr) return {};
    const auto add = [&](std::vector<PlotPoint>& points, const std::optional<double>& value) {
      if (!value) return;
      points.push_back({across(row), *value,
                        fmt::format("{}, {} samples: {}", estimate(row.at),
                                    grouped(std::llround(row.samples)), rounded(*value))});
      x.push_back(across(row));
      y.push_back(*value);
    };
    add(low, values->low);
    add(median, values->median);
    add(high, values->high);
  }
  if (median.size() < 2) return {};
  if (target) y.push_back(*target);
  FluidPlot plot(
      text.name, linear_axis(x, FluidPlot::across_begin, FluidPlot::across_length, 9, rounded_tick),
      text.across, linear_axis(y, FluidPlot::up_begin, FluidPlot::up_length, 8, rounded_tick), text.up);
  plot.line("series1", low);
  plot.line("series1", high);
  plot.line("series0", median);
  if (target) plot.level("rule-used", *target);
  std::vector<LegendEntry> entries{{swatch_line("series0"), "median of the repeats"},
                                   {swatch_line("series1"), "quartiles"}};
  if (target) entries.push_back({swatch_line("rule-used"), "target"});
  return subheading(text.name) + plot.html() + legend(entries);
}

Html plots_html(const Run& run) {
  const Learning& learning = *run.learning;
  const LearnSettings& settings = *run.experiment.settings.learn;
  const std::vector<LearningRow> rows = learning_rows(learning);
  if (rows.empty()) return {};
  const TimeUnit unit = time_unit(rows.back().at);
  const Across time = [&](const LearningRow& row) { return row.at / Seconds(unit.seconds); };
  const Across samples = [](const LearningRow& row) { return row.samples; };
  const auto [loss, error] = target_or_end(settings);
  const std::string seconds = fmt::format("simulated time, {}", unit.name);
  Html html =
      curve_plot(rows, {"Training loss over simulated time", seconds, "training loss"}, time, loss_of, loss);
  html +=
      curve_plot(rows, {"Training loss over samples", "samples", "training loss"}, samples, loss_of, loss);
  const std::string name(error_name(learning));
  html += curve_plot(rows, {fmt::format("The {} over simulated time", name), seconds, name}, time, error_of,
                     error);
  HtmlTable table("learning curve",
                  {{"time"}, {"updates"}, {"samples"}, {"training loss"}, {std::string(name)}});
  for (const LearningRow& row : rows) {
    table.row(row.at, grouped(std::llround(row.updates)), grouped(std::llround(row.samples)),
              row.loss.median ? rounded(*row.loss.median) : "diverged",
              row.error && row.error->median ? percent(*row.error->median) : "");
  }
  if (const std::string words = ended_in_words(learning, rows); !words.empty())
    html += paragraph("In the curves " + words + ".");
  return html + folded("The same as a table", table.html(true));
}

/// "target missed", "diverged: the loss was above 1e6 at 12.3 s"
std::string verdict_in_words(const LearningRun& run) {
  std::string words(config::name_of(run.verdict));
  std::ranges::replace(words, '_', ' ');
  return run.reason.empty() ? words : words + ": " + run.reason;
}

Html repeats_html(const Learning& learning) {
  HtmlTable table("repeats", {{"repeat"},
                              {"end", true},
                              {"time to target"},
                              {"updates"},
                              {"samples"},
                              {"final loss"},
                              {"standard error"},
                              {"verdict", true}});
  for (std::size_t i = 0; i < learning.repeats.size(); ++i) {
    const LearningRun& one = learning.repeats[i];
    const auto number = [&](auto member) {
      return one.target ? grouped((*one.target).*member) : std::string();
    };
    table.row(std::to_string(i), std::string(config::name_of(one.end)),
              one.target ? std::optional(one.target->at) : std::nullopt, number(&TargetReached::updates),
              number(&TargetReached::samples), one.loss_floor ? rounded(one.loss_floor->mean) : "",
              one.loss_floor ? rounded(one.loss_floor->standard_error) : "", verdict_in_words(one));
  }
  return subheading("Repeats") + table.html(table.rows() > 20);
}

}  // namespace

Html learning_html(const Run& run) {
  if (!run.learning) return {};
  const Learning& learning = *run.learning;
  const std::size_t repeats = learning.repeats.size();
  Html html = paragraph(fmt::format("{}: {} parameters.", learning_title(run), grouped(learning.parameters)));
  if (const std::string words = failures_in_words(learning); !words.empty())
    html += element("p", as_text("Verdict: " + words + "."), " class=\"warning\"");
  HtmlTable table("what was learnt", {{"quantity", true}, {"value"}, {"", true}});
  const auto add = [&](const std::string& what, const Quartiles& quartiles, const auto& text,
                       const std::string& remark) {
    table.row(what, quartiles_in_words(quartiles, text, repeats), remark);
  };
  const auto count = [](double number) { return grouped(std::llround(number)); };
  if (learning.has_target) {
    const std::string target = target_in_words(*run.experiment.settings.learn);
    add(
        "time to target", learning.time_to_target_s, [](double time) { return estimate(Seconds(time)); },
        target);
    add("updates to target", learning.updates_to_target, count, "");
    add("samples to target", learning.samples_to_target, count, "in batches of the learner");
  }
  add("final loss", learning.final_loss, rounded, "training loss, mean of the last quarter of the time");
  if (learning.error_floor.median)
    add("error floor", learning.error_floor, percent, std::string(error_name(learning)));
  if (learning.rate_mean)
    table.row("rate", rounded(*learning.rate_mean), "factor of a gradient in its update, mean");
  if (learning.noise_scale)
    table.row("noise scale", rounded(*learning.noise_scale),
              "samples; batches much larger than that gain little");
  return html + table.html() + plots_html(run) + repeats_html(learning);
}

}  // namespace trainyard
