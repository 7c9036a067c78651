#include "engine/calendar.hpp"
#include "engine/loader.hpp"
#include "engine/logged_shards.hpp"
#include "engine/order_logger.hpp"
#include "engine/server_connections.hpp"
#include "engine/tensor_pulls.hpp"
#include "engine/training.hpp"
#include "engine/training_recorder.hpp"
#include "units/ids.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

namespace trainyard {

namespace {

using engine::Calendar;
using engine::Delivery;
using engine::Event;
using engine::EventKind;
using engine::Loader;
using engine::logged_shards;
using engine::LoggedShards;
using engine::OrderLogger;
using engine::ServerConnections;
using engine::TensorPulls;
using engine::TrainingRecorder;

/// A point in a step that a worker cannot pass without certain parameters.
struct Stop {
  double part = 0;
  std::vector<int> messages;
};

std::vector<Stop> stops_of(const std::vector<double>& needed) {
  std::map<double, std::vector<int>> messages_at;
  for (std::size_t message = 0; message < needed.size(); ++message)
    messages_at[needed[message]].push_back(static_cast<int>(message));
  std::vector<Stop> stops;
  for (auto& [part, messages] : messages_at) stops.push_back({part, std::move(messages)});
  return stops;
}

class WithServers final : public engine::Listener {
public:
  WithServers(const UpdateSettings& settings, std::vector<StepTimes>& times, const ServerTraining& training,
              const TrainingOptions& options)
      : settings_(settings),
        rule_(traits(settings.rule)),
        times_(times),
        plan_(*training.plan),
        ready_(training.ready),
        stops_(stops_of(training.needed)),
        pull_(training.pull),
        options_(options),
        messages_(static_cast<int>(plan_.messages.size())),
        cancels_(rule_.cancels()),
        copies_(plan_.messages.size()),
        shards_(logged_shards(settings.rule, plan_)),
        connections_(plan_, training.needed, training.by_priority, training.on_simgrid) {
    for (const Stop& stop : stops_)
      pull_order_.insert(pull_order_.end(), stop.messages.begin(), stop.messages.end());
    if (!training.by_priority) std::ranges::sort(pull_order_);
    for (int message = 0; message < messages_; ++message) {
      const int copied = plan_.messages[at(message)].copy_of;
      copies_[at(copied < 0 ? message : copied)].push_back(message);
    }
  }

  ServerRecord run() {
    begin_repeat(0);
    connections_.network().run(calendar_, *this);
    result_.flows = connections_.network().flows();
    result_.link_bytes = connections_.link_bytes();
    return std::move(result_);
  }

  void on_event(const Event& event) override {
    if (event.kind == EventKind::begin) {
      begin_repeat(event.date);
    } else if (event.kind == EventKind::wake) {
      if (event.item == workers_[at(event.target)].attempt) computed_part(event.target, event.date);
    } else {
      const Delivery message{event.target, event.item % (2 * messages_), event.item / (2 * messages_)};
      if (is_wanted(message) && !connections_.send(message)) arrived(message, event.date);
    }
  }

  void on_delivered(std::uint64_t tag, double date) override {
    const Delivery message = connections_.delivered(tag);
    if (!is_over_ && is_wanted(message)) arrived(message, date);
    end_if_idle(date);
  }

private:
  enum class Phase { loading, computing, stalled, pushing, waiting };
  struct Worker {
    Phase phase = Phase::waiting;
    int attempt = 0;  ///< messages and timers of earlier attempts are dropped
    double since = 0;
    double duration = 0;   ///< of the step, without stalls
    double part = 0;       ///< part of the step computed, or computed when the timer fires
    std::size_t stop = 0;  ///< index of the next stop
    std::vector<std::pair<double, double>> computed;  ///< intervals of computing in this step
    std::vector<char> pulled;                         ///< by message: received for the next forward pass
    std::vector<char> pulled_next;  ///< by message: received for the step after an update that cancels
    std::vector<char> asked;        ///< by message: under way, or received, for the step to come
    int pushed = 0;                 ///< messages of the push that have arrived
    std::vector<int> incomplete;    ///< by first message of a tensor: those of its copies that have not
    std::vector<int> missing;       ///< by logged shard: messages of the push that have not arrived
    bool is_pushing = false;        ///< a push is under way while the worker goes on
    std::int64_t from = 0;  ///< version of the parameters that the pushed gradients were computed from
    int unpushed = 0;
    int unfetched = 0;
  };

  /// Whether the message is of the worker's attempt, or parameters for the attempt after a cancelling update.
  [[nodiscard]] bool is_wanted(const Delivery& message) const {
    return message.attempt == workers_[at(message.worker)].attempt ||
           (cancels_ && message.way >= messages_ && message.attempt == next_attempt(message.worker));
  }

