#include "learn/learn.hpp"

#include "learn/objective.hpp"
#include "learn/replay.hpp"
#include "units/ids.hpp"
#include "units/statistics.hpp"
#include "units/text.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <limits>

namespace trainyard {

namespace {

constexpr double far_above_start = 1e6;  // a loss that diverges passes this soon, one that wanders does not

/// Evaluates the parameters of one repeat along its replay.
class CurveRecorder {
public:
  CurveRecorder(Replay& replay, Objective& objective, const LearnSettings& settings)
      : replay_(replay), objective_(objective), settings_(settings) {}

  /// Adds a point; returns false if the replay ends here.
  bool add(Seconds at, LearningRun& run) {
    const LossEvaluation evaluation = objective_.evaluate(replay_.parameters());
    const ReplayTotals& totals = replay_.totals();
    LearningPoint point{.at = at,
                        .updates = replay_.updates(),
                        .samples = replay_.samples(),
                        .train_loss = evaluation.train_loss,
                        .train_error = evaluation.train_error,
                        .test_loss = evaluation.test_loss,
                        .test_error = evaluation.test_error};
    if (const auto count = objective_.train_samples())
      point.epochs = static_cast<double>(point.samples) / *count;
    if (totals.uses > before_.uses) {
      point.staleness_mean =
          (totals.staleness_sum - before_.staleness_sum) / static_cast<double>(totals.uses - before_.uses);
      point.gradients_per_update = static_cast<double>(totals.uses - before_.uses) /
                                   static_cast<double>(totals.shard_updates - before_.shard_updates);
      point.rate_mean =
          (totals.rate_sum - before_.rate_sum) / static_cast<double>(totals.batches - before_.batches);
    }
    if (totals.gradient_squared > 0 && totals.covariance_trace > 0)
      point.noise_scale = totals.covariance_trace / totals.gradient_squared;
    before_ = totals;
    const bool is_finite =
        std::isfinite(point.train_loss) &&
        std::ranges::all_of(replay_.parameters(), [](double w) { return std::isfinite(w); });
    if (run.curve.empty()) limit_ = far_above_start * std::max(1.0, point.train_loss);
    if (!is_finite || point.train_loss > limit_) {
      run.verdict = LearningVerdict::diverged;
      run.end = LearningEnd::diverged;
      run.reason =
          fmt::format("the loss was {} at {}",
                      is_finite ? fmt::format("above {}", digits12(limit_)) : "not a number", human(at));
      return false;
    }
    run.curve.push_back(point);
    note_target(point, run);
    return !is_end(point, run);
  }

private:
  static bool meets(const LearningPoint& point, std::optional<double> loss, std::optional<double> error) {
    return (!loss || point.train_loss <= *loss) &&
           (!error || (point.test_error && *point.test_error <= *error));
  }
  void note_target(const LearningPoint& point, LearningRun& run) const {
    const auto [loss, error] = target_or_end(settings_);
    if (run.target || (!loss && !error) || !meets(point, loss, error)) return;
    run.target = {point.at, point.updates, point.samples};
  }
  bool is_end(const LearningPoint& point, LearningRun& run) const {
    const LearnUntil& until = settings_.until;
    if (!until.loss && !until.test_error) return false;
    // Not before the target, which may be the harder of both.
    const bool waits = (settings_.target.loss || settings_.target.test_error) && !run.target;
    if (waits || !meets(point, until.loss, until.test_error)) return false;
    run.end = until.loss ? LearningEnd::loss : LearningEnd::test_error;
    return true;
  }

