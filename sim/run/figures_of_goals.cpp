#include "learn/learn.hpp"
#include "run/expected_bounds.hpp"
#include "run/figure_getters.hpp"
#include "run/figure_groups.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <iterator>
#include <optional>
#include <string_view>
#include <variant>
#include <vector>

namespace trainyard::figure_groups {

namespace {

/// A figure of jobs that end at a target.
template <class Get>
Getter of_target_job(Get get) {
  return [get](const Run& run) {
    return run.job && run.job->target ? to_value(std::invoke(get, run)) : Value(none());
  };
}

Value epochs_to_target(const Run& run) {
  const std::optional<double>& epochs = run.job->target->epochs;
  return epochs ? to_value(*epochs) : Value(unknown("the model does not state the samples of an epoch"));
}

/// An end of the interval of a figure of the time to the target.
template <class Get>
Getter target_end(double ErrorBounds::*end, Known<ErrorBounds> (*bounds_of)(const Run&), Get get) {
  return of_target_job([=](const Run& run) -> Value {
    const Value value = to_value(get(*run.job));
    const Known<ErrorBounds> bounds = bounds_of(run);
    if (!value) return value;
    return bounds ? to_value((1 + (*bounds).*end) * std::get<double>(*value))
                  : Value(unknown(bounds.error()));
  });
}

/// A figure of the accuracy that a job of a fixed number of epochs reaches.
template <class Get>
Getter of_accuracy_at_end(Get get) {
  return [get](const Run& run) -> Value {
    if (!run.job) return none();
    const Known<JobAccuracy>& accuracy = run.job->accuracy;
    return accuracy ? to_value(std::invoke(get, *accuracy)) : Value(unknown(accuracy.error()));
  };
}

/// A figure of runs that learn.
template <class Get>
Getter of_learning_run(Get get) {
  return [get](const Run& run) {
    return run.learning ? to_value(std::invoke(get, *run.learning)) : Value(none());
  };
}

/// A figure of runs that learn, over their repeats.
Getter of_repeats(Quartiles Learning::*figure, std::optional<double> Quartiles::*quartile,
                  bool is_of_target) {
  return of_learning_run([=](const Learning& learning) -> Value {
    if (is_of_target && !learning.has_target) return unknown("no target is given (learn.target)");
    const std::optional<double>& value = learning.*figure.*quartile;
    if (value) return to_value(*value);
    if (learning.diverged > 0 && learning.not_learnt > 0)
      return unknown("the loss diverged or ended above its start in too many of the repeats");
    if (learning.diverged > 0) return unknown("the loss diverged in too many of the repeats");
    if (learning.not_learnt > 0) return unknown("the loss ended above its start in too many of the repeats");
    return unknown(
        is_of_target
            ? "the target was not reached in enough of the repeats"
            : "the replay ended at its goal (learn.until), the curve has too few points, or no error "
              "is defined");
  });
}

/// Updates that have begun.
double whole_updates(double number) {
  constexpr double rounding = 1e-9;
  return std::ceil(number - rounding);
}

/// The figure of the learner if the run has one, otherwise that of a job that ends at a target.
Getter reached(Quartiles Learning::*figure, std::optional<double> Quartiles::*quartile,
               const Getter& of_job) {
  return [of_job, of_learner = of_repeats(figure, quartile, true)](const Run& run) {
    return run.learning ? of_learner(run) : of_job(run);
  };
}

/// The share of outcomes within the intervals to a target: of predictions, or of repeats (quartiles).
Known<FigureValue> share_of_interval(const Run& run) {
  constexpr double between_quartiles = 0.5;
  if (run.learning)
    return run.learning->has_target ? to_value(between_quartiles)
                                    : Value(unknown("no target is given (learn.target)"));
  constexpr double expected = 0.8;
  return of_target_job([](const Run&) { return expected; })(run);
}

/// A figure of the learner at the end of the job.
Getter of_end_of_job(Quartiles Learning::*figure) {
  return [of = of_repeats(figure, &Quartiles::median, false)](const Run& run) {
    const auto& learn = run.experiment.settings.learn;
    return learn && learn->until.job ? of(run) : Value(none());
  };
}

Getter of_accuracy_bound(double ErrorBounds::*end) {
  return [end, of = of_end_of_job(&Learning::end_accuracy)](const Run& run) -> Value {
    Value accuracy = of(run);
    if (!accuracy) return accuracy;
    const Known<ErrorBounds> bounds = bounds_of_end_accuracy(run);
    if (!bounds) return unknown(bounds.error());
    return (1 + (*bounds).*end) * std::get<double>(*accuracy);
  };
}

std::vector<Figure> figures_of_end_of_job() {
  return {
      Figure{"loss_at_end", "loss at the end", FigureUnit::number,
             "with `learn.until.job`: training loss after the last update of the job; median of the repeats",
             "", of_learning, of_end_of_job(&Learning::end_loss)},
      Figure{"accuracy_at_end", "accuracy at the end", share,
             "with `learn.until.job`: fraction of test samples that are right after the last update of the "
             "job; median of the repeats",
             "", of_learning, of_end_of_job(&Learning::end_accuracy)},
      Figure{
          "accuracy_at_end_low", "accuracy at the end, low", share,
          "lower end of the interval (80 %) of one more run of the learner, with another seed and on other "
          "test samples; with `learn.accuracy_error`, of the job that it stands for",
          "", of_learning_in_sweeps, of_accuracy_bound(&ErrorBounds::low)},
      Figure{"accuracy_at_end_high", "accuracy at the end, high", share, "upper end of that interval", "",
             of_learning_in_sweeps, of_accuracy_bound(&ErrorBounds::high)}};
}

}  // namespace

std::vector<Figure> figures_of_learning() {
  struct Fields {
    std::array<std::string_view, 3> fields, labels;
    FigureUnit unit{};
    std::string_view doc;
    Quartiles Learning::*figure;
    Shown shown;
  };
  const Fields all[] = {
      {{"final_loss", "final_loss_low", "final_loss_high"},
       {"final loss", "final loss, low", "final loss, high"},
       FigureUnit::number,
       "with `learn`: training loss, mean of the last quarter of the time; median of the repeats",
       &Learning::final_loss,
       of_learning},
      {{"error_floor", "error_floor_low", "error_floor_high"},
       {"error floor", "error floor, low", "error floor, high"},
       share,
       "with `learn`: fraction of test samples that are wrong (of training samples if there is no test set), "
       "mean of the last quarter of the time; median of the repeats",
       &Learning::error_floor,
       of_learning_in_tables}};
  std::vector<Figure> figures;
  for (const Fields& one : all) {
    constexpr std::array quartiles{&Quartiles::median, &Quartiles::low, &Quartiles::high};
    constexpr std::array docs{std::string_view(), std::string_view("the quartile below it"),
                              std::string_view("the quartile above it; null if fewer than three quarters of "
                                               "the repeats get there")};
    for (std::size_t i = 0; i < quartiles.size(); ++i) {
      figures.push_back({one.fields[i], one.labels[i], one.unit, i == 0 ? one.doc : docs[i], "",
                         i == 0 ? one.shown : of_learning_in_sweeps,
                         of_repeats(one.figure, quartiles[i], false)});
    }
  }
  std::ranges::move(figures_of_end_of_job(), std::back_inserter(figures));
  figures.push_back({"diverged", "diverged repeats", FigureUnit::count,
                     "with `learn`: repeats whose loss was not a number, or more than a million times its "
                     "start",
                     "", of_learning_in_tables, of_learning_run(&Learning::diverged)});
  figures.push_back({"not_learnt", "repeats that did not learn", FigureUnit::count,
                     "with `learn`: repeats whose loss ended above its start without having met a target", "",
                     of_learning_in_sweeps, of_learning_run(&Learning::not_learnt)});
  figures.push_back({"learning_time_s", "simulated time of learning", FigureUnit::time,
                     "with `learn`: simulated time at which the replay ended, median of the repeats; "
                     "`final_loss` is that of its last quarter",
                     "", of_learning_in_sweeps, of_repeats(&Learning::time, &Quartiles::median, false)});
  figures.push_back({"learning_repeats", "learning repeats", FigureUnit::count,
                     "with `learn`: repetitions of the replay, each with other batches and starts", "",
                     summary_only, of_learning_run([](auto& learning) { return learning.repeats.size(); })});
  return figures;
}

std::vector<Figure> figures_of_the_target() {
  const auto of_samples = [](std::optional<double> Quartiles::*quartile, auto member) {
    return reached(&Learning::samples_to_target, quartile,
                   of_target_job([member](const Run& run) { return (*run.job->target).*member; }));
  };
  const auto of_updates = [](std::optional<double> Quartiles::*quartile, auto member) {
    return reached(&Learning::updates_to_target, quartile, of_target_job([member](const Run& run) {
      const ReachedTarget& target = *run.job->target;
      return whole_updates(target.*member / (run.pace.throughput * run.pace.time.si()));
    }));
  };
  return {
      Figure{"target", "target", FigureUnit::text, "with `job.target`: what the training reaches", "",
             summary_only,
             of_target_job([](const Run& run) -> std::string_view { return run.job->target->target; })},
      Figure{"samples_to_target", "samples to target", samples,
             "with `job.target`: samples after which the training ends, from the published runs of the "
             "model's `convergence`; with `learn`: of the learner, median of the repeats",
             "", of_reached_in_tables, of_samples(&Quartiles::median, &ReachedTarget::samples)},
      Figure{"samples_to_target_low", "samples to target, low", samples,
             "`to_target_interval_share` of single runs are expected to need between this and "
             "`samples_to_target_high`",
             "", of_reached_in_tables, of_samples(&Quartiles::low, &ReachedTarget::samples_low)},
      Figure{"samples_to_target_high", "samples to target, high", samples,
             "upper end of that interval; with `learn` null if fewer than three quarters get there", "",
             of_reached_in_tables, of_samples(&Quartiles::high, &ReachedTarget::samples_high)},
      Figure{
          "samples_range", "range of the samples", FigureUnit::batch_range,
          "with `job.target`: `measured`, if the published runs of `convergence` have batches as small and "
          "as large as this, otherwise `below` or `beyond`",
          "", of_target_in_sweeps, of_target_job([](const Run& run) { return run.job->target->range; })},
      Figure{"updates_to_target", "updates to target", FigureUnit::number,
             "`samples_to_target` over the samples of an update, rounded up; with `learn`: of the learner",
             "", of_reached_in_tables, of_updates(&Quartiles::median, &ReachedTarget::samples)},
      Figure{"updates_to_target_low", "updates to target, low", FigureUnit::number,
             "the same at `samples_to_target_low`; with `learn` the quartile of the repeats' updates", "",
             of_reached_in_tables, of_updates(&Quartiles::low, &ReachedTarget::samples_low)},
      Figure{"updates_to_target_high", "updates to target, high", FigureUnit::number,
             "the same at `samples_to_target_high`; with `learn` the quartile of the repeats' updates", "",
             of_reached_in_tables, of_updates(&Quartiles::high, &ReachedTarget::samples_high)},
      Figure{"epochs_to_target", "epochs to target", FigureUnit::number,
             "with `job.target`: `samples_to_target` over the samples of an epoch", "", of_target_in_tables,
             of_target_job(epochs_to_target)}};
}

std::vector<Figure> figures_of_the_time_to_target() {
  const auto of_time = [](std::optional<double> Quartiles::*quartile, const Getter& of_job) {
    return reached(&Learning::time_to_target_s, quartile, of_job);
  };
  const Getter whole_time = of_target_job([](const Run& run) { return time_of_epochs(*run.job); });
  return {
      Figure{"time_to_target_s", "time to target", FigureUnit::time,
             "with `job.target`: the steps and evaluations until then, without start-up, checkpoints and "
             "faults, as MLPerf's time to train; with `learn`: simulated time until the learner's target is "
             "met at an evaluation, median of the repeats",
             "", of_reached, of_time(&Quartiles::median, whole_time)},
      Figure{"time_to_target_low_s", "time to target, low", FigureUnit::time,
             "`to_target_interval_share` of runs are expected to take between this and "
             "`time_to_target_high_s`: from the expected error of the throughput and the interval of the "
             "samples; with `learn` from the quartiles of the repeats",
             "", of_reached_in_tables,
             of_time(&Quartiles::low, target_end(&ErrorBounds::low, bounds_of_target, time_of_epochs))},
      Figure{"time_to_target_high_s", "time to target, high", FigureUnit::time,
             "upper end of that interval; with `learn` null if fewer than three quarters get there", "",
             of_reached_in_tables,
             of_time(&Quartiles::high, target_end(&ErrorBounds::high, bounds_of_target, time_of_epochs))},
      Figure{"to_target_interval_share", "share of runs in the intervals to target", share,
             "share of single runs between `..._to_target_low` and `..._to_target_high`: 0.8 with "
             "`job.target`; 0.5 with `learn`, whose ends are the quartiles of the repeats",
             "", of_reached_in_sweeps, share_of_interval},
      Figure{"cost_to_target_usd", "cost to target", usd,
             "with `job.target`: nodes x `node.price.hour` x hours of `time_to_target_s`", "cost", of_target,
             of_target_job([](const Run& run) { return rent_of_epochs(*run.job); })},
      Figure{"cost_to_target_low_usd", "cost to target, low", usd, "the same at `time_to_target_low_s`", "",
             of_target_in_tables, target_end(&ErrorBounds::low, bounds_of_target, rent_of_epochs)},
      Figure{"cost_to_target_high_usd", "cost to target, high", usd, "the same at `time_to_target_high_s`",
             "", of_target_in_tables, target_end(&ErrorBounds::high, bounds_of_target, rent_of_epochs)},
      Figure{"energy_to_target_j", "energy to target", energy,
             "with `job.target`: energy of all GPUs with a rank and of their nodes over `time_to_target_s`",
             "energy", of_target, of_target_job([](const Run& run) { return energy_of_epochs(*run.job); })},
      Figure{
          "energy_to_target_low_j", "energy to target, low", energy,
          "80 % of runs are expected to need between this and `energy_to_target_high_j`: the interval of the "
          "time and 30 % for the power",
          "", of_target_in_tables, target_end(&ErrorBounds::low, energy_bounds_of_target, energy_of_epochs)},
      Figure{"energy_to_target_high_j", "energy to target, high", energy, "upper end of that interval", "",
             of_target_in_tables, target_end(&ErrorBounds::high, energy_bounds_of_target, energy_of_epochs)}};
}

std::vector<Figure> figures_of_fixed_epochs() {
  const auto of_expected = [](auto member) {
    return of_accuracy_at_end([member](const JobAccuracy& accuracy) { return accuracy.expected.*member; });
  };
  return {
      Figure{"expected_accuracy", "accuracy", share,
             "with `job.epochs`: accuracy at the end, from the published runs of the model's "
             "`fixed_epochs` with as many epochs",
             "", of_accuracy, of_expected(&AccuracyAtEnd::accuracy)},
      Figure{"expected_accuracy_low", "accuracy, low", share,
             "80 % of single runs are expected between this and `expected_accuracy_high`", "",
             of_accuracy_in_sweeps, of_expected(&AccuracyAtEnd::low)},
      Figure{"expected_accuracy_high", "accuracy, high", share, "upper end of that interval", "",
             of_accuracy_in_sweeps, of_expected(&AccuracyAtEnd::high)},
      Figure{"accuracy_metric", "kind of accuracy", FigureUnit::text, "kind of `expected_accuracy`: top-1",
             "", summary_only, of_accuracy_at_end([](const JobAccuracy& accuracy) -> std::string_view {
               return accuracy.table.metric;
             })},
      Figure{"accuracy_range", "range of the accuracy", FigureUnit::batch_range,
             "`measured`, if the published runs of `fixed_epochs` have batches as small and as large as "
             "this, otherwise `below` or `beyond`",
             "", of_accuracy_in_sweeps, of_expected(&AccuracyAtEnd::range)}};
}

}  // namespace trainyard::figure_groups