  void begin_repeat(double date) {
    rules_.emplace(settings_);
    recorder_.emplace(settings_.workers, options_);
    log_.emplace(settings_, options_, shards_.count);
    loader_.emplace(options_.loading, settings_.workers, date);
    workers_.resize(at(settings_.workers));
    pulls_.reset();
    if (pull_ == PullTime::per_tensor) pulls_.emplace(settings_, messages_);
    is_over_ = false;
    origin_ = date;
    for (int worker = 0; worker < settings_.workers; ++worker) {
      const int attempt = workers_[at(worker)].attempt;
      workers_[at(worker)] = {};
      workers_[at(worker)].attempt = attempt;
      workers_[at(worker)].since = date;
      workers_[at(worker)].pulled.assign(at(messages_), 0);
      workers_[at(worker)].pulled_next.assign(at(messages_), 0);
      workers_[at(worker)].asked.assign(at(messages_), 0);
      workers_[at(worker)].incomplete.assign(at(messages_), 0);
      log_->read(worker);
      begin_step(worker, stops_.size(), date);
    }
  }

  /// Records the current activity up to this date.
  void record(int worker, double date) {
    const Worker& state = workers_[at(worker)];
    const Activity activity = state.phase == Phase::computing ? Activity::computing
                              : state.phase == Phase::waiting ? Activity::waiting
                              : state.phase == Phase::loading ? Activity::loading
                                                              : Activity::communicating;
    recorder_->spent(worker, activity, state.since - origin_, date - origin_);
  }

  void enter(int worker, Phase phase, double date) {
    record(worker, date);
    Worker& state = workers_[at(worker)];
    if (state.phase == Phase::computing) state.computed.emplace_back(state.since, date);
    state.phase = phase;
    state.since = date;
  }

  /// Attempt numbers wrap around, since items of events have few bits, but only long after the last message
  /// with the same number.
  [[nodiscard]] int next_attempt(int worker) const {
    return (workers_[at(worker)].attempt + 1) % most_attempts(messages_);
  }

  /// Invalidates messages under way and running timers, but not parameters for the next attempt.
  void drop_all(int worker) {
    Worker& state = workers_[at(worker)];
    state.attempt = next_attempt(worker);
    state.pulled.swap(state.pulled_next);
    std::ranges::fill(state.pulled_next, 0);
    connections_.forget(worker, state.attempt);
  }

  static int most_attempts(int messages) {
    return std::min(1 << 24, (1 << 30) / (2 * std::max(1, messages)));
  }

  /// `first_stop`: stops_.size() if the step needs no new parameters.
  void begin_step(int worker, std::size_t first_stop, double date) {
    Worker& state = workers_[at(worker)];
    state.duration = times_[repeat_].next(worker).si();
    log_->began(worker);
    state.part = 0;
    state.computed.clear();
    state.stop = first_stop;
    const double wait = loader_->wait(worker, date);
    if (wait > 0) {
      enter(worker, Phase::loading, date);
      calendar_.enter(date + wait, EventKind::wake, worker, state.attempt);
    } else {
      compute_on(worker, date);
    }
  }

  /// Computes as far as the received parameters allow.
  void compute_on(int worker, double date) {
    Worker& state = workers_[at(worker)];
    for (; state.stop < stops_.size(); ++state.stop) {
      const Stop& stop = stops_[state.stop];
      if (stop.part > state.part) {
        compute_until(worker, stop.part, date);
        return;
      }
      if (!std::ranges::all_of(stop.messages, [&](int message) { return state.pulled[at(message)] != 0; })) {
        if (state.phase != Phase::stalled) enter(worker, Phase::stalled, date);
        return;
      }
    }
    std::ranges::fill(state.pulled, 0);
    if (!rule_.in_background && state.unpushed + 1 >= settings_.push_every) {
      // The sum over several steps is complete only at the end of the last one.
      const bool is_sum = settings_.push_every > 1;
      const double delay = times_[repeat_].delay(worker).si();
      begin_push(worker);
      for (int message = 0; message < messages_; ++message) {
        const double part = is_sum ? 1 : std::max(state.part, ready_[at(message)]);
        schedule(worker, message, date + (part - state.part) * state.duration + delay);
      }
    }
    compute_until(worker, 1, date);
  }

  void begin_push(int worker) {
    workers_[at(worker)].pushed = 0;
    workers_[at(worker)].missing = shards_.messages;
    if (pulls_) {
      pulls_->began_push(worker);
      for (std::size_t i = 0; i < copies_.size(); ++i)
        workers_[at(worker)].incomplete[i] = static_cast<int>(copies_[i].size());
    }
    log_->pushed(worker);
  }

