#include "run/whole_job.hpp"

#include "experiment/job_needs.hpp"
#include "experiment/job_target.hpp"
#include "run/energy.hpp"
#include "run/job_phases.hpp"
#include "run/run.hpp"
#include "units/plural.hpp"
#include "units/text.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace trainyard {

namespace {

constexpr double counting_error = 1e-9;

/// Whole batches, intervals or epochs that have begun.
double started(double number) { return std::ceil(number - counting_error); }
/// Whole batches, intervals or epochs that have ended.
double ended(double number) { return std::floor(number + counting_error); }

double copies(const ResolvedExperiment& resolved, DataDivision data) {
  return data == DataDivision::replicated ? replicas(resolved) : 1;
}

/// Samples of an update in a run of many.
double samples_per_update(const Run& run) { return run.pace.throughput * run.pace.time.si(); }

/// Adds up the phases of a run.
class JobSum {
public:
  explicit JobSum(const Run& run) : run_(run), resolved_(run.experiment), job_(*run.experiment.settings.job) {
    if (job_.target) target_ = job_target(resolved_);
  }

  WholeJob sum() {
    measure();
    start();
    add_training();
    if (job_.metrics > 0 && run_.ranks > 1) add_callbacks();
    if (job_.evaluation) {
      add_evaluation(*job_.evaluation, times_of(job_.evaluation->every));
    } else if (target_ && target_->has_published_evaluation) {
      // When a run evaluates first is free: training ends at an evaluation, after that many intervals or
      // less.
      const TargetEvaluation& evaluation = *target_->curve.evaluate;
      add_evaluation({.samples = evaluation.samples},
                     evaluations_until(evaluation, samples_, *target_->between, target_->batch));
    }
    if (job_.checkpoint) add_checkpoints();
    if (run_.faults) add_faults();
    total();
    return whole_;
  }

private:
  void measure() {
    const Known<double> epoch = samples_of_epoch(run_);
    if (target_)
      samples_ = target_->samples;
    else if (job_.tokens)
      samples_ = samples_of_tokens(resolved_);
    else
      samples_ = job_.epochs ? *job_.epochs * *epoch : *job_.steps * samples_per_update(run_);
    whole_.steps = job_.steps.value_or(samples_ / samples_per_update(run_));
    if (target_) whole_.steps = started(whole_.steps);
    if (resolved_.model && resolved_.model->sequence_length)
      whole_.tokens = samples_ * *resolved_.model->sequence_length;
    if (job_.epochs)
      whole_.epochs = job_.epochs;
    else if (epoch)
      whole_.epochs = samples_ / *epoch;
    if (target_) add_target();
    whole_.accuracy = job_accuracy(resolved_);
  }

  void add_target() {
    const SamplesToTarget& expected = target_->expected;
    const double scale = samples_ / expected.samples;
    whole_.target = {.target = target_->curve.target,
                     .samples = samples_,
                     .samples_low = scale * expected.low,
                     .samples_high = scale * expected.high,
                     .range = expected.range,
                     .epochs = {}};
    if (resolved_.samples_per_epoch) whole_.target->epochs = samples_ / *resolved_.samples_per_epoch;
  }

  void add(JobPhase phase, double times, Seconds time, Known<Joules> energy, std::optional<JobPower> power) {
    const Known<double> rent = rent_per_hour(resolved_.platform, run_.nodes);
    constexpr Seconds hour{3600};
    whole_.parts.push_back(
        {.phase = phase,
         .times = times,
         .time = time,
         .energy = energy,
         .rent = rent ? Known<Dollars>(Dollars(*rent * (time / hour))) : unknown(rent.error()),
         .power = power});
  }

  [[nodiscard]] Watts nodes_alone() const {
    return static_cast<double>(run_.nodes) * node_overhead(resolved_.platform, resolved_.gpu)->value;
  }

  /// All GPUs draw this part of their TDP, and their memory is idle.
  void add_at(JobPhase phase, double times, Seconds time, double part_of_tdp) {
    const auto ranks = static_cast<double>(run_.ranks);
    const JobPower power{.processors = ranks * part_of_tdp * resolved_.gpu.tdp.value,
                         .memory = ranks * memory_powers(resolved_.gpu).waiting,
                         .rest = nodes_alone()};
    add(phase, times, time, power.all() * time, power);
  }

