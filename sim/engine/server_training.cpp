#include "engine/calendar.hpp"
#include "engine/simgrid_network.hpp"
#include "engine/training.hpp"
#include "engine/training_recorder.hpp"
#include "units/ids.hpp"

#include <algorithm>
#include <deque>
#include <limits>
#include <map>
#include <optional>
#include <utility>

namespace trainyard {

namespace {

using engine::Activity;
using engine::Calendar;
using engine::Event;
using engine::EventKind;
using engine::SimgridNetwork;
using engine::TrainingRecorder;

class WithServers final : public engine::Listener {
public:
  WithServers(const UpdateSettings& settings, std::vector<StepTimes>& times, const ServerTraining& training,
              const TrainingOptions& options)
      : settings_(settings),
        times_(times),
        plan_(*training.plan),
        ready_(training.ready),
        options_(options),
        messages_(static_cast<int>(plan_.messages.size())),
        network_(plan_.links) {
    for (const WorkerTransfers& worker : plan_.workers) {
      for (const auto* transfers : {&worker.pushes, &worker.pulls}) {
        for (const Transfer& transfer : *transfers)
          routes_.push_back(transfer.links.empty() ? -1 : network_.add_route(transfer.links));
      }
    }
    carried_.assign(routes_.size(), 0);
    make_connections();
  }

  ServerRecord run() {
    begin_repeat(0);
    network_.run(calendar_, *this);
    result_.flows = network_.flows();
    result_.link_bytes.assign(plan_.links.size(), 0);
    for (std::size_t way = 0; way < routes_.size(); ++way) {
      const Transfer& its =
          transfer(static_cast<int>(way) / (2 * messages_), static_cast<int>(way) % (2 * messages_));
      for (const int link : its.links) result_.link_bytes[at(link)] += its.bytes.si() * carried_[way];
    }
    return std::move(result_);
  }

  void on_event(const Event& event) override {
    if (event.kind == EventKind::begin) {
      begin_repeat(event.date);
    } else if (event.kind == EventKind::wake) {
      if (event.item == workers_[at(event.target)].attempt) computed(event.target, event.date);
    } else {
      const int way = event.item % (2 * messages_);
      const int attempt = event.item / (2 * messages_);
      if (attempt == workers_[at(event.target)].attempt) send(event.target, way, event.date);
    }
  }

  void on_delivered(std::uint64_t tag, double date) override {
    --under_way_;
    const auto worker = static_cast<int>(tag >> 40U);
    const auto item = static_cast<int>(tag & 0xffffffffffU);
    const int way = item % (2 * messages_);
    ++carried_[at(worker * 2 * messages_ + way)];
    start_next(worker, way);
    if (!is_over_ && item / (2 * messages_) == workers_[at(worker)].attempt) arrived(worker, way, date);
    end_if_idle(date);
  }

private:
  /// Between a worker and the same shards, in one direction: one message after the other.
  struct Connection {
    bool is_busy = false;
    std::deque<int> waiting;  ///< items of messages that are ready
  };

  void make_connections() {
    std::map<std::pair<bool, std::vector<int>>, int> numbers;
    for (int way = 0; way < 2 * messages_; ++way) {
      const std::vector<int>& shards = plan_.messages[at(way % messages_)].shards;
      const auto number = static_cast<int>(numbers.size());
      connection_of_way_.push_back(numbers.try_emplace({way < messages_, shards}, number).first->second);
    }
    connections_.assign(plan_.workers.size(), std::vector<Connection>(numbers.size()));
  }

  enum class Phase { computing, pushing, waiting, pulling };
  struct Worker {
    Phase phase = Phase::waiting;
    int attempt = 0;  ///< of a step; what belongs to an earlier one is dropped
    double since = 0;
    double step_begun = 0;
    int pushed = 0;  ///< messages of the step that have arrived
    int pulled = 0;
    int unpushed = 0;
    int unfetched = 0;
  };

  const Transfer& transfer(int worker, int way) const {
    const WorkerTransfers& its = plan_.workers[at(worker)];
    return way < messages_ ? its.pushes[at(way)] : its.pulls[at(way - messages_)];
  }

