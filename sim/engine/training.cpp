#include "engine/training.hpp"

#include "engine/tournament.hpp"
#include "units/ids.hpp"

#include <algorithm>

namespace trainyard {

namespace {

class Training {
public:
  Training(const UpdateSettings& settings, StepTimes& times, const TrainingOptions& options)
      : settings_(settings),
        times_(times),
        options_(options),
        rules_(settings),
        ends_(settings.workers),
        workers_(at(settings.workers)) {
    record_.workers.resize(workers_.size());
  }

  TrainingRecord run() {
    if (settings_.rule == UpdateRule::sync || settings_.rule == UpdateRule::local_sgd) {
      run_in_step();
      return record_;
    }
    for (int worker = 0; worker < settings_.workers; ++worker) begin(worker, 0);
    ends_.settle_all();
    while (!is_over_) {
      const int worker = ends_.first();
      finish_step(worker, ends_.date(worker));
    }
    record_.events = steps_;
    return record_;
  }

private:
  struct Worker {
    bool computes = false;
    double since = 0;   ///< date from which it computes or waits, no earlier than the measurement's beginning
    int unpushed = 0;   ///< steps since its last gradients went out
    int unfetched = 0;  ///< steps since it fetched parameters
  };

  /// Where all wait for all, nothing depends on the order in which they come: half the time of the way
  /// below, and the same bits as k_sync with k = P, which takes it (tests/engine/training_test.cpp).
  void run_in_step() {
    double date = 0;
    std::vector<double> ends(workers_.size());
    for (std::int64_t version = 0; version < options_.warmup + options_.measured; ++version) {
      if (version == options_.warmup) begin_record(date);
      double last = date;
      for (int worker = 0; worker < settings_.workers; ++worker) {
        double end = date;
        for (int step = 0; step < settings_.push_every; ++step) {
          const double begun = end;
          end += times_.next(worker).si();
          record_.workers[at(worker)].computing += Seconds{end - begun};
        }
        ends[at(worker)] = end;
        last = std::max(last, end);
      }
      for (int worker = 0; worker < settings_.workers; ++worker) {
        record_.workers[at(worker)].waiting += Seconds{last - ends[at(worker)]};
        ++record_.workers[at(worker)].gradients;
      }
      date = last;
    }
    record_.ended = Seconds{date};
    record_.updates = options_.measured;
    record_.gradients = options_.measured * settings_.workers;
    record_.staleness = {0, record_.gradients};
    record_.events = static_cast<std::uint64_t>((options_.warmup + options_.measured) * settings_.workers *
                                                settings_.push_every);
  }

  void begin_record(double date) {
    record_ = {};
    record_.begun = Seconds{date};
    record_.workers.resize(workers_.size());
  }

  void begin(int worker, double date) {
    Worker& state = workers_[at(worker)];
    if (!state.computes) record_.workers[at(worker)].waiting += Seconds{date - state.since};
    state.computes = true;
    state.since = date;
    ++steps_;
    ends_.set(worker, date + times_.next(worker).si());
  }

  void stop_computing(int worker, double date) {
    Worker& state = workers_[at(worker)];
    record_.workers[at(worker)].computing += Seconds{date - state.since};
    state.computes = false;
    state.since = date;
  }

  void finish_step(int worker, double date) {
    stop_computing(worker, date);
    ends_.set(worker, engine::Tournament::never);
    ++workers_[at(worker)].unfetched;
    if (++workers_[at(worker)].unpushed < settings_.push_every) {
      go_on(worker, date);
      ends_.settle(worker);
      return;
    }
    workers_[at(worker)].unpushed = 0;
    const UpdateDecision& decision = rules_.gradient(worker);
    if (settings_.rule == UpdateRule::ssp) record_.lead = std::max(record_.lead, rules_.lead());
    if (decision.is_update) note_update(decision);
    if (decision.others_cancelled) cancel(date);
    for (const int released : decision.released) go_on(released, date);
    settle(worker, decision.released);
    if (decision.is_update) look_at_window(date);
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
    // What local_sgd averages is fetched at once; downpour fetches at its own pace.
    int& unfetched = workers_[at(worker)].unfetched;
    const bool is_downpour = settings_.rule == UpdateRule::downpour;
    if (is_downpour ? unfetched >= settings_.fetch_every : workers_[at(worker)].unpushed == 0) {
      rules_.fetched(worker);
      unfetched = 0;
    }
    begin(worker, date);
  }

  void cancel(double date) {
    for (int worker = 0; worker < settings_.workers; ++worker) {
      Worker& state = workers_[at(worker)];
      if (!state.computes) continue;
      record_.workers[at(worker)].wasted += Seconds{date - state.since};
      stop_computing(worker, date);
    }
  }

  void note_update(const UpdateDecision& decision) {
    ++record_.updates;
    record_.gradients += static_cast<std::int64_t>(decision.contributors.size());
    for (const int worker : decision.contributors) ++record_.workers[at(worker)].gradients;
    std::vector<std::int64_t>& histogram = record_.staleness;
    for (const std::int64_t staleness : decision.staleness) {
      const auto age = static_cast<std::size_t>(staleness);
      if (age >= histogram.size()) histogram.resize(age + 1, 0);
      ++histogram[age];
    }
  }

  /// Begins the measurement after the last update of the warm-up, and ends it.
  void look_at_window(double date) {
    if (rules_.version() == options_.warmup) {
      begin_record(date);
      for (Worker& worker : workers_) worker.since = std::max(worker.since, date);
    }
    if (rules_.version() < options_.warmup + options_.measured) return;
    is_over_ = true;
    record_.ended = Seconds{date};
    for (int worker = 0; worker < settings_.workers; ++worker) {
      Worker& state = workers_[at(worker)];
      if (state.computes)
        stop_computing(worker, date);
      else
        record_.workers[at(worker)].waiting += Seconds{date - state.since};
    }
  }

  UpdateSettings settings_;
  StepTimes& times_;
  TrainingOptions options_;
  UpdateRules rules_;
  engine::Tournament ends_;  ///< of the steps that workers compute
  std::uint64_t steps_ = 0;
  std::vector<Worker> workers_;
  TrainingRecord record_;
  bool is_over_ = false;
};

}  // namespace

TrainingRecord run_without_network(const UpdateSettings& settings, StepTimes& times,
                                   const TrainingOptions& options) {
  return Training(settings, times, options).run();
}

}  // namespace trainyard
