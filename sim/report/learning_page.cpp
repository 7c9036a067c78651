#include "document/time_unit.hpp"
#include "report/expected_error.hpp"
#include "report/run_words.hpp"
#include "run/learning.hpp"
#include "units/plural.hpp"
#include "units/text.hpp"
#include "units/text_layout.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <functional>

namespace trainyard {

namespace {

constexpr std::size_t most_printed = 9;  // of the printed curve

std::string time_text(double seconds) { return estimate(Seconds(seconds)); }

std::string loss_text(const std::optional<double>& loss) { return loss ? rounded(*loss) : "diverged"; }

/// Some of the points, the first and the last among them.
std::vector<LearningRow> thinned(const std::vector<LearningRow>& rows) {
  if (rows.size() <= most_printed) return rows;
  std::vector<LearningRow> some;
  for (std::size_t i = 0; i < most_printed; ++i)
    some.push_back(rows[(rows.size() - 1) * i / (most_printed - 1)]);
  return some;
}

/// A curve of the learning; `is_whole`: all points for a browser, otherwise some for the terminal.
doc::Table curve_table(const Learning& learning, const std::vector<LearningRow>& rows, bool is_whole) {
  const bool has_error = rows.front().error.has_value();
  doc::Table table{.key = "curve",
                   .title = "learning curve",
                   .columns = {{.head = "time", .layout = number_column(12)},
                               {.head = "updates", .layout = number_column(12).drops(1)},
                               {.head = "samples", .layout = number_column(12).drops(2)},
                               {.head = "loss", .layout = number_column(12)},
                               {.head = has_error ? std::string(error_name(learning)) : std::string(),
                                .layout = number_column(has_error ? 14 : 0)}},
                   .shape = {.indent = 2, .gap = 1, .elsewhere = "--json"},
                   .folded = is_whole ? "The same as a table" : "",
                   .shown = is_whole ? doc::Shown::browser : doc::Shown::text};
  for (const LearningRow& row : rows)
    table.rows.push_back(
        {.cells = {doc::Value(human_like(row.at, rows.back().at), row.at),
                   doc::Value(count_text(row.updates), row.updates),
                   doc::Value(count_text(row.samples), row.samples), loss_text(row.loss.median),
                   row.error && row.error->median ? percent(*row.error->median) : std::string()}});
  return table;
}

/// "22.4 s (quartiles 18.9 s and 25.0 s)": the median over the repeats, and the quartiles if there are
/// several.
std::string quartiles_in_words(const Quartiles& quartiles, const std::function<std::string(double)>& text,
                               std::size_t repeats) {
  if (!quartiles.median) return "reached in fewer than half of the repeats";
  std::string words = text(*quartiles.median);
  if (repeats < 2) return words;
  return words + fmt::format(" (quartiles {} and {})", quartiles.low ? text(*quartiles.low) : "none",
                             quartiles.high ? text(*quartiles.high) : "never");
}

/// "test error at most 8.0 % and training loss at most 0.75".
std::string target_in_words(const LearnSettings& settings) {
  const auto [loss, error] = target_or_end(settings);
  std::string words;
  if (error) words = fmt::format("test error at most {}", percent(*error));
  if (loss) words += fmt::format("{}training loss at most {}", words.empty() ? "" : " and ", digits12(*loss));
  return words;
}

/// "2 of 5 repeats diverged: the loss was above 1e6 at 12.3 s"; empty if all learnt.
std::string failures_in_words(const Learning& learning) {
  std::string words;
  const auto add = [&](int repeats, LearningVerdict verdict, const char* what) {
    if (repeats == 0) return;
    const auto first = std::ranges::find(learning.repeats, verdict, &LearningRun::verdict);
    words += fmt::format("{}{} of {} repeats {}: {}", words.empty() ? "" : "; ", repeats,
                         learning.repeats.size(), what, first->reason);
  };
  add(learning.diverged, LearningVerdict::diverged, "diverged");
  add(learning.not_learnt, LearningVerdict::not_learnt, "did not learn");
  return words;
}

std::string verdict_in_words(const Learning& learning) {
  const std::size_t failed =
      static_cast<std::size_t>(learning.diverged) + static_cast<std::size_t>(learning.not_learnt);
  const std::string verdict = learning.diverged > 0 ? "diverges" : "does not learn";
  return failed < learning.repeats.size() ? verdict + " at times" : verdict;
}

void add_targets(doc::Section& section, const Run& run) {
  const Learning& learning = *run.learning;
  if (!learning.has_target) return;
  const std::string target = target_in_words(*run.experiment.settings.learn);
  const auto reached =
      std::ranges::count_if(learning.repeats, [](auto& one) { return one.target.has_value(); });
  const auto all = static_cast<long>(learning.repeats.size());
  if (reached == 0) {
    section.fact("target", target + ": not reached");
    return;
  }
  section.fact("target",
               target + (reached < all ? fmt::format(": reached in {} of {} repeats", reached, all) : ""));
  const auto add = [&](const char* label, const Quartiles& quartiles, const auto& text) {
    section.fact(label, quartiles_in_words(quartiles, text, learning.repeats.size()));
  };
  add("time to target", learning.time_to_target_s, time_text);
  add("  updates", learning.updates_to_target, count_text);
  add("  samples", learning.samples_to_target, count_text);
}

/// The largest standard error of a repeat's floor.
double widest(const Learning& learning, std::optional<Floor> LearningRun::*floor) {
  double most = 0;
  for (const LearningRun& one : learning.repeats) {
    if (one.*floor) most = std::max(most, (one.*floor)->standard_error);
  }
  return most;
}

/// A value of a point, if it has one.
using Curve = std::function<const Quartiles*(const LearningRow&)>;
using Across = std::function<double(const LearningRow&)>;

const Quartiles* loss_of(const LearningRow& row) { return &row.loss; }
const Quartiles* test_error_of(const LearningRow& row) { return row.error ? &*row.error : nullptr; }

struct ChartText {
  std::string title, across, up;
};

/// The median of the repeats, and the quartiles as thin lines. A target is a line across.
void add_chart(doc::Section& section, const std::vector<LearningRow>& rows, const ChartText& text,
               const Across& across, const Curve& curve, const std::optional<double>& target) {
  doc::Chart chart{.key = "learning",
                   .title = text.title,
                   .across_title = text.across,
                   .up_title = text.up,
                   .series = {{"series1", "quartiles", {}, true},
                              {"series1", "", {}, true},
                              {"series0", "median of the repeats", {}, true}}};
  std::vector<double> x, y;
  for (const LearningRow& row : rows) {
    const Quartiles* const values = curve(row);
    if (values == nullptr) return;
    const auto add = [&](doc::Chart::Series& series, const std::optional<double>& value) {
      if (!value) return;
      series.points.push_back(
          {across(row), *value,
           fmt::format("{}, {} samples: {}", estimate(row.at), count_text(row.samples), rounded(*value))});
      x.push_back(across(row));
      y.push_back(*value);
    };
    add(chart.series[0], values->low);
    add(chart.series[1], values->high);
    add(chart.series[2], values->median);
  }
  if (chart.series.back().points.size() < 2) return;
  if (target) y.push_back(*target);
  chart.across = linear_axis(x, FluidPlot::across_begin, FluidPlot::across_length, 9, rounded_tick);
  chart.up = linear_axis(y, FluidPlot::up_begin, FluidPlot::up_length, 8, rounded_tick);
  if (target) chart.rules.push_back({.kind = "least", .text = "target", .at = *target});
  section.add(doc::Heading{text.title, {}, doc::Shown::browser});
  section.add(std::move(chart));
}

void add_charts(doc::Section& section, const Run& run, const std::vector<LearningRow>& rows) {
  const TimeUnit unit = time_unit(rows.back().at);
  const Across time = [&](const LearningRow& row) { return row.at / Seconds(unit.seconds); };
  const Across samples = [](const LearningRow& row) { return row.samples; };
  const auto [loss, error] = target_or_end(*run.experiment.settings.learn);
  const std::string seconds = fmt::format("simulated time, {}", unit.name);
  const std::string name(error_name(*run.learning));
  add_chart(section, rows, {"training loss over simulated time", seconds, "training loss"}, time, loss_of,
            loss);
  add_chart(section, rows, {"training loss over samples", "samples", "training loss"}, samples, loss_of,
            loss);
  add_chart(section, rows, {name + " over simulated time", seconds, name}, time, test_error_of, error);
}

/// "target missed", "diverged: the loss was above 1e6 at 12.3 s"
std::string end_of_job_in_words(const Run& run) {
  const Learning& learning = *run.learning;
  const auto four = [](double number) { return digits12(four_digits(number)); };
  const std::string bounds = bounds_in_words(run, "accuracy_at_end");
  const char* const of =
      run.experiment.settings.learn->accuracy_error ? " of the job" : " of one run of the learner";
  return fmt::format("test accuracy {}{}; training loss {}",
                     quartiles_in_words(learning.end_accuracy, percent, learning.repeats.size()),
                     bounds.empty() ? "" : ", " + bounds + of,
                     quartiles_in_words(learning.end_loss, four, learning.repeats.size()));
}

std::string end_in_words(const LearningRun& run) {
  std::string words(config::name_of(run.verdict));
  std::ranges::replace(words, '_', ' ');
  return run.reason.empty() ? words : words + ": " + run.reason;
}

doc::Table repeat_table(const Learning& learning) {
  doc::Table table{.key = "repeats", .title = "repeats", .shown = doc::Shown::browser};
  for (const char* const head :
       {"repeat", "time to target", "updates", "samples", "final loss", "standard error"})
    table.columns.push_back({.head = head, .layout = number_column()});
  for (const char* const head : {"end", "verdict"}) table.columns.push_back({.head = head});
  for (std::size_t i = 0; i < learning.repeats.size(); ++i) {
    const LearningRun& one = learning.repeats[i];
    const auto number = [&](auto member) {
      return one.target ? grouped((*one.target).*member) : std::string();
    };
    table.rows.push_back({.cells = {std::to_string(i), one.target ? estimate(one.target->at) : std::string(),
                                    number(&TargetReached::updates), number(&TargetReached::samples),
                                    one.loss_floor ? rounded(one.loss_floor->mean) : "",
                                    one.loss_floor ? rounded(one.loss_floor->standard_error) : "",
                                    std::string(config::name_of(one.end)), end_in_words(one)}});
  }
  return table;
}

}  // namespace

void add_learning(doc::Document& page, const Run& run) {
  if (!run.learning) return;
  const Learning& learning = *run.learning;
  const std::size_t repeats = learning.repeats.size();
  doc::Section& section = page.section("learning", "learning", learning_title(run));
  if (const std::string words = failures_in_words(learning); !words.empty())
    section.add(doc::Fact{{}, "verdict", doc::Value(verdict_in_words(learning)), words, true});
  add_targets(section, run);
  const auto four = [](double number) { return digits12(four_digits(number)); };
  if (learning.final_loss.median)
    section.fact("final loss", fmt::format("{}, mean of the last quarter; standard error up to {}",
                                           quartiles_in_words(learning.final_loss, four, repeats),
                                           rounded(widest(learning, &LearningRun::loss_floor))));
  if (learning.error_floor.median)
    section.fact("error floor", fmt::format("{} {}", error_name(learning),
                                            quartiles_in_words(learning.error_floor, percent, repeats)));
  if (run.experiment.settings.learn->until.job && learning.end_accuracy.median)
    section.fact("end of the job", end_of_job_in_words(run));
  if (learning.rate_mean)
    section.fact("rate",
                 fmt::format("{} per mini-batch's gradient ({}); staleness {}", four(*learning.rate_mean),
                             config::name_of(run.experiment.settings.learn->rate.rule),
                             learning.staleness_mean ? rounded(*learning.staleness_mean) : "unknown"));
  if (learning.noise_scale)
    section.fact("noise scale", fmt::format("{} samples: batches much larger than that gain little",
                                            rounded(*learning.noise_scale)));
  section.add(doc::Fact{{}, "parameters", {}, grouped(learning.parameters), false, doc::Shown::browser});
  const std::vector<LearningRow> rows = learning_rows(learning);
  if (repeats > 1)
    section.add(
        doc::Listing{.text = fmt::format("  medians of {}:", count(static_cast<int>(repeats), "repeat")),
                     .shown = doc::Shown::text});
  if (!rows.empty()) {
    section.add(curve_table(learning, thinned(rows), false));
    add_charts(section, run, rows);
    section.add(curve_table(learning, rows, true));
    if (const std::string words = ended_in_words(learning, thinned(rows)); !words.empty())
      section.add(doc::Sentence{words});
  }
  section.add(doc::Heading{"repeats", {}, doc::Shown::browser});
  section.add(repeat_table(learning));
}

}  // namespace trainyard