  void compute_until(int worker, double part, double date) {
    Worker& state = workers_[at(worker)];
    if (state.phase != Phase::computing) enter(worker, Phase::computing, date);
    calendar_.enter(date + (part - state.part) * state.duration, EventKind::wake, worker, state.attempt);
    state.part = part;
  }

  void computed_part(int worker, double date) {
    if (workers_[at(worker)].part < 1)
      compute_on(worker, date);
    else
      computed(worker, date);
  }

  /// Sends the message after the latency of its way.
  void schedule(int worker, int way, double date) {
    schedule(worker, way, date, workers_[at(worker)].attempt);
  }

  void schedule(int worker, int way, double date, int attempt) {
    const WorkerWays& ways = plan_.workers[at(worker)];
    const int group = plan_.way_of_message[at(way % messages_)];
    const ServerWay& route = way < messages_ ? ways.push[at(group)] : ways.pull[at(group)];
    const bool is_sent = way >= messages_ || plan_.messages[at(way)].is_pushed;
    calendar_.enter(date + (is_sent ? route.latency.si() : 0), EventKind::ready, worker,
                    attempt * 2 * messages_ + way);
  }

  /// Sends the parameters of a message for the worker's step to come.
  void pull(int worker, int message, double date) {
    workers_[at(worker)].asked[at(message)] = 1;
    schedule(worker, messages_ + message, date,
             cancels_ ? next_attempt(worker) : workers_[at(worker)].attempt);
  }

  /// A shard has a gradient of a message more. A tensor that several ranks of the worker hold is complete
  /// with the gradients of all of them.
  void received(int worker, int message, double date) {
    if (!pulls_) return;
    const int copied = plan_.messages[at(message)].copy_of;
    const int first = copied < 0 ? message : copied;
    if (--workers_[at(worker)].incomplete[at(first)] > 0) return;
    for (const int copy : copies_[at(first)]) {
      for (const int receiver : pulls_->received(worker, copy, *rules_)) pull(receiver, copy, date);
    }
  }

  void computed(int worker, double date) {
    Worker& state = workers_[at(worker)];
    rules_->computed(worker);
    ++state.unfetched;
    if (++state.unpushed < settings_.push_every) {
      enter(worker, Phase::waiting, date);
      go_on(worker, date);
    } else if (rule_.in_background) {
      enter(worker, Phase::pushing, date);
      if (!state.is_pushing) push_and_go_on(worker, date);
    } else {
      state.from = rules_->pushed(worker);
      enter(worker, Phase::pushing, date);
      if (state.pushed == messages_) gradient(worker, date);
    }
  }

  /// A worker that pushes in the background waits only for its previous push.
  void push_and_go_on(int worker, double date) {
    Worker& state = workers_[at(worker)];
    state.is_pushing = true;
    state.from = rules_->pushed(worker);
    begin_push(worker);
    state.unpushed = 0;
    const double sent = date + times_[repeat_].delay(worker).si();
    for (int message = 0; message < messages_; ++message) schedule(worker, message, sent);
    go_on(worker, date);
  }

  void arrived(const Delivery& message, double date) {
    const auto [worker, way, attempt] = message;
    Worker& state = workers_[at(worker)];
    if (way >= messages_) {
      const bool is_for_this = attempt == state.attempt;
      (is_for_this ? state.pulled : state.pulled_next)[at(way - messages_)] = 1;
      if (is_for_this && state.phase == Phase::stalled) compute_on(worker, date);
      return;
    }
    ++state.pushed;
    if (shards_.count > 1) {
      for (const int shard : shards_.of_message[at(way)]) {
        if (--state.missing[at(shard)] == 0) log_->update_shard(worker, shard, date - origin_);
      }
    }
    received(worker, way, date);
    const bool is_due = rule_.in_background ? state.is_pushing : state.phase == Phase::pushing;
    if (state.pushed == messages_ && is_due) gradient(worker, date);
  }

  void gradient(int worker, double date) {
    Worker& state = workers_[at(worker)];
    if (!rule_.in_background) {
      enter(worker, Phase::waiting, date);
      state.unpushed = 0;
    }
    if (shards_.count == 1) log_->gradient(worker);
    const UpdateDecision& decision = rules_->gradient(worker, state.from);
    if (decision.is_update && shards_.count == 1) log_->update(date - origin_);
    if (rule_.is_bounded()) recorder_->lead(rules_->lead());
    if (decision.drops_unfinished) cancel(date);
    if (pulls_ && decision.is_update) pulls_->used(decision.contributors);
    if (decision.is_update && updated(decision, date)) return;
    if (!rule_.in_background) {
      for (const int released : decision.released) go_on(released, date);
      return;
    }
    state.is_pushing = false;
    if (state.phase == Phase::pushing) push_and_go_on(worker, date);
  }

