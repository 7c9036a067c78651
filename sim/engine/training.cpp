#include "engine/training.hpp"

#include "engine/loader.hpp"
#include "engine/order_logger.hpp"
#include "engine/tournament.hpp"
#include "engine/training_recorder.hpp"
#include "units/ids.hpp"

#include <algorithm>

namespace trainyard {

namespace {

using engine::Loader;
using engine::OrderLogger;
using engine::Tournament;
using engine::TrainingRecorder;

class FreeTraining {
public:
  FreeTraining(const UpdateSettings& settings, StepTimes& times, const TrainingOptions& options)
      : settings_(settings),
        times_(times),
        options_(options),
        rules_(settings),
        recorder_(settings.workers, options),
        log_(settings, options, 1),
        loader_(options.loading, settings.workers, 0),
        ends_(settings.workers),
        workers_(at(settings.workers)) {}

  TrainingRecord run() {
    for (int worker = 0; worker < settings_.workers; ++worker) {
      log_.read(worker);
      begin(worker, 0);
    }
    ends_.settle_all();
    while (!is_over_) {
      const int worker = ends_.first();
      finish_step(worker, ends_.date(worker));
    }
    log_.finish();
    return std::move(record_);
  }

private:
  struct Worker {
    Activity activity = Activity::waiting;
    double since = 0;      ///< start of the current activity
    double has_input = 0;  ///< date at which samples are there and computing begins
    double computed = 0;   ///< date at which it ends; then the gradients are sent
    int unpushed = 0;      ///< steps since its last push
    int unfetched = 0;     ///< steps since it last fetched parameters
  };

  void begin(int worker, double date) {
    leave(worker, date);
    Worker& state = workers_[at(worker)];
    state.activity = Activity::computing;
    state.has_input = date + loader_.wait(worker, date);
    ++steps_;
    log_.began(worker);
    state.computed = state.has_input + times_.next(worker).si();
    const bool sends = state.unpushed + 1 >= settings_.push_every;
    ends_.set(worker, state.computed + (sends ? times_.delay(worker).si() : 0));
  }

  /// Ends the current activity; the worker then waits.
  void leave(int worker, double date) {
    record(worker, date);
    workers_[at(worker)].activity = Activity::waiting;
    workers_[at(worker)].since = date;
  }

  /// Records the current activity up to this date.
  void record(int worker, double date) {
    const Worker& state = workers_[at(worker)];
    if (state.activity != Activity::computing) {
      recorder_.spent(worker, state.activity, state.since, date);
      return;
    }
    const double begun = std::min(state.has_input, date);
    const double ended = std::min(state.computed, date);
    recorder_.spent(worker, Activity::loading, state.since, begun);
    recorder_.spent(worker, Activity::computing, begun, ended);
    if (ended < date) recorder_.spent(worker, Activity::communicating, ended, date);
  }

  void finish_step(int worker, double date) {
    leave(worker, date);
    ends_.set(worker, Tournament::never);
    rules_.computed(worker);
    ++workers_[at(worker)].unfetched;
    if (++workers_[at(worker)].unpushed < settings_.push_every) {
      go_on(worker, date);
      ends_.settle(worker);
      return;
    }
    workers_[at(worker)].unpushed = 0;
    log_.pushed(worker);
    log_.gradient(worker);
    const UpdateDecision& decision = rules_.gradient(worker, rules_.pushed(worker));
    if (decision.is_update) log_.update(date);
    if (traits(settings_.rule).is_bounded()) recorder_.lead(rules_.lead());
    if (decision.drops_unfinished) cancel(date);
    for (const int released : decision.released) go_on(released, date);
    settle(worker, decision.released);
    if (decision.is_update) updated(decision, date);
  }

  void updated(const UpdateDecision& decision, double date) {
    log_.reached(rules_.version(), date);
    if (options_.choose_k && log_.so_far() != nullptr)
      rules_.set_k(options_.choose_k(options_.repeat, *log_.so_far()));
    if (recorder_.update(decision, rules_.version(), date)) {
      for (int worker = 0; worker < settings_.workers; ++worker) record(worker, date);
      record_ = recorder_.finish(date, steps_);
    }
    is_over_ = recorder_.is_finished() && !log_.wants_more();
  }

