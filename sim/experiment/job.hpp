#pragma once
// The whole job around the steps: the `job` of an experiment. Each phase is declared here once; run/whole_job
// adds up its time, energy and rent.
//
//     job:
//       epochs: 90                                # or steps: 300000; `run --epochs N` sets it
//                                                 # or tokens: 15T; `run --tokens 15T` sets it
//                                                 # or target: 75.9 % top-1; `run --target T` sets it
//       data: sharded                             # or replicated: every replica passes over all samples
//       launch: 30 s
//       load: {when: once, bytes: 746 MB, rate: 1.01 MB/s}
//       broadcast: true
//       evaluation: {every: 1 epoch, samples: 50000, batch_per_gpu: 256}
//       checkpoint: {every: 5 epochs, size: 205 MB, bandwidth: 1 GB/s}

#include "config/document.hpp"
#include "config/keys.hpp"
#include "config/problems.hpp"
#include "units/quantity.hpp"

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace trainyard {

struct Experiment;

/// How often a phase comes back, read from "5 epochs" or "2000 steps".
struct JobInterval {
  static constexpr double least_epochs = 1e-3, least_steps = 1, most = 1e12;
  double number = 1;
  bool is_in_epochs = true;  ///< otherwise in steps
};

/// The interval that a text states; nothing if it is none within the limits.
std::optional<JobInterval> interval_in(std::string_view text);

/// Tokens on which a model trains, read from "15T", "300 B tokens" or "1.5e13" (K, M, B and T are powers of
/// 1,000, in any case); nothing for any other text, and outside 1 to 1e18.
std::optional<double> tokens_in(std::string_view text);

/// "15 T tokens".
std::string tokens_in_words(double tokens);

enum class DataDivision { sharded, replicated };
enum class LoadTime { once, per_epoch };

/// Reading data before training, which waits for it. Samples read during the steps are the `input`.
struct LoadPhase {
  LoadTime when = LoadTime::once;
  Bytes bytes;                         ///< that each rank reads
  std::optional<Bandwidth> rate = {};  ///< of a rank; default: the platform's storage, shared by its readers
  /// Half the width of the ranks' reading times, a part of their mean: all wait for the slowest in the first
  /// collective.
  double spread = 0;
};

/// Forward passes over other samples; training waits.
struct Evaluation {
  std::string every = "1 epoch";
  int samples = 0;
  std::optional<int> batch_per_gpu = {};  ///< default: the experiment's
  std::optional<DataDivision> data = {};  ///< default: the job's
};

/// Checkpoints of a job without faults (with faults they belong to `faults`). Training waits.
struct JobCheckpoint {
  std::string every = "1 epoch";
  std::optional<Bytes> size = {};           ///< default: the parameters and the optimizer's state in fp32
  std::optional<Bandwidth> bandwidth = {};  ///< of the whole job; default: the storage of one node
};

struct JobSettings {
  std::optional<double> epochs = {};  ///< either epochs, steps, tokens or target
  std::optional<double> steps = {};
  std::optional<std::string> tokens = {};
  std::optional<std::string> target = {};  ///< one of the model's `convergence`
  DataDivision data = DataDivision::sharded;
  std::optional<Seconds> launch = {};
  std::optional<LoadPhase> load = {};
  bool broadcast = false;
  int metrics = 0;  ///< that a callback averages over the ranks after each epoch
  std::optional<Evaluation> evaluation = {};
  std::optional<JobCheckpoint> checkpoint = {};
};

/// Whether evaluation is simulated: each rank runs the whole forward pass, in steps that are all alike.
bool simulates_evaluation(const Experiment& experiment);

/// Whether the job says how long it trains, other than by a target.
bool has_length(const JobSettings& job);

/// Reports intervals, and numbers of tokens, that are none.
void check_texts(const JobSettings& job, config::Problems& problems);

}  // namespace trainyard

