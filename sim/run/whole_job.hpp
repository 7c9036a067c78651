#pragma once
// The whole job around a simulated step: how long it takes, and its energy and rent, phase by phase. The
// parts add up to the total.

#include "config/keys.hpp"
#include "experiment/job_accuracy.hpp"
#include "units/known.hpp"
#include "units/quantity.hpp"

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace trainyard {

struct Run;

enum class JobPhase {
  launch,
  load,
  negotiation,
  broadcast,
  training,
  callbacks,
  evaluation,
  checkpoint,
  lost_work,
  missing_ranks,
  restart
};

/// Mean power over a phase, of all ranks and nodes.
struct JobPower {
  Watts processors;  ///< GPUs, or the processors that hold the ranks
  Watts memory;      ///< modules beside them, where a profile states them; otherwise part of `rest`
  Watts rest;        ///< of the nodes

  [[nodiscard]] Watts all() const { return processors + memory + rest; }
};

struct JobPart {
  JobPhase phase{};
  double times = 1;  ///< how often it comes: number of steps, of evaluations; mean number of faults
  Seconds time;      ///< of all of them
  Known<Joules> energy = unknown({});
  Known<Dollars> rent = unknown({});
  std::optional<JobPower> power = {};  ///< nothing if the energy is unknown
};

/// The target at which the training of a job ends.
struct ReachedTarget {
  std::string target;
  double samples = 0;                        ///< at which training ends
  double samples_low = 0, samples_high = 0;  ///< 80 % of single runs are expected between these
  BatchRange range = BatchRange::measured;   ///< of the batch, among the published ones
  std::optional<double> epochs;              ///< nothing if the samples of an epoch are not known
};

struct WholeJob {
  std::optional<double> epochs;  ///< nothing if the samples of an epoch are not known
  double steps = 0;              ///< of training; for runs of many updates, updates
  std::optional<double> tokens;  ///< of training, of models that read sequences
  std::vector<JobPart> parts;    ///< those that the job has, in the order of JobPhase
  Seconds time;                  ///< the sum of the parts
  Known<Joules> energy = unknown({});
  Known<Dollars> rent = unknown({});
  std::optional<ReachedTarget> target = {};  ///< with `job.target`
  /// Accuracy at the end, with `job.epochs`; the reason is empty if the model has no published accuracies.
  Known<JobAccuracy> accuracy = unknown({});
};

/// The whole job of a run whose experiment has `job`. Training takes the time of its samples at the run's
/// throughput, at its average power, to a target in whole updates; an evaluation is made of whole batches; a
/// processor draws its `reading` power while it reads; in all other phases the GPUs wait, at their idle
/// power. Of N ranks whose reading times lie evenly within a(1 -+ spread), the mean one waits a spread
/// (N-1)/(N+1) for the slowest. Rent is paid for all nodes and the whole time. With `faults`, faults add the
/// same share to this job's training, start and evaluations as to the work that they are declared for
/// (`faults.work`). Throws InputError or Unreachable.
WholeJob whole_job(const Run& run);

/// The time of the job's steps and evaluations.
Seconds time_of_epochs(const WholeJob& job);

/// What a call of fit() takes: from the wait for the slowest reader to the last evaluation.
Seconds time_of_fit(const WholeJob& job);

/// The energy and rent of its steps and evaluations.
Known<Joules> energy_of_epochs(const WholeJob& job);
Known<Dollars> rent_of_epochs(const WholeJob& job);

/// The assumptions of the job's phases, for the reader. Requires a run with `job`.
std::vector<std::string> job_notes(const Run& run);

/// Samples on which all replicas together train in an epoch; the reason if it is unknown.
Known<double> samples_of_epoch(const Run& run);

}  // namespace trainyard

namespace trainyard::config {

template <>
struct Names<JobPhase> {
  static constexpr std::string_view what = "phase of a job";
  static constexpr std::array table{
      Name{"launch", JobPhase::launch, "start and end of the job: processes, imports, the model"},
      Name{"load", JobPhase::load, "data is read before the steps"},
      Name{"negotiation", JobPhase::negotiation,
           "the first collective waits for the rank that reads longest"},
      Name{"broadcast", JobPhase::broadcast, "rank 0 sends the parameters to all others"},
      Name{"training", JobPhase::training, "steps"},
      Name{"callbacks", JobPhase::callbacks, "metrics are averaged over the ranks after each epoch"},
      Name{"evaluation", JobPhase::evaluation, "forward passes over other samples"},
      Name{"checkpoint", JobPhase::checkpoint, "checkpoints are written while training waits"},
      Name{"lost_work", JobPhase::lost_work, "work repeated after faults"},
      Name{"missing_ranks", JobPhase::missing_ranks, "work that ranks missing after faults would have done"},
      Name{"restart", JobPhase::restart, "failed parts are replaced, checkpoints read"}};
};

}  // namespace trainyard::config