  /// All GPUs wait.
  void add_idle(JobPhase phase, double times, Seconds time) {
    if (run_.energy)
      add_at(phase, times, time, resolved_.gpu.power->idle.value);
    else
      add(phase, times, time, unknown(run_.energy.error()), {});
  }

  /// All ranks read files.
  void add_reading(JobPhase phase, double times, Seconds time) {
    if (run_.energy && resolved_.gpu.reading)
      add_at(phase, times, time, resolved_.gpu.reading->value);
    else
      add_idle(phase, times, time);
  }

  /// All GPUs work as in training.
  void add_work(JobPhase phase, double times, Seconds time) {
    if (!run_.energy) {
      add(phase, times, time, unknown(run_.energy.error()), {});
      return;
    }
    const Watts all = run_.energy->average;
    const JobPower power{.processors = all - run_.energy->memory - nodes_alone(),
                         .memory = run_.energy->memory,
                         .rest = nodes_alone()};
    add(phase, times, time, all * time, power);
  }

  void start() {
    if (job_.launch) add_idle(JobPhase::launch, 1, *job_.launch);
    if (job_.load) {
      const double times = job_.load->when == LoadTime::once ? 1 : started(*whole_.epochs);
      const Seconds time = load_time(resolved_);
      add_reading(JobPhase::load, times, times * time);
      const double ranks = run_.ranks;
      const double wait = job_.load->spread * (ranks - 1) / (ranks + 1);
      if (wait > 0) add_idle(JobPhase::negotiation, times, times * wait * time);
    }
    if (job_.broadcast) add_idle(JobPhase::broadcast, 1, broadcast_time(resolved_));
  }

  void add_training() {
    const double samples = target_ ? whole_.steps * samples_per_update(run_) : samples_;
    add_work(JobPhase::training, whole_.steps, Seconds{samples / run_.pace.throughput});
  }

  void add_callbacks() {
    const double times = ended(*whole_.epochs);
    add_idle(JobPhase::callbacks, times, times * static_cast<double>(job_.metrics) * metric_time(resolved_));
  }

  /// Intervals that end within the job, its own end included.
  [[nodiscard]] double times_of(const std::string& every) const {
    const JobInterval interval = interval_in(every).value();
    return ended((interval.is_in_epochs ? *whole_.epochs : whole_.steps) / interval.number);
  }

  void add_evaluation(const Evaluation& evaluation, double times) {
    const double copies_of_data = copies(resolved_, evaluation.data.value_or(job_.data));
    const double samples_of_rank = evaluation.samples * copies_of_data / replicas(resolved_);
    const int stated = evaluation.batch_per_gpu.value_or(resolved_.settings.batch_per_gpu);
    // A trace fixes the batch.
    const int batch =
        resolved_.model ? static_cast<int>(std::min<double>(stated, std::ceil(samples_of_rank))) : stated;
    const double passes = started(samples_of_rank / batch);
    const ForwardPass pass = forward_pass(resolved_, batch);
    const Seconds time = times * passes * pass.time;
    if (!run_.energy) {
      add(JobPhase::evaluation, times, time, unknown(run_.energy.error()), {});
      return;
    }
    // where samples are waited for, the memory's part is slightly smaller
    const Watts memory = static_cast<double>(run_.ranks) * memory_powers(resolved_.gpu).matrix;
    const JobPower power{.processors = pass.energy / pass.time - memory - nodes_alone(),
                         .memory = memory,
                         .rest = nodes_alone()};
    add(JobPhase::evaluation, times, time, times * passes * pass.energy, power);
  }

  void add_checkpoints() {
    const double times = times_of(job_.checkpoint->every);
    add_idle(JobPhase::checkpoint, times,
             times * (checkpoint_size(resolved_) / checkpoint_bandwidth(resolved_)));
  }

  void add_faults() {
    const FaultReport& faults = *run_.faults;
    Seconds work;
    for (const JobPart& part : whole_.parts) work += part.time;
    const double scale = work / faults.work;
    add_idle(JobPhase::checkpoint, scale * faults.checkpoints, scale * faults.writing);
    add_work(JobPhase::lost_work, scale * faults.restarts, scale * faults.lost);
    if (faults.slowed > Seconds{})
      add_work(JobPhase::missing_ranks, scale * faults.faults, scale * faults.slowed);
    add_idle(JobPhase::restart, scale * faults.restarts, scale * (faults.restarting + faults.waiting));
  }

