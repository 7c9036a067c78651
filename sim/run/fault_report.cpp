#include "config/error_at.hpp"
#include "experiment/job_needs.hpp"
#include "experiment/workers.hpp"
#include "run/checkpoint_cost.hpp"
#include "run/checkpoint_interval.hpp"
#include "run/faulty_job.hpp"
#include "run/faulty_parts.hpp"
#include "run/simulate.hpp"
#include "run/update_setup.hpp"
#include "units/plural.hpp"
#include "units/statistics.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <fmt/format.h>
#include <limits>
#include <map>
#include <memory>
#include <type_traits>
#include <utility>

namespace trainyard {

namespace {

constexpr Seconds never{std::numeric_limits<double>::infinity()};

/// Parameters are safe on servers, so the remaining ranks can wait for missing ones. Rules in lock step
/// restart from the checkpoint, as jobs with collectives do.
bool waits_for_missing(const Sync& sync) {
  return has_servers(sync) && (!traits(sync.update).waits_for_all() || sync.backups.value_or(0) > 0);
}

/// Gradients per second of the update rule with this number of workers and no network.
double gradient_rate(const Run& run, UpdateSettings settings, int workers) {
  const ResolvedExperiment& resolved = run.experiment;
  settings.workers = workers;
  const int ranks = workers * ranks_per_worker(resolved);
  StepTimes times = step_times(resolved, *resolved.cluster, ranks, worker_ops(step_of(run)), 1).front();
  const TrainingRecord record =
      run_without_network(settings, times, training_options(settings, resolved.settings.steps));
  return static_cast<double>(record.gradients) / (record.ended - record.begun).si();
}

/// Simulates each number of missing workers when it first occurs.
std::function<double(int)> pace_without(const Run& run) {
  const ResolvedExperiment& resolved = run.experiment;
  const UpdateSettings settings = update_settings(resolved.settings.sync, workers_of(resolved));
  const int needed = has_servers(resolved.settings.sync) ? workers_needed(settings) : settings.workers;
  const auto known = std::make_shared<std::map<int, double>>();
  return [&run, settings, needed, known](int gone) {
    const int left = settings.workers - gone;
    if (left < needed || left < 1) return 0.0;
    const auto rate = [&](int workers) {
      const auto found = known->find(workers);
      if (found != known->end()) return found->second;
      return known->emplace(workers, gradient_rate(run, settings, workers)).first->second;
    };
    return rate(left) / rate(settings.workers);
  };
}

/// Elastic jobs go on without some of their replicas, each of which does the same work.
std::function<double(int)> pace_without_replicas(int replicas) {
  return [replicas](int gone) { return 1 - static_cast<double>(gone) / replicas; };
}

/// Copies follow each other no faster than they reach the other nodes.
MemoryCopies memory_copies(const Checkpoint& checkpoint, const CheckpointCost& cost, int nodes) {
  const CopiesInMemory& copies = *checkpoint.in_memory;
  if (copies.copies >= nodes) {
    throw error_at("faults.checkpoint.in_memory",
                   fmt::format("copies on {} need more nodes than the {} of the job",
                               plural(copies.copies, "other node"), nodes),
                   "fewer copies, or more nodes");
  }
  return {.every = std::max(copies.every, cost.transfer),
          .stall = cost.copy,
          .transfer = cost.transfer,
          .copies = copies.copies};
}

FaultyJob job_of(const Run& run, const std::optional<CheckpointCost>& cost) {
  const ResolvedExperiment& resolved = run.experiment;
  const Faults& faults = *resolved.settings.faults;
  FaultyJob job;
  job.work = faults.work;
  job.workers = has_servers(resolved.settings.sync) ? workers_of(resolved) : replicas(resolved);
  job.nodes = resolved.cluster->nodes;
  job.restart = faults.restart;
  if (cost) {
    job.write = cost->stall;
    job.background = cost->write - cost->stall;
  }
  if (cost && faults.checkpoint->in_memory)
    job.in_memory = memory_copies(*faults.checkpoint, *cost, resolved.cluster->nodes);
  if (faults.repair)
    job.repair = {.time = *faults.repair, .spares = faults.spares, .is_elastic = faults.elastic};
  for (const FaultRate& rate : faults.rates)
    job.rates.push_back({rate.every, faulty_parts(resolved, rate.of, rate.planned)});
  for (const FaultDate& date : faults.dates) {
    const std::vector<FaultyPart> parts = faulty_parts(resolved, date.of, date.planned);
    if (date.number >= static_cast<int>(parts.size())) {
      throw InputError(fmt::format("faults.dates: {} {} does not exist: the job has {}",
                                   config::name_of(date.of), date.number, parts.size()),
                       fmt::format("0 to {}", parts.size() - 1));
    }
    job.dates.push_back({date.at, parts[at(date.number)]});
  }
  std::ranges::stable_sort(job.dates, {}, &DatedFault::date);
  job.pace_without = faults.elastic ? pace_without_replicas(job.workers) : pace_without(run);
  job.can_wait = waits_for_missing(resolved.settings.sync);
  return job;
}

/// Repeated runs of a job with one interval.
struct Runs {
  std::vector<FaultyRun> each;
  [[nodiscard]] bool are_done() const { return std::ranges::all_of(each, &FaultyRun::is_done); }
  /// The mean of a time or of a number of events.
  template <class T>
  [[nodiscard]] auto mean(T FaultyRun::*field) const {
    std::conditional_t<std::is_same_v<T, Seconds>, Seconds, double> sum{};
    for (const FaultyRun& run : each) sum += static_cast<decltype(sum)>(run.*field);
    return sum / static_cast<double>(each.size());
  }
  /// The standard error of the mean wall time.
  [[nodiscard]] Seconds standard_error() const {
    if (each.size() < 2) return {};
    const double centre = mean(&FaultyRun::wall).si();
    double squares = 0;
    for (const FaultyRun& run : each) squares += (run.wall.si() - centre) * (run.wall.si() - centre);
    const auto count = static_cast<double>(each.size());
    return Seconds{std::sqrt(squares / (count - 1) / count)};
  }
};

/// The number of standard errors on either side of a mean of this many runs within which the true mean lies
/// with 95 % probability.
double standard_errors(int runs) { return runs < 2 ? 0 : students_t(runs - 1, 0.975); }

/// Runs the job `runs` times, or until so many faults have happened that means are exact to a hundredth of
/// what faults cost; stops after the first run that does not finish.
Runs run_all(const FaultyJob& job, Seconds every, long long seed, int runs) {
  constexpr std::int64_t enough_faults = 20'000;
  Runs all;
  std::int64_t faults = 0;
  for (int repeat = 0; repeat < runs; ++repeat) {
    if (repeat > 1 && faults > enough_faults) break;
    all.each.push_back(run_with_faults(job, every, static_cast<std::uint64_t>(seed), repeat));
    if (!all.each.back().is_done) break;
    faults += all.each.back().faults;
  }
  return all;
}

/// Repeats the same faults with intervals from an eighth of Daly's to eight times it, four to a factor of
/// two.
void try_intervals(const FaultyJob& job, long long seed, FaultReport& report) {
  constexpr int steps = 12;
  const bool is_closed = job.dates.empty() && !job.repair && !job.in_memory && job.background <= Seconds{} &&
                         std::ranges::all_of(job.rates, [&](const FaultSource& source) {
                           return std::ranges::all_of(source.parts, [&](const FaultyPart& part) {
                             return !part.is_planned && stops(job, part);
                           });
                         });
  for (int step = -steps; step <= steps; ++step) {
    IntervalRow& row = report.intervals.emplace_back();
    row.every = std::exp2(step / 4.0) * *report.daly;
    const Runs runs = run_all(job, row.every, seed, report.runs);
    if (runs.are_done()) row.wall = runs.mean(&FaultyRun::wall);
    if (is_closed) {
      row.expected = expected_wall({.work = job.work,
                                    .every = row.every,
                                    .write = job.write,
                                    .restart = job.restart,
                                    .between_faults = *report.between_stops});
    }
    if (row.wall && (!report.best || job.work / *row.wall > report.best_share)) {
      report.best = row.every;
      report.best_share = job.work / *row.wall;
    }
  }
}

}  // namespace

FaultReport fault_report(const Run& run) {
  const ResolvedExperiment& resolved = run.experiment;
  const Faults& faults = *resolved.settings.faults;
  std::optional<CheckpointCost> cost;
  if (faults.checkpoint) cost = checkpoint_cost(resolved);
  const FaultyJob job = job_of(run, cost);
  const long long seed = resolved.settings.random.seed;
  FaultReport report;
  report.runs = faults.rates.empty() ? 1 : faults.runs;
  report.work = job.work;
  if (cost) {
    report.checkpoint_size = cost->size;
    report.write = cost->write;
    report.stall = cost->stall;
  }
  if (const Seconds between = time_between_stops(job); between < never) {
    report.between_stops = between;
    if (faults.checkpoint) {
      report.young = young_interval(job.write, between);
      report.daly = daly_interval(job.write, between);
    }
  }
  if (faults.checkpoint) {
    report.every = faults.checkpoint->every;
    report.is_daly = !report.every;
    if (!report.every) report.every = report.daly;
    if (!report.every) {
      throw InputError("the checkpoint interval is unknown: no rate is given for faults that stop the job",
                       "faults.checkpoint.every: 1 h");
    }
  }
  const Runs runs = run_all(job, report.every.value_or(never), seed, report.runs);
  report.runs = static_cast<int>(runs.each.size());
  if (!runs.are_done()) {
    throw JobImpossible(fmt::format(
        "the job does not finish within 100 times its work, or a million events: it restarted {:.0f} times",
        static_cast<double>(runs.each.back().restarts)));
  }
  report.wall = runs.mean(&FaultyRun::wall);
  report.lost = runs.mean(&FaultyRun::lost);
  report.slowed = runs.mean(&FaultyRun::slowed);
  report.writing = runs.mean(&FaultyRun::writing);
  report.restarting = runs.mean(&FaultyRun::restarting);
  report.waiting = runs.mean(&FaultyRun::waiting);
  report.checkpoints = runs.mean(&FaultyRun::checkpoints);
  report.faults = runs.mean(&FaultyRun::faults);
  report.restarts = runs.mean(&FaultyRun::restarts);
  report.slowest_gpu = run.gpu_utilization * (1 - 1 / resolved.stack.slowest_gpu);
  report.share = report.work / report.wall;
  const Seconds width = standard_errors(report.runs) * runs.standard_error();
  report.share_low = report.work / (report.wall + width);
  report.share_high = width < report.wall ? std::min(1.0, report.work / (report.wall - width)) : 1;
  if (report.daly) try_intervals(job, seed, report);
  return report;
}

std::vector<std::string> fault_notes(const ResolvedExperiment& resolved, const FaultReport& report) {
  std::vector<std::string> notes;
  const Faults& faults = *resolved.settings.faults;
  if (faults.checkpoint && !faults.checkpoint->size) notes.push_back(training_state_note(resolved));
  if (has_servers(resolved.settings.sync))
    notes.emplace_back("faults: the speed with fewer ranks is that of the update rule without a network");
  notes.emplace_back("faults: time, energy and cost of an epoch do not include faults");
  const auto is_late = [&](const FaultDate& date) { return date.at > report.wall; };
  if (const auto late = std::ranges::count_if(faults.dates, is_late); late > 0)
    notes.push_back(fmt::format("faults: {} after the end of the job", plural(late, "date")));
  return notes;
}

}  // namespace trainyard
