#pragma once
// A simulated run as one value: the experiment, and what came of it. Made by simulate(), const from then on;
// figures.hpp names its figures, report/ and html/ write it, explain/ says why it takes so long.

#include "experiment/resolve.hpp"
#include "run/cost.hpp"
#include "run/input_report.hpp"
#include "run/job_report.hpp"
#include "run/link_rows.hpp"
#include "run/memory_verdict.hpp"
#include "run/step.hpp"
#include "run/updates.hpp"
#include "units/known.hpp"
#include "units/quantity.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace trainyard {

/// How fast: of one steady step, or of an update of many.
struct Pace {
  Seconds time;                   ///< of a step; for runs of many updates the median time of an update
  Seconds one_rank;               ///< of the same step on one GPU, without communication
  std::int64_t global_batch = 0;  ///< samples of a step or update
  double throughput = 0;          ///< samples per second
  double speedup = 0;             ///< over the throughput of one GPU
  double efficiency = 0;          ///< speedup / ranks
};

/// Busy time of a rank's streams.
struct RankRow {
  Rank rank{};
  NodeId node{};
  std::string gpu;
  Seconds compute;        ///< of the compute stream
  Seconds communication;  ///< of the communication stream
  Seconds end;
};

/// Shares of the compute time by what the durations rest on; they add up to 1.
struct ComputeSourceShares {
  double measured = 0, fitted = 0, roofline = 0;
};

/// Matrix products and convolutions of one rank's step.
struct MatrixWork {
  Flops flops;
  FlopRate rate;           ///< of a GPU, over the whole step
  double utilization = 0;  ///< rate over the GPU's peak in this precision: MFU
};

/// `steps_per_second`: of each rank.
Known<MatrixWork> matrix_work(const ResolvedExperiment& resolved, double steps_per_second);

/// Energy of all GPUs with a rank and of their boxes.
struct EnergyUse {
  Joules per_step;  ///< or per update
  Watts average;
};

struct Run {
  ResolvedExperiment experiment;  ///< as it ran: `gpus` and `fidelity` of its settings are filled in
  int ranks = 0, nodes = 0;
  Pace pace;
  std::variant<Step, Updates> what;
  std::vector<RankRow> rank_rows;
  LinkTraffic links;
  double gpu_utilization = 0;
  ComputeSourceShares compute_sources;
  Known<MatrixWork> matrix = unknown({});
  Known<MemoryReport> memory = unknown({});  ///< of one rank
  Known<EnergyUse> energy = unknown({});
  Known<EpochCost> cost = unknown({});
  std::optional<InputReport> input;        ///< of runs that read real data
  std::optional<JobReport> job;            ///< of jobs in which something fails
  std::vector<std::string> calibrated_on;  ///< end-to-end runs that anything was fitted on
  std::vector<std::string> notes;          ///< what a reader should know: warnings, assumptions
  std::uint64_t events = 0;                ///< of the simulation
};

/// The updates of a run of many; null for one steady step.
const Updates* updates_of(const Run& run);

/// The steady step: the run itself, or what each step of its many updates is made of.
const Step& step_of(const Run& run);

/// Exposed by compute, of a step: communication, and what the framework does around it.
Seconds exposed_communication(const Run& run);

/// Busy time of a rank's communication stream in a step.
Seconds communication_time(const Run& run);

/// Busy time of a rank's compute stream with kernels, in a step.
Seconds compute_time(const Run& run);

/// The time of all samples of the data set once.
Known<Seconds> epoch_time(const Run& run);

/// Tokens per second of models that read sequences.
Known<double> tokens_per_second(const Run& run);

/// The type of the matrix units that the precision means on this GPU: "fp16".
std::string_view matrix_dtype_name(const Run& run);

/// Samples per second that are of use, after faults and checkpoints.
double goodput(const Run& run);

/// experiment.resolved.yaml: every key with its value, defaults filled in.
std::string resolved_text(const Run& run);

/// The bars of trace.json: those of the steady step, or what the first ranks do over many updates.
const std::vector<TimelineEvent>& timeline_of(const Run& run);

}  // namespace trainyard