  void begin_repeat(double date) {
    rules_.emplace(settings_);
    recorder_.emplace(settings_.workers, options_);
    workers_.resize(at(settings_.workers));
    arrivals_.assign(at(messages_), 0);
    is_over_ = false;
    origin_ = date;
    for (int worker = 0; worker < settings_.workers; ++worker) {
      workers_[at(worker)] = {.attempt = workers_[at(worker)].attempt + 1, .since = date};
      compute(worker, date);
    }
  }

  void enter(int worker, Phase phase, double date) {
    Worker& state = workers_[at(worker)];
    const Activity activity = state.phase == Phase::computing ? Activity::computing
                              : state.phase == Phase::waiting ? Activity::waiting
                                                              : Activity::communicating;
    recorder_->spent(worker, activity, state.since - origin_, date - origin_);
    state.phase = phase;
    state.since = date;
  }

  /// What belongs to an earlier step is stale from now on. Numbers come again once the items of events have
  /// used up their bits, long after the last that was the same.
  void renew(Worker& state) const {
    state.attempt =
        (state.attempt + 1) % (std::numeric_limits<int>::max() / (2 * std::max(1, messages_)) - 1);
  }

  [[nodiscard]] int item(int worker, int way) const {
    return workers_[at(worker)].attempt * 2 * messages_ + way;
  }

  void compute(int worker, double date) {
    enter(worker, Phase::computing, date);
    Worker& state = workers_[at(worker)];
    renew(state);
    state.step_begun = date;
    state.pushed = 0;
    state.pulled = 0;
    const double duration = times_[result_.repeats.size()].next(worker).si();
    calendar_.enter(date + duration, EventKind::wake, worker, state.attempt);
    if (state.unpushed + 1 < settings_.push_every) return;
    // What several steps have added up is complete with the last of them.
    for (int message = 0; message < messages_; ++message) {
      const double part = settings_.push_every > 1 ? 1 : ready_[at(message)];
      const Seconds latency = transfer(worker, message).latency;
      calendar_.enter(date + part * duration + latency.si(), EventKind::ready, worker, item(worker, message));
    }
  }

  void send(int worker, int way, double date) {
    if (routes_[at(worker * 2 * messages_ + way)] < 0) {
      arrived(worker, way, date);
      return;
    }
    Connection& connection = connections_[at(worker)][at(connection_of_way_[at(way)])];
    if (connection.is_busy) {
      connection.waiting.push_back(item(worker, way));
    } else {
      start(worker, item(worker, way), connection);
    }
  }

  void start(int worker, int item, Connection& connection) {
    connection.is_busy = true;
    ++under_way_;
    const int way = item % (2 * messages_);
    network_.start(routes_[at(worker * 2 * messages_ + way)], transfer(worker, way).bytes,
                   static_cast<std::uint64_t>(worker) << 40U | static_cast<std::uint64_t>(item));
  }

  /// The next message of a connection that has delivered one. What was cancelled in the meantime is not sent.
  void start_next(int worker, int way) {
    Connection& connection = connections_[at(worker)][at(connection_of_way_[at(way)])];
    connection.is_busy = false;
    while (!connection.waiting.empty() && !connection.is_busy) {
      const int next = connection.waiting.front();
      connection.waiting.pop_front();
      if (next / (2 * messages_) == workers_[at(worker)].attempt) start(worker, next, connection);
    }
  }

  void computed(int worker, double date) {
    Worker& state = workers_[at(worker)];
    rules_->computed(worker);
    ++state.unfetched;
    if (++state.unpushed < settings_.push_every) {
      enter(worker, Phase::waiting, date);
      go_on(worker, date);
      return;
    }
    enter(worker, Phase::pushing, date);
    if (state.pushed == messages_) gradient(worker, date);
  }

  void arrived(int worker, int way, double date) {
    Worker& state = workers_[at(worker)];
    if (way >= messages_) {
      ++state.pulled;
      if (state.phase == Phase::pulling && state.pulled == messages_) compute(worker, date);
      return;
    }
    ++state.pushed;
    if (settings_.rule == UpdateRule::sync && ++arrivals_[at(way)] == settings_.workers)
      pull_by_all(way, date);
    if (state.pushed == messages_ && state.phase == Phase::pushing) gradient(worker, date);
  }