  /// Whether the repeat ends with this update.
  bool updated(const UpdateDecision& decision, double date) {
    log_->reached(rules_->version(), date - origin_);
    if (options_.choose_k && log_->so_far() != nullptr)
      rules_->set_k(options_.choose_k(static_cast<int>(repeat_), *log_->so_far()));
    if (recorder_->update(decision, rules_->version(), date - origin_)) {
      for (int worker = 0; worker < settings_.workers; ++worker) record(worker, date);
      result_.repeats.push_back(recorder_->finish(date - origin_, calendar_.entered()));
    }
    if (!recorder_->is_finished() || log_->wants_more()) return false;
    is_over_ = true;
    end_repeat(date);
    return true;
  }

  void go_on(int worker, double date) {
    Worker& state = workers_[at(worker)];
    const bool is_due = rule_.in_background ? state.unfetched >= settings_.fetch_every : state.unpushed == 0;
    if (is_due) {
      state.unfetched = 0;
      log_->read(worker);
    }
    const bool is_fetching = is_due && !rules_->has_newest(worker);
    // where updates cancel, parameters on their way are for the next attempt
    if (!is_fetching && (cancels_ || std::ranges::count(state.asked, 1) == 0)) {
      begin_step(worker, stops_.size(), date);
      return;
    }
    if (is_fetching) {
      rules_->fetched(worker);
      for (const int message : pull_order_) {
        if (state.asked[at(message)] != 0) continue;
        if (!pulls_ || pulls_->fetch(worker, message))
          schedule(worker, messages_ + message, date);
        else
          state.pulled[at(message)] = 1;
      }
    } else {  // only some tensors are newer than those that it has
      for (int message = 0; message < messages_; ++message) {
        if (state.asked[at(message)] == 0) state.pulled[at(message)] = 1;
      }
    }
    std::ranges::fill(state.asked, 0);
    begin_step(worker, 0, date);
  }

  void cancel(double date) {
    if (pulls_) pulls_->cancelled();
    for (int worker = 0; worker < settings_.workers; ++worker) {
      Worker& state = workers_[at(worker)];
      const bool is_cancelled = state.phase != Phase::waiting;
      enter(worker, Phase::waiting, date);
      if (is_cancelled) {
        for (const auto& [begun, ended] : state.computed)
          recorder_->spent(worker, Activity::wasted, begun - origin_, ended - origin_);
      }
      state.unpushed = 0;
      drop_all(worker);
    }
  }

  void end_repeat(double date) {
    for (int worker = 0; worker < settings_.workers; ++worker) {
      enter(worker, Phase::waiting, date);
      drop_all(worker);
    }
    result_.updates += rules_->version();
    log_->finish();
    end_if_idle(date);
  }

  /// The next repeat begins on an idle network.
  void end_if_idle(double date) {
    if (!is_over_ || connections_.under_way() > 0 || has_ended_) return;
    result_.ended = Seconds{date};
    if (++repeat_ < times_.size()) {
      calendar_.enter(date, EventKind::begin, 0);
      is_over_ = false;
    } else {
      has_ended_ = true;
    }
  }

  UpdateSettings settings_;
  const UpdateRuleTraits& rule_;
  std::vector<StepTimes>& times_;  ///< by repeat
  const ServerPlan& plan_;
  const std::vector<double>& ready_;
  std::vector<Stop> stops_;
  std::vector<int> pull_order_;  ///< indices of messages
  PullTime pull_;
  TrainingOptions options_;
  int messages_;
  bool cancels_;                          ///< updates begin a new attempt of every worker
  std::vector<std::vector<int>> copies_;  ///< by first message of a tensor: it and those of its copies
  LoggedShards shards_;
  Calendar calendar_;
  ServerConnections connections_;
  std::optional<UpdateRules> rules_;
  std::optional<TrainingRecorder> recorder_;
  std::optional<OrderLogger> log_;
  std::optional<Loader> loader_;
  std::vector<Worker> workers_;
  std::optional<TensorPulls> pulls_;  ///< nothing: parameters are pulled after the whole update
  ServerRecord result_;
  std::size_t repeat_ = 0;
  double origin_ = 0;  ///< date at which the repeat began
  bool is_over_ = false;
  bool has_ended_ = false;
};

}  // namespace

ServerRecord run_with_servers(const UpdateSettings& settings, std::vector<StepTimes>& times,
                              const ServerTraining& training, const TrainingOptions& options) {
  return WithServers(settings, times, training, options).run();
}

}  // namespace trainyard
