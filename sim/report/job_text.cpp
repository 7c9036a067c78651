#include "report/expected_error.hpp"
#include "report/figure_text.hpp"
#include "report/run_words.hpp"
#include "report/text_layout.hpp"
#include "run/expected_bounds.hpp"
#include "units/text.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <string_view>

namespace trainyard {

namespace {

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

std::string_view noun_of(JobPhase phase, bool has_updates) {
  switch (phase) {
    case JobPhase::load:
      return "load";
    case JobPhase::training:
      return has_updates ? "update" : "step";
    case JobPhase::evaluation:
      return "evaluation";
    case JobPhase::checkpoint:
      return "checkpoint";
    case JobPhase::missing_ranks:
      return "fault";
    case JobPhase::lost_work:
    case JobPhase::restart:
      return "restart";
    case JobPhase::launch:
    case JobPhase::broadcast:
      break;
  }
  return {};
}

std::string needs_in_words(const Known<Joules>& energy, const Known<Dollars>& rent, bool is_assumed) {
  std::string text;
  if (energy) text = estimate(*energy);
  if (rent) text += (text.empty() ? "" : "; ") + cost_in_words(rent->si(), is_assumed);
  return text;
}

/// Time, and cost and energy, to the target with their intervals.
void write_target(Page& out, const Run& run) {
  const WholeJob& job = *run.job;
  const auto row = [&](const char* label, const auto& value, const auto& in_words,
                       const Known<ErrorBounds>& bounds, std::string_view what = {}) {
    std::string remark;
    if (bounds)
      remark = fmt::format("{} to {} expected{}", in_words((1 + bounds->low) * value),
                           in_words((1 + bounds->high) * value), what);
    out.row(label, in_words(value), remark);
  };
  row(
      "to target", time_of_epochs(job), [](Seconds time) { return estimate(time); }, bounds_of_target(run),
      " for 80 % of runs");
  if (const Known<Dollars> rent = rent_of_epochs(job))
    row(
        "cost", *rent, [](Dollars cost) { return rounded(cost.si()) + " USD"; }, bounds_of_target(run),
        is_rent_assumed(run.experiment.platform) ? ", assumed price" : "");
  if (const Known<Joules> energy = energy_of_epochs(job))
    row(
        "energy", *energy, [](Joules its) { return estimate(its); }, energy_bounds_of_target(run));
}

}  // namespace

std::string accuracy_in_words(const JobAccuracy& its) {
  return fmt::format("{} {}", percent(its.expected.accuracy), its.table.metric);
}

std::string accuracy_remark(const JobAccuracy& its) {
  const AccuracyAtEnd& expected = its.expected;
  std::string from = "interpolated between published batches";
  if (expected.published) from = fmt::format("published at batch {}", grouped(std::llround(its.batch)));
  if (expected.range == BatchRange::below) from = "as the smallest published batch";
  if (expected.range == BatchRange::beyond) from = "beyond the published batches: extrapolated";
  return fmt::format("{}; {} to {} expected for 80 % of runs", from, percent(expected.low),
                     percent(expected.high));
}

std::string job_in_words(const Run& run) {
  const bool has_updates = updates_of(run) != nullptr;
  const std::string steps = counted(run.job->steps, noun_of(JobPhase::training, has_updates));
  const std::string length =
      run.job->epochs ? fmt::format("{}, {}", counted(*run.job->epochs, "epoch"), steps) : steps;
  return run.job->target ? fmt::format("{} to {}", length, run.job->target->target) : length;
}

std::string times_in_words(const JobPart& part, bool has_updates) {
  const std::string_view noun = noun_of(part.phase, has_updates);
  return noun.empty() ? std::string() : counted(part.times, noun);
}

void write_job(Page& out, const Run& run) {
  const WholeJob& job = *run.job;
  const bool is_assumed = is_rent_assumed(run.experiment.platform);
  out.heading("the whole job", job_in_words(run));
  std::string needs = needs_in_words(job.energy, job.rent, is_assumed);
  if (const std::string interval = bounds_in_words(run, "job_time_s"); !interval.empty())
    needs += (needs.empty() ? "" : "; ") + interval;
  out.row("total", estimate(job.time), needs, true);
  for (const JobPart& part : job.parts) {
    std::string name(config::name_of(part.phase));
    std::ranges::replace(name, '_', ' ');
    std::string remark = percent(part.time / job.time);
    for (const std::string& more : {needs_in_words(part.energy, part.rent, is_assumed),
                                    times_in_words(part, updates_of(run) != nullptr)}) {
      if (!more.empty()) remark += "; " + more;
    }
    out.row(name, estimate(part.time), remark);
  }
  if (job.accuracy) out.row("accuracy", accuracy_in_words(*job.accuracy), accuracy_remark(*job.accuracy));
  if (job.target) write_target(out, run);
}

}  // namespace trainyard