  /// A message that all have pushed is added up and can be had back.
  void pull_by_all(int message, double date) {
    arrivals_[at(message)] = 0;
    for (int worker = 0; worker < settings_.workers; ++worker) pull_message(worker, message, date);
  }

  void pull_message(int worker, int message, double date) {
    const Seconds latency = transfer(worker, messages_ + message).latency;
    calendar_.enter(date + latency.si(), EventKind::ready, worker, item(worker, messages_ + message));
  }

  void gradient(int worker, double date) {
    enter(worker, Phase::waiting, date);
    workers_[at(worker)].unpushed = 0;
    const UpdateDecision& decision = rules_->gradient(worker);
    if (settings_.rule == UpdateRule::ssp) recorder_->lead(rules_->lead());
    if (decision.others_cancelled) cancel(date);
    if (decision.is_update && recorder_->update(decision, rules_->version(), date - origin_)) {
      is_over_ = true;
      end_repeat(date);
      return;
    }
    for (const int released : decision.released) go_on(released, date);
  }

  void go_on(int worker, double date) {
    Worker& state = workers_[at(worker)];
    const bool is_downpour = settings_.rule == UpdateRule::downpour;
    const bool is_due = is_downpour ? state.unfetched >= settings_.fetch_every : state.unpushed == 0;
    if (is_due) state.unfetched = 0;
    if (!is_due || rules_->has_newest(worker)) {
      compute(worker, date);
      return;
    }
    rules_->fetched(worker);
    enter(worker, Phase::pulling, date);
    if (state.pulled == messages_) {
      compute(worker, date);
      return;
    }
    // with sync every message is on its way since the last worker has pushed it
    if (settings_.rule == UpdateRule::sync) return;
    for (int message = 0; message < messages_; ++message) pull_message(worker, message, date);
  }

  void cancel(double date) {
    for (int worker = 0; worker < settings_.workers; ++worker) {
      Worker& state = workers_[at(worker)];
      if (state.phase == Phase::computing || state.phase == Phase::pushing) {
        const double computed_until = state.phase == Phase::computing ? date : state.since;
        recorder_->wasted(worker, state.step_begun - origin_, computed_until - origin_);
      }
      enter(worker, Phase::waiting, date);
      state.unpushed = 0;
      renew(state);
    }
  }

  void end_repeat(double date) {
    for (int worker = 0; worker < settings_.workers; ++worker) {
      enter(worker, Phase::waiting, date);
      renew(workers_[at(worker)]);
    }
    result_.repeats.push_back(recorder_->finish(date - origin_, calendar_.entered()));
    end_if_idle(date);
  }

  /// The next repeat begins on an idle network.
  void end_if_idle(double date) {
    if (!is_over_ || under_way_ > 0 || has_ended_) return;
    result_.ended = Seconds{date};
    if (result_.repeats.size() < times_.size()) {
      calendar_.enter(date, EventKind::begin, 0);
      is_over_ = false;
    } else {
      has_ended_ = true;
    }
  }

  UpdateSettings settings_;
  std::vector<StepTimes>& times_;  ///< by repeat
  const ServerPlan& plan_;
  const std::vector<double>& ready_;
  TrainingOptions options_;
  int messages_;
  Calendar calendar_;
  SimgridNetwork network_;
  std::vector<int> routes_;  ///< of worker w, way k: 2 * messages * w + k; pushes, then pulls
  std::vector<int> connection_of_way_;
  std::vector<std::vector<Connection>> connections_;  ///< by worker
  std::vector<double> carried_;                       ///< deliveries, by the same
  std::optional<UpdateRules> rules_;
  std::optional<TrainingRecorder> recorder_;
  std::vector<Worker> workers_;
  std::vector<int> arrivals_;  ///< by message, of rule sync
  ServerRecord result_;
  double origin_ = 0;  ///< date at which the repeat began
  long under_way_ = 0;
  bool is_over_ = false;
  bool has_ended_ = false;
};

}  // namespace

ServerRecord run_with_servers(const UpdateSettings& settings, std::vector<StepTimes>& times,
                              const ServerTraining& training, const TrainingOptions& options) {
  return WithServers(settings, times, training, options).run();
}

}  // namespace trainyard
