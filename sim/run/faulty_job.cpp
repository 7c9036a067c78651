#include "run/faulty_job.hpp"

#include "run/fault_clock.hpp"
#include "units/ids.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <queue>
#include <set>
#include <utility>

namespace trainyard {

namespace {

constexpr double given_up_after = 100;  // times the work
constexpr int most_events = 1'000'000;

/// The work that a job can continue from after a fault.
class SavedWork {
public:
  explicit SavedWork(const FaultyJob& job) : job_(job) {}

  /// The part of the time of working in which the job makes progress; copies into memory take the rest.
  [[nodiscard]] double share_of_work() const {
    if (!job_.in_memory) return 1;
    return job_.in_memory->every.si() / period();
  }

  void checkpoint_begins(double complete_at, double done) {
    settle(complete_at);
    pending_ = {complete_at, done};
  }
  /// A checkpoint that is complete.
  void checkpoint(double done) {
    saved_ = done;
    pending_.first = no_date;
  }
  void work_begins(double date) {
    begun_ = date;
    broken_.clear();
  }

  /// What is left of `done` after a fault of a part while the job works at this pace, or stands still.
  double after_fault(const FaultyPart& part, double date, double done, double pace) {
    if (part.node && job_.in_memory) broken_.insert(*part.node);
    settle(date);
    pending_.first = no_date;
    if (!job_.in_memory || is_lost()) return saved_;
    return std::max(saved_, done - age_of_copy(date) * pace * share_of_work());
  }

private:
  [[nodiscard]] double period() const { return job_.in_memory->every.si() + job_.in_memory->stall.si(); }

  void settle(double date) {
    if (pending_.first > date) return;
    saved_ = pending_.second;
    pending_.first = no_date;
  }

  /// Since the newest copy that is on the other nodes was made; at first that from which the job began.
  [[nodiscard]] double age_of_copy(double date) const {
    const double complete = date - begun_ - job_.in_memory->transfer.si();
    return date - begun_ - std::max(0.0, std::floor(complete / period())) * period();
  }

  /// Whether a node is broken whose copies are all on broken nodes.
  [[nodiscard]] bool is_lost() const {
    return std::ranges::any_of(broken_, [&](int node) {
      for (int next = 1; next <= job_.in_memory->copies; ++next)
        if (!broken_.contains((node + next) % job_.nodes)) return false;
      return true;
    });
  }

  const FaultyJob& job_;
  double saved_ = 0;
  std::pair<double, double> pending_{no_date, 0};  ///< date at which it is complete, and its work
  double begun_ = 0;                               ///< date since which the job works
  std::set<int> broken_;                           ///< nodes that failed since then
};

class FaultyReplay {
public:
  FaultyReplay(const FaultyJob& job, Seconds every, std::uint64_t seed, int repeat)
      : job_(job),
        every_(std::max(every, job.background).si()),
        spares_(job.repair ? job.repair->spares : 0),
        saved_(job),
        faults_(job, seed, repeat) {}

  FaultyRun run() {
    due_ = every_;
    for (int event = 0; event < most_events && now_ < given_up_after * job_.work.si(); ++event) {
      skip_whole_intervals();
      const double pace = pace_ * saved_.share_of_work();
      const bool goes_on = phase_ == Phase::working && pace > 0;
      const double finished = goes_on ? now_ + (job_.work.si() - done_) / pace : no_date;
      const double back = next_return();
      const double repaired = next_repair();
      const double next = std::min({finished, phase_end(), back, repaired, faults_.date()});
      go_on_until(next);
      if (next == finished) return result();
      if (next == back)
        come_back();
      else if (next == repaired)
        end_repair();
      else if (next == phase_end())
        end_phase();
      else
        fail(faults_.take());
    }
    run_.is_done = false;
    return result();
  }

private:
  enum class Phase { working, writing, restarting, waiting };

  FaultyRun result() {
    run_.wall = Seconds{now_};
    return run_;
  }

