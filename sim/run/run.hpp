#pragma once
// A simulated run as one value: the experiment and its result. Made by simulate(), const from then on;
// figures.hpp names its figures, report/ and html/ write it, explain/ says why it takes so long.

#include "experiment/prediction_error.hpp"
#include "experiment/resolve.hpp"
#include "run/fault_report.hpp"
#include "run/input_ranges.hpp"
#include "run/input_report.hpp"
#include "run/link_rows.hpp"
#include "run/memory_verdict.hpp"
#include "run/step.hpp"
#include "run/updates.hpp"
#include "run/verification.hpp"
#include "run/whole_job.hpp"
#include "units/known.hpp"
#include "units/quantity.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace trainyard {

struct Learning;  // learn/learn.hpp

/// Speed of one steady step, or of an update in a run of many.
struct Pace {
  Seconds time;                   ///< of a step; for runs of many updates the median time of an update
  Seconds one_rank;               ///< of the same step on one GPU, without communication
  std::int64_t global_batch = 0;  ///< samples per step or update
  double throughput = 0;          ///< samples per second
  double speedup = 0;             ///< throughput relative to one GPU
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

/// Shares of the compute time by source of the durations; they add up to 1.
struct ComputeSourceShares {
  double measured = 0, fitted = 0, roofline = 0;
};

/// Matrix products and convolutions of a rank's step, averaged over all ranks. Recomputation of activations
/// in backward is no work of the model and not counted.
struct MatrixWork {
  Flops flops;
  FlopRate rate;           ///< of a GPU, averaged over the whole step
  double utilization = 0;  ///< rate relative to the GPU's peak in this precision: MFU
};

/// `steps_per_second`: of each rank.
Known<MatrixWork> matrix_work(const ResolvedExperiment& resolved, double steps_per_second);

/// Energy of all GPUs with a rank and of their nodes.
struct EnergyUse {
  Joules per_step;  ///< or per update
  Watts average;
  Watts memory = {};  ///< of `average`: memory modules beside the processors that hold ranks, if stated
};

/// Rental cost of an epoch. A list price of hardware is not turned into a rate: that would need assumptions
/// about how long a machine is used and about its other costs.
struct EpochCost {
  Dollars per_epoch;
  Dollars per_node_hour;
  std::string date;         ///< date of the price
  bool is_assumed = false;  ///< the price is that of another machine
};

struct Run {
  ResolvedExperiment experiment;  ///< as simulated: `gpus` and `fidelity` of its settings are filled in
  int ranks = 0, nodes = 0;
  Pace pace;
  std::variant<Step, Updates> what;
  std::vector<RankRow> rank_rows;
  LinkTraffic links;
  double gpu_utilization = 0;
  ComputeSourceShares compute_sources;
  Known<MatrixWork> matrix = unknown({});
  Known<std::vector<MemoryReport>> memory = unknown({});  ///< of one rank of each class
  Known<ExpectedError> expected_error = unknown({});      ///< of the throughput
  Known<PredictedJob> predicted_job = unknown({});        ///< for comparisons with other jobs
  Known<EnergyUse> energy = unknown({});
  Known<EpochCost> cost = unknown({});
  std::optional<InputReport> input;   ///< for runs that read real data
  std::optional<InputRanges> ranges;  ///< of inputs given as ranges
  Known<Verification> verified = unknown("--verify was not given");
  std::optional<InputRanges> assumed;  ///< of assumed inputs, whose effect is part of the expected error
  std::optional<FaultReport> faults;   ///< for jobs with faults
  std::optional<WholeJob> job;         ///< for experiments with a `job`
  std::shared_ptr<const Learning> learning;  ///< for experiments with `learn`; null if it was not replayed
  std::vector<std::string> calibrated_on;    ///< end-to-end runs on which any parameter was fitted
  std::vector<std::string> notes;            ///< for the reader: warnings, assumptions
  std::uint64_t events = 0;                  ///< of the simulation
};

/// The model, or the name that the trace gives.
const std::string& model_name(const Run& run);

/// The updates of a run of many; null for one steady step.
const Updates* updates_of(const Run& run);

/// The steady step: the run itself, or the step that its many updates repeat.
const Step& step_of(const Run& run);

/// The source of the times on the network; empty if nothing was sent.
std::optional<NetworkEngine> network_engine(const Run& run);

/// Exposed time of a step for communication and the framework's work around it; in runs of many updates, the
/// time for which a rank communicates per update, the mean of all ranks.
Seconds exposed_communication(const Run& run);

/// Busy time of a rank's communication stream in one of its steps.
Seconds communication_time(const Run& run);

/// Time for which a rank's compute stream runs kernels in a step.
Seconds compute_time(const Run& run);

/// Time to process all samples of the data set once, or once by every replica if a job's data is replicated.
Known<Seconds> epoch_time(const Run& run);

/// Tokens per second, for models that read sequences.
Known<double> tokens_per_second(const Run& run);

/// The same of each GPU, and for each dollar of rent; the reason is empty if the model reads no sequences.
Known<double> tokens_per_second_and_gpu(const Run& run);
Known<double> tokens_per_dollar(const Run& run);

/// The matrix units' type for this precision on this GPU, such as "fp16".
std::string_view matrix_dtype_name(const Run& run);

/// Useful samples per second, after faults and checkpoints.
double goodput(const Run& run);

/// experiment.resolved.yaml: every key with its value, defaults filled in.
std::string resolved_text(const Run& run);

/// The keys of experiment.resolved.yaml by path, as text; overrides of other files come first, as on the
/// command line ("platform.fabric.nic").
std::vector<std::pair<std::string, std::string>> resolved_keys(const Experiment& settings);

/// The bars of trace.json: those of the steady step, or the first ranks' activities over many updates.
const std::vector<TimelineEvent>& timeline_of(const Run& run);

/// Rent of all nodes in USD per hour, or the reason why it is unknown.
Known<double> rent_per_hour(const Platform& platform, int nodes);

/// Whether that is the price of another machine.
bool is_rent_assumed(const Platform& platform);

/// nodes x hourly price x hours of an epoch, or the reason why it is unknown.
Known<EpochCost> epoch_cost(const Platform& platform, int nodes, const Known<Seconds>& epoch);

}  // namespace trainyard