namespace trainyard::config {

template <>
struct Names<DataDivision> {
  static constexpr std::string_view what = "division of the data";
  static constexpr std::array table{
      Name{"sharded", DataDivision::sharded,
           "an epoch is one pass over the samples by all replicas together"},
      Name{"replicated", DataDivision::replicated, "every replica passes over all samples in an epoch"}};
};

template <>
struct Names<LoadTime> {
  static constexpr std::string_view what = "time of loading";
  static constexpr std::array table{Name{"once", LoadTime::once, "before the first step"},
                                    Name{"per_epoch", LoadTime::per_epoch, "before every epoch"}};
};

namespace job_limits {

inline constexpr double most_epochs = 1e6, most_steps = 1e12, most_samples = 2e9;
inline constexpr double longest = 1e7;          // in s
inline constexpr double most_bytes = 1e18;      // in B
inline constexpr double most_bandwidth = 1e14;  // in B/s

}  // namespace job_limits

template <>
struct Keys<LoadPhase> {
  static auto table() {
    return keys(
        optional("when", &LoadPhase::when, "once or per_epoch"),
        required("bytes", &LoadPhase::bytes, "data that each rank reads").positive(job_limits::most_bytes),
        optional("rate", &LoadPhase::rate,
                 "rate at which each rank reads and parses it; default: the platform's storage, which the "
                 "ranks of a node share")
            .positive(job_limits::most_bandwidth),
        optional("spread", &LoadPhase::spread,
                 "the ranks' times lie evenly within this part of the mean on both sides; in the first "
                 "collective all wait for the slowest")
            .between(0, 1));
  }
};

template <>
struct Keys<Evaluation> {
  static auto table() {
    return keys(optional("every", &Evaluation::every,
                         "interval between evaluations: 1 epoch, 5 epochs, 2000 steps; one comes at the end "
                         "of each that ends within the job"),
                required("samples", &Evaluation::samples,
                         "samples of an evaluation; the last batch counts as a full one")
                    .between(1, job_limits::most_samples),
                optional("batch_per_gpu", &Evaluation::batch_per_gpu,
                         "samples per rank and forward pass; default: those of training")
                    .between(1, 1e7),
                optional("data", &Evaluation::data, "who evaluates which samples; default: the job's data"));
  }
};

template <>
struct Keys<JobCheckpoint> {
  static auto table() {
    return keys(
        optional("every", &JobCheckpoint::every,
                 "interval between checkpoints: 1 epoch, 5 epochs, 2000 steps"),
        optional("size", &JobCheckpoint::size,
                 "size of a checkpoint; default: parameters and optimizer state in 4 bytes per value")
            .positive(job_limits::most_bytes),
        optional("bandwidth", &JobCheckpoint::bandwidth,
                 "rate at which the whole job writes it, while training waits; default: the storage of one "
                 "node")
            .positive(job_limits::most_bandwidth));
  }
};

template <>
struct Keys<JobSettings> {
  static auto table() {
    return keys(
        optional("epochs", &JobSettings::epochs,
                 "length in passes over the data; --epochs sets it, in place of steps")
            .positive(job_limits::most_epochs),
        optional("steps", &JobSettings::steps, "length in steps, instead of epochs")
            .positive(job_limits::most_steps),
        optional(
            "tokens", &JobSettings::tokens,
            "length in tokens, instead of epochs, of a model that reads sequences: 15T, 300B (K, M, B, T) "
            "or a plain number; --tokens sets it"),
        optional("target", &JobSettings::target,
                 "instead of a length: train until this target of the model's convergence is "
                 "reached; --target sets it"),
        optional("data", &JobSettings::data, "samples of an epoch that each replica trains on"),
        optional("launch", &JobSettings::launch,
                 "time to start and end the job: processes, imports, the model")
            .between(0, job_limits::longest),
        optional("load", &JobSettings::load, "data that is read before the steps"),
        optional(
            "broadcast", &JobSettings::broadcast,
            "whether rank 0 first sends the parameters to all others: one collective, alone on the network"),
        optional(
            "metrics", &JobSettings::metrics,
            "values that a callback averages over the ranks after each epoch, in one small all-reduce each "
            "(Horovod's MetricAverageCallback)")
            .between(0, 1000),
        optional("evaluation", &JobSettings::evaluation,
                 "forward passes over other samples, from time to time"),
        optional("checkpoint", &JobSettings::checkpoint,
                 "checkpoints of a job without faults, from time to time"));
  }
};

}  // namespace trainyard::config