  void settle(int finished, const std::vector<int>& released) {
    constexpr std::size_t few = 8;
    if (released.size() > few) {
      ends_.settle_all();
      return;
    }
    ends_.settle(finished);
    for (const int worker : released) ends_.settle(worker);
  }

  void go_on(int worker, double date) {
    int& unfetched = workers_[at(worker)].unfetched;
    if (traits(settings_.rule).in_background ? unfetched >= settings_.fetch_every
                                             : workers_[at(worker)].unpushed == 0) {
      rules_.fetched(worker);
      log_.read(worker);
      unfetched = 0;
    }
    begin(worker, date);
  }

  void cancel(double date) {
    for (int worker = 0; worker < settings_.workers; ++worker) {
      const Worker& state = workers_[at(worker)];
      if (state.activity != Activity::computing) continue;
      recorder_.spent(worker, Activity::wasted, std::min(state.has_input, date),
                      std::min(state.computed, date));
      leave(worker, date);
    }
  }

  UpdateSettings settings_;
  StepTimes& times_;
  const TrainingOptions& options_;
  UpdateRules rules_;
  TrainingRecorder recorder_;
  TrainingRecord record_;
  OrderLogger log_;
  Loader loader_;
  Tournament ends_;  ///< by worker: end of its current step
  std::uint64_t steps_ = 0;
  std::vector<Worker> workers_;
  bool is_over_ = false;
};

/// If all wait for all, the order of arrival does not matter: half the time of FreeTraining, and the same
/// bits as k_sync with k = P, which uses FreeTraining (tests/engine/training_test.cpp).
TrainingRecord run_in_step(const UpdateSettings& settings, StepTimes& times, const TrainingOptions& options) {
  TrainingRecorder recorder(settings.workers, options);
  TrainingRecord record;
  OrderLogger log(settings, options, 1);
  Loader loader(options.loading, settings.workers, 0);
  UpdateDecision decision{.is_update = true, .contributors = {}, .staleness = {}, .released = {}};
  for (int worker = 0; worker < settings.workers; ++worker) decision.contributors.push_back(worker);
  decision.staleness.assign(at(settings.workers), 1);
  std::vector<double> ends(at(settings.workers));
  double date = 0;
  std::uint64_t steps = 0;
  for (std::int64_t version = 1;; ++version) {
    double last = date;
    Seconds computed;  // by the last worker, in its last step
    for (int worker = 0; worker < settings.workers; ++worker) log.read(worker);
    for (int worker = 0; worker < settings.workers; ++worker) {
      double end = date;
      Seconds computing;
      for (int step = 0; step < settings.push_every; ++step, ++steps) {
        const double begun = end + loader.wait(worker, end);
        recorder.spent(worker, Activity::loading, end, begun);
        log.began(worker);
        computing = times.next(worker);
        end = begun + computing.si();
        recorder.spent(worker, Activity::computing, begun, end);
      }
      log.pushed(worker);
      log.gradient(worker);
      if (const Seconds delay = times.delay(worker); delay > Seconds{}) {
        recorder.spent(worker, Activity::communicating, end, end + delay.si());
        end += delay.si();
      }
      ends[at(worker)] = end;
      if (end < last) continue;
      last = end;
      computed = computing;
    }
    for (int worker = 0; worker < settings.workers; ++worker)
      recorder.spent(worker, Activity::waiting, ends[at(worker)], last);
    date = last + (options.exchange ? options.exchange(computed).si() : 0);
    for (int worker = 0; worker < settings.workers; ++worker)
      recorder.spent(worker, Activity::communicating, last, date);
    log.update(date);
    log.reached(version, date);
    if (recorder.update(decision, version, date)) record = recorder.finish(date, steps);
    if (recorder.is_finished() && !log.wants_more()) break;
  }
  log.finish();
  return record;
}

}  // namespace

TrainingRecord run_without_network(const UpdateSettings& settings, StepTimes& times,
                                   const TrainingOptions& options) {
  if (traits(settings.rule).waits_for_all()) return run_in_step(settings, times, options);
  return FreeTraining(settings, times, options).run();
}

}  // namespace trainyard