  Replay& replay_;
  Objective& objective_;
  const LearnSettings& settings_;
  ReplayTotals before_;
  double limit_ = 0;
};

constexpr std::size_t parts_of_floor = 5;

/// The points that the floor is averaged over.
std::span<const LearningPoint> last_quarter(const std::vector<LearningPoint>& curve) {
  const std::size_t count = (curve.size() - 1) / 4;
  return std::span(curve).last(count);
}

template <class Value>
std::optional<Floor> floor_of(const std::vector<LearningPoint>& curve, const Value& value) {
  const std::span<const LearningPoint> points = last_quarter(curve);
  const std::size_t parts = std::min(parts_of_floor, points.size());
  if (parts < 2) return std::nullopt;
  std::vector<double> all;
  std::vector<double> means;
  for (std::size_t part = 0; part < parts; ++part) {
    std::vector<double> values;
    for (std::size_t i = points.size() * part / parts; i < points.size() * (part + 1) / parts; ++i) {
      const std::optional<double> found = value(points[i]);
      if (!found) return std::nullopt;
      values.push_back(*found);
      all.push_back(*found);
    }
    means.push_back(mean(values));
  }
  const double middle = mean(means);
  double squares = 0;
  for (const double m : means) squares += (m - middle) * (m - middle);
  const auto count = static_cast<double>(parts);
  return Floor{mean(all), std::sqrt(squares / (count - 1) / count)};
}

void find_floors(LearningRun& run) {
  run.loss_floor =
      floor_of(run.curve, [](const LearningPoint& point) { return std::optional(point.train_loss); });
  const bool is_tested = run.curve.back().test_error.has_value();
  run.error_floor = floor_of(run.curve, [&](const LearningPoint& point) {
    return is_tested ? point.test_error : point.train_error;
  });
}

/// A loss that ends above its start has learnt nothing, as cross-entropy grows too slowly to overflow; unless
/// the target was met: a classifier that is too sure of itself has few errors and a high loss.
void judge(const Objective& objective, const LearnSettings& settings, LearningRun& run) {
  if (run.verdict == LearningVerdict::diverged) return;
  const double start = run.curve.front().train_loss;
  const double last = run.loss_floor ? run.loss_floor->mean : run.curve.back().train_loss;
  if (!run.target && !objective.may_start_below_floor() && last > start) {
    run.verdict = LearningVerdict::not_learnt;
    run.reason = fmt::format("the loss {}, {}, is above its start, {}",
                             run.loss_floor ? "averaged over the last quarter" : "at the end",
                             digits12(four_digits(last)), digits12(four_digits(start)));
    run.loss_floor.reset();
    run.error_floor.reset();
    return;
  }
  const auto [loss, error] = target_or_end(settings);
  if ((loss || error) && !run.target) run.verdict = LearningVerdict::target_missed;
}

template <class Value>
Quartiles quartiles_of(const std::vector<LearningRun>& runs, const Value& value) {
  std::vector<std::optional<double>> values;
  for (const LearningRun& run : runs) values.push_back(value(run));
  return quartiles(values);
}

void summarise(const LearnSettings& settings, Learning& learning) {
  const auto& runs = learning.repeats;
  const auto [loss, error] = target_or_end(settings);
  learning.has_target = loss || error;
  const auto number_of = [&](LearningVerdict verdict) {
    return static_cast<int>(std::ranges::count(runs, verdict, &LearningRun::verdict));
  };
  learning.diverged = number_of(LearningVerdict::diverged);
  learning.not_learnt = number_of(LearningVerdict::not_learnt);
  learning.time = quartiles_of(runs, [](const LearningRun& run) {
    return run.curve.empty() ? std::nullopt : std::optional(run.curve.back().at.si());
  });
  const auto of_target = [&](const auto& value) {
    return quartiles_of(runs, [&](const LearningRun& run) {
      return run.target ? std::optional<double>(value(*run.target)) : std::nullopt;
    });
  };
  if (learning.has_target) {
    learning.time_to_target_s = of_target([](const TargetReached& target) { return target.at.si(); });
    learning.updates_to_target =
        of_target([](const TargetReached& target) { return static_cast<double>(target.updates); });
    learning.samples_to_target =
        of_target([](const TargetReached& target) { return static_cast<double>(target.samples); });
  }
  const auto of_floor = [&](std::optional<Floor> LearningRun::*floor) {
    return quartiles_of(runs, [&](const LearningRun& run) {
      return run.*floor ? std::optional((run.*floor)->mean) : std::nullopt;
    });
  };
  learning.final_loss = of_floor(&LearningRun::loss_floor);
  learning.error_floor = of_floor(&LearningRun::error_floor);
  const auto of_end = [&](const auto& value) {
    return quartiles_of(runs, [&](const LearningRun& run) {
      const bool has_end = run.verdict != LearningVerdict::diverged && !run.curve.empty();
      return has_end ? value(run.curve.back()) : std::nullopt;
    });
  };
  learning.end_loss = of_end([](const LearningPoint& point) { return std::optional(point.train_loss); });
  learning.end_accuracy = of_end([](const LearningPoint& point) {
    return point.test_error ? std::optional(1 - *point.test_error) : std::nullopt;
  });
  std::vector<double> noise;
  for (const LearningRun& run : runs)
    if (!run.curve.empty() && run.curve.back().noise_scale) noise.push_back(*run.curve.back().noise_scale);
  if (!noise.empty()) learning.noise_scale = quantile(noise, 0.5);
}

/// Replays one log and draws its curve; adds its totals to `sums`.
LearningRun draw_curve(const OrderLog& log, UpdateRule rule, const LearnSettings& settings,
                       Objective& objective, Seconds end, ReplayTotals& sums) {
  Replay replay(log, rule, settings, objective);
  CurveRecorder recorder(replay, objective, settings);
  LearningRun run;
  bool goes_on = recorder.add(Seconds(0), run);
  const long long most = settings.until.updates.value_or(std::numeric_limits<long long>::max());
  const auto may_apply = [&](Seconds until) {
    const ShardUpdate* update = replay.upcoming();
    return update != nullptr && update->at <= until && replay.updates() < most;
  };
  for (int i = 1; goes_on && i <= settings.points; ++i) {
    const Seconds at = end * (static_cast<double>(i) / settings.points);
    Seconds last;
    while (may_apply(at)) {
      last = replay.upcoming()->at;
      replay.next();
    }
    if (replay.updates() >= most) {
      if (recorder.add(last, run) && run.end == LearningEnd::run) run.end = LearningEnd::updates;
      break;
    }
    goes_on = recorder.add(at, run);
  }
  if (run.end == LearningEnd::run && settings.until.time && end == *settings.until.time)
    run.end = LearningEnd::time;
  // The last quarter of a replay that ended at its goal is no floor: it would have gone on.
  const bool is_cut = run.end == LearningEnd::loss || run.end == LearningEnd::test_error;
  if (run.verdict != LearningVerdict::diverged && !run.curve.empty() && !is_cut) find_floors(run);
  judge(objective, settings, run);
  const ReplayTotals& totals = replay.totals();
  sums.uses += totals.uses;
  sums.batches += totals.batches;
  sums.staleness_sum += totals.staleness_sum;
  sums.rate_sum += totals.rate_sum;
  return run;
}

/// The end of the grid of points for repeats that are compared: that of the shortest run, or when the last
/// repeat has made as many updates as are wanted. Logs have all updates up to `until.time`, if that is given.
Seconds end_of(std::span<const OrderLog> logs, const LearnSettings& settings) {
  std::optional<Seconds> end;
  Seconds enough;
  for (const OrderLog& log : logs) {
    const auto& updates = log.updates;
    const Seconds last = updates.empty() ? Seconds(0) : updates.back().at;
    const auto most = static_cast<std::size_t>(settings.until.updates.value_or(0) * log.shards);
    const bool has_enough = most > 0 && most <= updates.size();
    if (has_enough)
      enough = std::max(enough, updates[most - 1].at);
    else
      end = std::min(end.value_or(last), last);
  }
  if (settings.until.time) end = settings.until.time;
  return enough > Seconds(0) ? std::min(end.value_or(enough), enough) : *end;
}

}  // namespace

Quartiles quartiles(const std::vector<std::optional<double>>& values) {
  std::vector<double> numbers;
  for (const auto& value : values) numbers.push_back(value.value_or(std::numeric_limits<double>::infinity()));
  std::ranges::sort(numbers);
  const auto at = [&](double part) -> std::optional<double> {
    const double place = part * static_cast<double>(numbers.size() - 1);
    const auto above = static_cast<std::size_t>(std::ceil(place));
    if (std::isinf(numbers[above])) return std::nullopt;
    return quantile(std::vector(numbers.begin(), numbers.begin() + static_cast<long>(above) + 1),
                    above == 0 ? 1 : place / static_cast<double>(above));
  };
  if (numbers.empty()) return {};
  return {at(0.25), at(0.5), at(0.75)};
}

LearningRun learn_once(const OrderLog& log, UpdateRule rule, const LearnSettings& settings,
                       const LearningSets* sets, std::uint64_t seed, std::uint64_t repeat,
                       std::optional<Seconds> end) {
  const auto objective = make_objective(settings, sets, log.workers, seed, repeat);
  ReplayTotals sums;
  return draw_curve(log, rule, settings, *objective, end.value_or(end_of({&log, 1}, settings)), sums);
}

Learning learn(std::span<const OrderLog> logs, UpdateRule rule, const LearnSettings& settings,
               const LearningSets* sets, std::uint64_t seed, std::optional<int> repeats) {
  Learning learning;
  if (sets != nullptr) {
    learning.train_samples = sets->train.count();
    learning.test_samples = sets->test.count();
    learning.least_error = sets->least_error;
  }
  if (logs.empty()) return learning;
  const Seconds end = end_of(logs, settings);
  ReplayTotals sums;
  const std::size_t count = repeats ? at(*repeats) : logs.size();
  for (std::size_t repeat = 0; repeat < count; ++repeat) {
    const OrderLog& log = logs[repeat % logs.size()];
    const auto objective = make_objective(settings, sets, log.workers, seed, repeat);
    learning.parameters = objective->parameters();
    learning.repeats.push_back(draw_curve(log, rule, settings, *objective, end, sums));
  }
  if (sums.uses > 0) {
    learning.staleness_mean = sums.staleness_sum / static_cast<double>(sums.uses);
    learning.rate_mean = sums.rate_sum / static_cast<double>(sums.batches);
  }
  summarise(settings, learning);
  return learning;
}

}  // namespace trainyard
