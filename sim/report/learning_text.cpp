#include "report/run_words.hpp"
#include "run/learning.hpp"
#include "units/plural.hpp"
#include "units/text.hpp"
#include "units/text_layout.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

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

void write_curve(Page& out, const Learning& learning) {
  const std::vector<LearningRow> rows = thinned(learning_rows(learning));
  if (rows.empty()) return;
  const bool has_error = rows.front().error.has_value();
  Table table({number_column(12), number_column(12).drops(1), number_column(12).drops(2), number_column(12),
               number_column(has_error ? 14 : 0)},
              {.indent = 2, .gap = 1, .elsewhere = "--json"});
  table.row("time", "updates", "samples", "loss", has_error ? error_name(learning) : "");
  for (const LearningRow& row : rows)
    table.row(human_like(row.at, rows.back().at), count_text(row.updates), count_text(row.samples),
              loss_text(row.loss.median),
              row.error && row.error->median ? percent(*row.error->median) : std::string());
  out.table(table);
  if (const std::string words = ended_in_words(learning, rows); !words.empty()) out.paragraph(words, 2);
}

void write_targets(Page& out, const Run& run) {
  const Learning& learning = *run.learning;
  if (!learning.has_target) return;
  const std::string target = target_in_words(*run.experiment.settings.learn);
  const auto reached =
      std::ranges::count_if(learning.repeats, [](auto& one) { return one.target.has_value(); });
  const auto all = static_cast<long>(learning.repeats.size());
  if (reached == 0) {
    out.text_row("target", target + ": not reached");
    return;
  }
  out.text_row("target",
               target + (reached < all ? fmt::format(": reached in {} of {} repeats", reached, all) : ""));
  const auto write = [&](const char* label, const Quartiles& quartiles, const auto& text) {
    out.text_row(label, quartiles_in_words(quartiles, text, learning.repeats.size()));
  };
  write("time to target", learning.time_to_target_s, time_text);
  write("  updates", learning.updates_to_target, count_text);
  write("  samples", learning.samples_to_target, count_text);
}

/// The largest standard error of a repeat's floor.
double widest(const Learning& learning, std::optional<Floor> LearningRun::*floor) {
  double most = 0;
  for (const LearningRun& one : learning.repeats) {
    if (one.*floor) most = std::max(most, (one.*floor)->standard_error);
  }
  return most;
}

}  // namespace

std::string quartiles_in_words(const Quartiles& quartiles, const std::function<std::string(double)>& text,
                               std::size_t repeats) {
  if (!quartiles.median) return "reached in fewer than half of the repeats";
  std::string words = text(*quartiles.median);
  if (repeats < 2) return words;
  return words + fmt::format(" (quartiles {} and {})", quartiles.low ? text(*quartiles.low) : "none",
                             quartiles.high ? text(*quartiles.high) : "never");
}

std::string target_in_words(const LearnSettings& settings) {
  const auto [loss, error] = target_or_end(settings);
  std::string words;
  if (error) words = fmt::format("test error at most {}", percent(*error));
  if (loss) words += fmt::format("{}training loss at most {}", words.empty() ? "" : " and ", digits12(*loss));
  return words;
}

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

void write_learning(Page& out, const Run& run) {
  const Learning& learning = *run.learning;
  const std::size_t repeats = learning.repeats.size();
  out.heading("learning", learning_title(run));
  if (const std::string words = failures_in_words(learning); !words.empty())
    out.row("verdict", verdict_in_words(learning), words, true);
  write_targets(out, run);
  const auto four = [](double number) { return digits12(four_digits(number)); };
  if (learning.final_loss.median) {
    out.text_row("final loss", fmt::format("{}, mean of the last quarter{}",
                                           quartiles_in_words(learning.final_loss, four, repeats),
                                           fmt::format("; standard error up to {}",
                                                       rounded(widest(learning, &LearningRun::loss_floor)))));
  }
  if (learning.error_floor.median)
    out.text_row("error floor", fmt::format("{} {}", error_name(learning),
                                            quartiles_in_words(learning.error_floor, percent, repeats)));
  if (learning.rate_mean)
    out.text_row("rate",
                 fmt::format("{} per mini-batch's gradient ({}); staleness {}", four(*learning.rate_mean),
                             config::name_of(run.experiment.settings.learn->rate.rule),
                             learning.staleness_mean ? rounded(*learning.staleness_mean) : "unknown"));
  if (learning.noise_scale)
    out.text_row("noise scale", fmt::format("{} samples: batches much larger than that gain little",
                                            rounded(*learning.noise_scale)));
  if (repeats > 1) out.line(fmt::format("  medians of {}:", plural(static_cast<int>(repeats), "repeat")));
  write_curve(out, learning);
}

}  // namespace trainyard