  [[nodiscard]] double next_return() const { return returns_.empty() ? no_date : returns_.top().first; }
  [[nodiscard]] double next_repair() const { return repairs_.empty() ? no_date : repairs_.top(); }
  [[nodiscard]] double phase_end() const { return phase_ == Phase::working ? due_ : until_; }

  [[nodiscard]] bool stands_still() const { return phase_ == Phase::restarting || phase_ == Phase::waiting; }

  /// Skips whole intervals without events at once: the cost of a run depends on its faults, not on its
  /// length.
  void skip_whole_intervals() {
    const bool is_begin = phase_ == Phase::working && due_ == now_ + every_;
    if (!is_begin || every_ == no_date || pace_ <= 0) return;
    const double interval = every_ + job_.write.si();
    const double working = every_ * saved_.share_of_work();
    const double progress = working * pace_;
    const double disturbed = std::min({faults_.date(), next_return(), next_repair()});
    const double undisturbed = std::floor((disturbed - now_) / interval);
    const double count = std::min(undisturbed, std::ceil((job_.work.si() - done_) / progress) - 1);
    if (count < 1) return;
    now_ += count * interval;
    done_ += count * progress;
    run_.writing += count * (job_.write + Seconds{every_ - working});
    run_.slowed += count * Seconds{working - progress};
    if (count > 1) saved_.checkpoint(done_ - progress);  // the last one may still be written
    saved_.checkpoint_begins(now_ + job_.background.si(), done_);
    run_.checkpoints += static_cast<std::int64_t>(count);
    due_ = now_ + every_;
  }

  void go_on_until(double date) {
    const double passed = date - now_;
    const double of_work = saved_.share_of_work();
    now_ = date;
    switch (phase_) {
      case Phase::working:
        done_ += passed * of_work * pace_;
        run_.slowed += Seconds{passed * of_work * (1 - pace_)};
        run_.writing += Seconds{passed * (1 - of_work)};
        break;
      case Phase::writing:
        run_.writing += Seconds{passed};
        break;
      case Phase::restarting:
        run_.restarting += Seconds{passed};
        break;
      case Phase::waiting:
        run_.waiting += Seconds{passed};
        break;
    }
  }

  void end_phase() {
    if (phase_ == Phase::working) {
      phase_ = Phase::writing;
      until_ = now_ + job_.write.si();
      return;
    }
    if (phase_ == Phase::writing) ++run_.checkpoints;
    if (phase_ == Phase::writing && stops_after_writing_) {
      saved_.checkpoint(done_);
      stand_still();
      return;
    }
    if (phase_ == Phase::writing) saved_.checkpoint_begins(now_ + job_.background.si(), done_);
    if (phase_ == Phase::restarting) saved_.work_begins(now_);
    phase_ = Phase::working;
    due_ = now_ + every_;
  }

  void come_back() {
    const auto [date, worker] = returns_.top();
    returns_.pop();
    const auto found = back_at_.find(worker);
    if (found == back_at_.end() || found->second != date) return;  // it failed again, or all restarted
    back_at_.erase(found);
    set_missing(missing_ - 1);
    if (job_.repair && phase_ != Phase::waiting) stop_as_planned();
  }

  void set_missing(int missing) {
    missing_ = missing;
    pace_ = missing == 0 ? 1 : job_.pace_without(missing);
  }

  void fail(const FaultyPart& part) {
    if (is_elastic() && is_missing(part)) return;
    ++run_.faults;
    if (part.is_planned) {
      take_away(part);
      stop_as_planned();
      return;
    }
    if (!stops(job_, part) || job_.repair) take_away(part);
    const bool is_stopped = stands_still() || stops(job_, part) || (pace_ <= 0 && !job_.can_wait);
    if (!is_stopped) return;
    lose_work(part);
    if (!job_.repair) forget_missing();
    stand_still();
  }

  [[nodiscard]] bool is_elastic() const { return job_.repair && job_.repair->is_elastic; }

