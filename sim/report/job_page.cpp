#include "report/expected_error.hpp"
#include "report/figure_text.hpp"
#include "report/run_words.hpp"
#include "run/expected_bounds.hpp"
#include "units/text.hpp"
#include "units/text_layout.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <string_view>

namespace trainyard {

namespace {

/// A phase's fill in charts, and what is counted in it: empty if it comes once.
struct PhaseWords {
  const char* fill = "";
  const char* noun = "";
};

PhaseWords words_of(JobPhase phase, bool has_updates) {
  switch (phase) {
    case JobPhase::launch:
      return {"framework", ""};
    case JobPhase::load:
      return {"input", "load"};
    case JobPhase::checkpoint:
      return {"input", "checkpoint"};
    case JobPhase::negotiation:
      return {"waiting", ""};
    case JobPhase::broadcast:
      return {"communication", ""};
    case JobPhase::callbacks:
      return {"communication", "epoch"};
    case JobPhase::training:
      return {"compute", has_updates ? "update" : "step"};
    case JobPhase::evaluation:
      return {"forward", "evaluation"};
    case JobPhase::lost_work:
      return {"wasted-compute", "restart"};
    case JobPhase::missing_ranks:
      return {"waiting", "fault"};
    case JobPhase::restart:
      return {"waiting", "restart"};
  }
  return {};
}

/// Whole numbers as they are: "90", "56,302"; others rounded.
std::string number_in_words(double number) {
  constexpr double rounding = 1e-9;
  constexpr double most = 1e15;
  const double whole = std::round(number);
  const bool is_whole = std::abs(number - whole) <= rounding * std::max(1.0, number) && whole < most;
  return is_whole ? grouped(std::llround(whole)) : rounded(number);
}

std::string counted(double number, std::string_view noun) {
  return fmt::format("{} {}{}", number_in_words(number), noun, number == 1 ? "" : "s");
}

std::string needs_in_words(const Known<Joules>& energy, const Known<Dollars>& rent, bool is_assumed) {
  std::string text;
  if (energy) text = estimate(*energy);
  if (rent) text += (text.empty() ? "" : "; ") + cost_in_words(rent->si(), is_assumed);
  return text;
}

/// Time, and cost and energy, to the target with their intervals.
void add_target(doc::Section& section, const Run& run) {
  const WholeJob& job = *run.job;
  const auto add = [&](const char* label, const auto& value, const auto& in_words,
                       const Known<ErrorBounds>& bounds, std::string_view what = {}) {
    std::string remark;
    if (bounds)
      remark = fmt::format("{} to {} expected{}", in_words((1 + bounds->low) * value),
                           in_words((1 + bounds->high) * value), what);
    section.add(doc::Fact{{}, label, doc::Value(in_words(value), value), remark});
  };
  add(
      "to target", time_of_epochs(job), [](Seconds time) { return estimate(time); }, bounds_of_target(run),
      " for 80 % of runs");
  if (const Known<Dollars> rent = rent_of_epochs(job))
    add(
        "cost", *rent, [](Dollars cost) { return rounded(cost.si()) + " USD"; }, bounds_of_target(run),
        is_rent_assumed(run.experiment.platform) ? ", assumed price" : "");
  if (const Known<Joules> energy = energy_of_epochs(job))
    add(
        "energy", *energy, [](Joules joules) { return estimate(joules); }, energy_bounds_of_target(run));
}

/// The phases as parts of a bar, for pages.
doc::Bars phase_bar(const WholeJob& job) {
  doc::Bars::Bar bar;
  for (const JobPart& part : job.parts) {
    if (part.time <= Seconds{}) continue;
    std::string name(config::name_of(part.phase));
    std::ranges::replace(name, '_', ' ');
    const double share = part.time / job.time;
    bar.parts.push_back({words_of(part.phase, false).fill, name, share,
                         fmt::format("{}, {}", estimate(part.time), percent(share))});
  }
  return {.key = "phases", .title = "parts of the whole job", .bars = {std::move(bar)}, .has_legend = true};
}

/// "76.4 % top-1".
std::string accuracy_in_words(const JobAccuracy& accuracy) {
  return fmt::format("{} {}", percent(accuracy.expected.accuracy), accuracy.table.metric);
}

/// Where it is from, and its interval.
std::string accuracy_remark(const JobAccuracy& accuracy) {
  const AccuracyAtEnd& expected = accuracy.expected;
  std::string from = "interpolated between published batches";
  if (expected.published) from = fmt::format("published at batch {}", grouped(std::llround(accuracy.batch)));
  if (expected.range == BatchRange::below) from = "as the smallest published batch";
  if (expected.range == BatchRange::beyond) from = "beyond the published batches: extrapolated";
  return fmt::format("{}; {} to {} expected for 80 % of runs", from, percent(expected.low),
                     percent(expected.high));
}

/// "90 evaluations"; empty for a phase that comes once.
std::string times_in_words(const JobPart& part, bool has_updates) {
  const std::string_view noun = words_of(part.phase, has_updates).noun;
  return noun.empty() ? std::string() : counted(part.times, noun);
}

}  // namespace

std::string job_in_words(const Run& run) {
  const bool has_updates = updates_of(run) != nullptr;
  const std::string steps = counted(run.job->steps, words_of(JobPhase::training, has_updates).noun);
  std::string length =
      run.job->epochs ? fmt::format("{}, {}", counted(*run.job->epochs, "epoch"), steps) : steps;
  if (run.experiment.settings.job->tokens)
    length = fmt::format("{}, {}", tokens_in_words(run.job->tokens.value()), length);
  return run.job->target ? fmt::format("{} to {}", length, run.job->target->target) : length;
}

void add_job(doc::Document& page, const Run& run) {
  if (!run.job) return;
  const WholeJob& job = *run.job;
  const bool is_assumed = is_rent_assumed(run.experiment.platform);
  doc::Section& section = page.section("job", "the whole job", job_in_words(run));
  section.add(phase_bar(job));
  std::string needs = needs_in_words(job.energy, job.rent, is_assumed);
  if (const std::string interval = bounds_in_words(run, "job_time_s"); !interval.empty())
    needs += (needs.empty() ? "" : "; ") + interval;
  section.add(doc::Fact{"job_time_s", "total", doc::Value(estimate(job.time), job.time), needs, true});
  for (const JobPart& part : job.parts) {
    std::string name(config::name_of(part.phase));
    std::ranges::replace(name, '_', ' ');
    std::string remark = percent(part.time / job.time);
    for (const std::string& more : {needs_in_words(part.energy, part.rent, is_assumed),
                                    times_in_words(part, updates_of(run) != nullptr)}) {
      if (!more.empty()) remark += "; " + more;
    }
    section.add(doc::Fact{{}, name, doc::Value(estimate(part.time), part.time), remark});
  }
  if (job.accuracy)
    section.add(doc::Fact{
        {}, "accuracy", doc::Value(accuracy_in_words(*job.accuracy)), accuracy_remark(*job.accuracy)});
  if (job.target) add_target(section, run);
}

}  // namespace trainyard