  void total() {
    whole_.energy = Joules{};
    whole_.rent = Dollars{};
    for (const JobPart& part : whole_.parts) {
      whole_.time += part.time;
      add_known(part.energy, whole_.energy);
      add_known(part.rent, whole_.rent);
    }
  }

  template <class Q>
  static void add_known(const Known<Q>& part, Known<Q>& sum) {
    if (!sum) return;
    if (part)
      *sum += *part;
    else
      sum = unknown(part.error());
  }

  const Run& run_;
  const ResolvedExperiment& resolved_;
  const JobSettings& job_;
  std::optional<JobTarget> target_;
  double samples_ = 0;
  WholeJob whole_;
};

/// Whether a rate of storage is that of all nodes together.
bool is_of_all_nodes(const Platform& platform, Bandwidth rate) {
  return platform.shared_storage && platform.shared_storage->value == rate;
}

std::string load_note(const Platform& platform) {
  std::vector<std::string> rates;
  const auto add = [&](const std::optional<Sourced<Bandwidth>>& rate, std::string_view readers) {
    if (!rate) return;
    const bool is_assumed = rate->is_assumed();
    rates.push_back(fmt::format("{} {}{}", human(rate->value), readers, is_assumed ? " (assumed)" : ""));
  };
  add(platform.storage, "per node");
  add(platform.shared_storage, "for all nodes together");
  return fmt::format("load: at the rate of the storage, {}", fmt::join(rates, " and at most "));
}

/// "1,632".
std::string whole(double number) { return grouped(std::llround(number)); }

/// "47,300,000": three significant digits.
std::string three_digits(double number) {
  const double place = std::pow(10, std::floor(std::log10(number)) - 2);
  return whole(number < 1000 ? number : place * std::round(number / place));
}

/// Where the number of samples comes from, and how the job differs from the published runs.
std::vector<std::string> target_notes(const ResolvedExperiment& resolved) {
  const JobTarget target = job_target(resolved);
  const Convergence& curve = target.curve;
  std::vector<std::string> notes;
  notes.push_back(fmt::format(
      "target: samples to {} measured with {} at {} batches of {} to {} ({}); 80 % of single runs between "
      "{} and {} samples",
      curve.target, curve.optimizer, curve.points.size(), whole(curve.points.front().batch),
      whole(curve.points.back().batch), curve.recipe.empty() ? curve.source : curve.recipe,
      three_digits(target.expected.low), three_digits(target.expected.high)));
  const std::string_view optimizer = config::name_of(resolved.settings.optimizer);
  if (optimizer != curve.optimizer)
    notes.push_back(fmt::format("target: needs the recipe of {}; the steps here have the time of {}",
                                curve.optimizer, optimizer));
  if (target.expected.range == BatchRange::below)
    notes.push_back(
        fmt::format("target: a batch of {} is below the published ones: it is assumed to need as many "
                    "samples as {}",
                    whole(target.batch), whole(curve.points.front().batch)));
  if (target.expected.range == BatchRange::beyond) {
    const std::optional<double> critical = law_of(curve.points).critical;
    const std::string law =
        critical ? fmt::format("samples grow as the law of McCandlish et al. 2018 (S0 (1 + B/{}))",
                               whole(*critical))
                 : std::string("samples do not depend on the batch in these");
    notes.push_back(
        fmt::format("target: a batch of {} is beyond the published ones: {}", whole(target.batch), law));
  }
  if (!target.between)
    notes.emplace_back(curve.evaluate
                           ? "target: evaluations are not simulated for this kind of run and not in its time"
                           : "target: training ends as soon as the target is reached: evaluations "
                             "are not stated and not in its time");
  return notes;
}

std::string accuracy_note(const JobAccuracy& accuracy) {
  const FixedEpochs& table = accuracy.table;
  std::string text = fmt::format("accuracy: measured after {} epochs with {} at {} batches of {} to {} ({})",
                                 shortest(table.epochs), table.optimizer, table.points.size(),
                                 whole(table.points.front().batch), whole(table.points.back().batch),
                                 table.recipe.empty() ? table.source : table.recipe);
  if (accuracy.expected.range == BatchRange::below)
    text += fmt::format("; a batch of {} is below them: assumed to reach as much as {}",
                        whole(accuracy.batch), whole(table.points.front().batch));
  if (accuracy.expected.range == BatchRange::beyond)
    text += fmt::format("; a batch of {} is beyond them: extrapolated, and rather too high",
                        whole(accuracy.batch));
  return text;
}

}  // namespace

