#include "run/faulty_job.hpp"

#include "random/functions.hpp"
#include "random/generator.hpp"
#include "units/ids.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <queue>
#include <utility>

namespace trainyard {

namespace {

constexpr double no_date = std::numeric_limits<double>::infinity();
constexpr double given_up_after = 100;  // times the work
constexpr int most_events = 1'000'000;
constexpr std::uint64_t for_faults = 0xfau;  // key of this stream of random numbers

/// Faults in order of their dates, both random and given ones.
class FaultClock {
public:
  FaultClock(const FaultyJob& job, std::uint64_t seed, int repeat)
      : job_(job), generator_(seed, {for_faults, static_cast<std::uint64_t>(repeat)}) {
    for (const FaultSource& source : job.rates) {
      total_ += static_cast<double>(source.parts.size()) / source.between.si();
      rate_up_to_.push_back(total_);
    }
    draw();
  }

  [[nodiscard]] double date() const { return std::min(drawn_date_, dated()); }

  /// The fault at date(); moves on to the next one.
  FaultyPart take() {
    if (dated() <= drawn_date_) return job_.dates[next_++].part;
    const FaultyPart part = drawn_;
    draw();
    return part;
  }

private:
  [[nodiscard]] double dated() const {
    return next_ < job_.dates.size() ? job_.dates[next_].date.si() : no_date;
  }

  void draw() {
    if (total_ <= 0) return;
    drawn_date_ = (drawn_date_ == no_date ? 0 : drawn_date_) - random::log(generator_.uniform()) / total_;
    const double which = generator_.uniform() * total_;
    const auto found = std::ranges::upper_bound(rate_up_to_, which);
    const auto source =
        std::min(static_cast<std::size_t>(found - rate_up_to_.begin()), rate_up_to_.size() - 1);
    const std::vector<FaultyPart>& parts = job_.rates[source].parts;
    const auto number = static_cast<std::size_t>(generator_.uniform() * static_cast<double>(parts.size()));
    drawn_ = parts[std::min(number, parts.size() - 1)];
  }

  const FaultyJob& job_;
  random::Generator generator_;
  std::vector<double> rate_up_to_;  ///< by source: faults per second of this and all earlier sources
  double total_ = 0;
  double drawn_date_ = no_date;
  FaultyPart drawn_;
  std::size_t next_ = 0;  ///< index in job_.dates
};

class FaultyReplay {
public:
  FaultyReplay(const FaultyJob& job, Seconds every, std::uint64_t seed, int repeat)
      : job_(job), every_(every.si()), faults_(job, seed, repeat) {}

  FaultyRun run() {
    due_ = every_;
    for (int event = 0; event < most_events && now_ < given_up_after * job_.work.si(); ++event) {
      skip_whole_intervals();
      const bool goes_on = phase_ == Phase::working && pace_ > 0;
      const double finished = goes_on ? now_ + (job_.work.si() - done_) / pace_ : no_date;
      const double phase_end = phase_ == Phase::working ? due_ : until_;
      const double back = returns_.empty() ? no_date : returns_.top().first;
      const double next = std::min({finished, phase_end, back, faults_.date()});
      go_on_until(next);
      if (next == finished) return result();
      if (next == back)
        come_back();
      else if (next == phase_end)
        end_phase();
      else
        fail(faults_.take());
    }
    run_.is_done = false;
    return result();
  }

private:
  enum class Phase { working, writing, restarting };

  FaultyRun result() {
    run_.wall = Seconds{now_};
    return run_;
  }

  /// Skips whole intervals without events at once: the cost of a run depends on its faults, not on its
  /// length.
  void skip_whole_intervals() {
    const bool is_begin = phase_ == Phase::working && due_ == now_ + every_;
    if (!is_begin || !returns_.empty() || every_ == no_date) return;
    const double interval = every_ + job_.write.si();
    const double undisturbed = std::floor((faults_.date() - now_) / interval);
    const double count = std::min(undisturbed, std::ceil((job_.work.si() - done_) / every_) - 1);
    if (count < 1) return;
    now_ += count * interval;
    saved_ = done_ += count * every_;
    run_.writing += count * job_.write;
    due_ = now_ + every_;
  }

  void go_on_until(double date) {
    const double passed = date - now_;
    now_ = date;
    switch (phase_) {
      case Phase::working:
        done_ += passed * pace_;
        run_.slowed += Seconds{passed * (1 - pace_)};
        break;
      case Phase::writing:
        run_.writing += Seconds{passed};
        break;
      case Phase::restarting:
        run_.restarting += Seconds{passed};
        break;
    }
  }

  void end_phase() {
    if (phase_ == Phase::working) {
      phase_ = Phase::writing;
      until_ = now_ + job_.write.si();
      return;
    }
    if (phase_ == Phase::writing) saved_ = done_;
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
  }

  void set_missing(int missing) {
    missing_ = missing;
    pace_ = missing == 0 ? 1 : job_.pace_without(missing);
  }

  void fail(const FaultyPart& part) {
    ++run_.faults;
    if (phase_ == Phase::restarting) {
      restart();
      return;
    }
    int missing = missing_;
    for (int worker = part.first_worker; worker < part.first_worker + part.workers; ++worker) {
      const double back = now_ + job_.restart.si();
      if (back_at_.insert_or_assign(worker, back).second) ++missing;
      returns_.emplace(back, worker);
    }
    if (missing != missing_) set_missing(missing);
    if (part.holds_parameters || (pace_ <= 0 && !job_.can_wait)) restart();
  }

  void restart() {
    ++run_.restarts;
    run_.lost += Seconds{done_ - saved_};
    done_ = saved_;
    back_at_.clear();
    returns_ = {};
    set_missing(0);
    phase_ = Phase::restarting;
    until_ = now_ + job_.restart.si();
  }

  const FaultyJob& job_;
  double every_;
  FaultClock faults_;
  FaultyRun run_;
  Phase phase_ = Phase::working;
  double now_ = 0;
  double until_ = 0;  ///< end of writing or restarting
  double due_ = 0;    ///< date of the next checkpoint
  double done_ = 0;   ///< seconds of work
  double saved_ = 0;  ///< the part of done_ in the last checkpoint
  int missing_ = 0;   ///< number of workers
  double pace_ = 1;
  std::map<int, double> back_at_;  ///< by worker that is missing: date of its return
  std::priority_queue<std::pair<double, int>, std::vector<std::pair<double, int>>, std::greater<>> returns_;
};

}  // namespace

FaultyRun run_with_faults(const FaultyJob& job, Seconds every, std::uint64_t seed, int repeat) {
  return FaultyReplay(job, every, seed, repeat).run();
}

bool stops(const FaultyJob& job, const FaultyPart& part) {
  if (part.holds_parameters) return true;
  return !job.can_wait && part.workers > 0 && job.pace_without(part.workers) <= 0;
}

Seconds time_between_stops(const FaultyJob& job) {
  double rate = 0;
  for (const FaultSource& source : job.rates) {
    for (const FaultyPart& part : source.parts) {
      if (stops(job, part)) rate += 1 / source.between.si();
    }
  }
  return Seconds{rate > 0 ? 1 / rate : no_date};
}

}  // namespace trainyard