  [[nodiscard]] bool is_missing(const FaultyPart& part) const {
    for (int next = 0; next < part.workers; ++next)
      if (!back_at_.contains((part.first_worker + next) % job_.workers)) return false;
    return part.workers > 0;
  }

  /// The workers of a part are missing, or a spare takes their place.
  void take_away(const FaultyPart& part) {
    if (!job_.repair) {
      if (!stands_still() && !part.is_planned) miss(part, now_ + job_.restart.si());
      return;
    }
    if (!part.node) return;
    const double back = now_ + job_.repair->time.si();
    if (spares_ > 0) {
      --spares_;
      repairs_.push(back);
    } else if (is_elastic()) {
      miss(part, back);
    } else {
      ++lacking_;
      repairs_.push(back);
    }
  }

  void miss(const FaultyPart& part, double back) {
    int missing = missing_;
    for (int next = 0; next < part.workers; ++next) {
      const int worker = (part.first_worker + next) % job_.workers;
      if (back_at_.insert_or_assign(worker, back).second) ++missing;
      returns_.emplace(back, worker);
    }
    if (missing != missing_) set_missing(missing);
  }

  void forget_missing() {
    if (missing_ == 0) return;
    back_at_.clear();
    returns_ = {};
    set_missing(0);
  }

  /// A node is back: a job that waits for one takes it, else it becomes a spare.
  void end_repair() {
    repairs_.pop();
    if (lacking_ == 0) {
      ++spares_;
      return;
    }
    --lacking_;
    if (lacking_ == 0 && phase_ == Phase::waiting) stand_still();
  }

  /// Goes back to what is saved.
  void lose_work(const FaultyPart& part) {
    ++run_.restarts;
    const double left = saved_.after_fault(part, now_, done_, stands_still() ? 0 : pace_);
    run_.lost += Seconds{done_ - left};
    done_ = left;
  }

  void stop_as_planned() {
    if (stands_still() || stops_after_writing_) return;
    ++run_.restarts;
    phase_ = Phase::writing;
    until_ = now_ + job_.write.si() + job_.background.si();
    stops_after_writing_ = true;
  }

  /// Restarts, or waits for nodes first.
  void stand_still() {
    stops_after_writing_ = false;
    phase_ = lacking_ > 0 ? Phase::waiting : Phase::restarting;
    until_ = lacking_ > 0 ? no_date : now_ + job_.restart.si();
  }

  const FaultyJob& job_;
  double every_;
  int spares_;       ///< that are there
  int lacking_ = 0;  ///< nodes without which the job waits
  SavedWork saved_;
  FaultClock faults_;
  FaultyRun run_;
  Phase phase_ = Phase::working;
  double now_ = 0;
  double until_ = 0;  ///< end of writing or restarting
  double due_ = 0;    ///< date of the next checkpoint
  double done_ = 0;   ///< seconds of work
  int missing_ = 0;   ///< number of workers
  double pace_ = 1;
  bool stops_after_writing_ = false;
  std::map<int, double> back_at_;  ///< by worker that is missing: date of its return
  std::priority_queue<std::pair<double, int>, std::vector<std::pair<double, int>>, std::greater<>> returns_;
  std::priority_queue<double, std::vector<double>, std::greater<>> repairs_;  ///< dates of their ends
};

}  // namespace

FaultyRun run_with_faults(const FaultyJob& job, Seconds every, std::uint64_t seed, int repeat) {
  return FaultyReplay(job, every, seed, repeat).run();
}

bool stops(const FaultyJob& job, const FaultyPart& part) {
  if (part.holds_parameters || (job.repair && part.node)) return true;
  return !job.can_wait && part.workers > 0 && job.pace_without(part.workers) <= 0;
}

Seconds time_between_stops(const FaultyJob& job) {
  double rate = 0;
  for (const FaultSource& source : job.rates) {
    for (const FaultyPart& part : source.parts) {
      if (!part.is_planned && stops(job, part)) rate += 1 / source.between.si();
    }
  }
  return Seconds{rate > 0 ? 1 / rate : no_date};
}

}  // namespace trainyard