WholeJob whole_job(const Run& run) { return JobSum(run).sum(); }

std::vector<std::string> job_notes(const Run& run) {
  const ResolvedExperiment& resolved = run.experiment;
  const JobSettings& job = *resolved.settings.job;
  std::vector<std::string> notes;
  if (job.target) notes = target_notes(resolved);
  if (run.job && run.job->accuracy) notes.push_back(accuracy_note(*run.job->accuracy));
  if (job.evaluation) {
    notes.emplace_back(
        "evaluation: the forward kernels of training, in whole batches; host time of a step is not included");
    const int batch = resolved.settings.batch_per_gpu;
    if (job.evaluation->batch_per_gpu.value_or(batch) > batch)
      notes.emplace_back("evaluation: memory is not checked for its larger batch");
  }
  if (job.load && !job.load->rate) notes.push_back(load_note(resolved.platform));
  if (job.load && job.load->spread > 0 && run.ranks > 1)
    notes.push_back(
        fmt::format("negotiation: reading times lie evenly within {:.3g} % of their mean (job.load.spread); "
                    "the mean rank waits for the slowest of {}",
                    100 * job.load->spread, run.ranks));
  if (job.broadcast)
    notes.emplace_back("broadcast: one collective with all parameters, alone on the network");
  if (job.checkpoint && !job.checkpoint->size) notes.push_back(training_state_note(resolved));
  if (job.checkpoint && !job.checkpoint->bandwidth) {
    notes.push_back(fmt::format("checkpoints: the whole job writes at {}, the rate {} (assumed for writing)",
                                human(checkpoint_bandwidth(resolved)),
                                is_of_all_nodes(resolved.platform, checkpoint_bandwidth(resolved))
                                    ? "at which all nodes together read from shared storage"
                                    : "at which a node reads from its storage"));
  }
  if (run.faults) {
    notes.push_back(fmt::format("job: faults cost the same share of its work as of the {} of 'faults.work'",
                                human(run.faults->work)));
  }
  return notes;
}

Seconds time_of_epochs(const WholeJob& job) {
  Seconds time;
  for (const JobPart& part : job.parts) {
    if (part.phase == JobPhase::training || part.phase == JobPhase::evaluation) time += part.time;
  }
  return time;
}

Seconds time_of_fit(const WholeJob& job) {
  Seconds time = time_of_epochs(job);
  for (const JobPart& part : job.parts) {
    if (part.phase == JobPhase::negotiation || part.phase == JobPhase::broadcast ||
        part.phase == JobPhase::callbacks)
      time += part.time;
  }
  return time;
}

namespace {

template <class Q>
Known<Q> sum_of_epochs(const WholeJob& job, Known<Q> JobPart::*need) {
  Q sum;
  for (const JobPart& part : job.parts) {
    if (part.phase != JobPhase::training && part.phase != JobPhase::evaluation) continue;
    if (!(part.*need)) return part.*need;
    sum += *(part.*need);
  }
  return sum;
}

}  // namespace

Known<Joules> energy_of_epochs(const WholeJob& job) { return sum_of_epochs(job, &JobPart::energy); }

Known<Dollars> rent_of_epochs(const WholeJob& job) { return sum_of_epochs(job, &JobPart::rent); }

Known<double> samples_of_epoch(const Run& run) {
  if (!run.experiment.samples_per_epoch)
    return unknown("the model or trace does not state the samples of an epoch");
  const std::optional<JobSettings>& job = run.experiment.settings.job;
  const double copies_of_data = job ? copies(run.experiment, job->data) : 1;
  return copies_of_data * *run.experiment.samples_per_epoch;
}

}  // namespace trainyard
