#pragma once
// What a simulated step says: the values behind the summary, --json and the files of --out. One value, many
// writers (report/).

#include "engine/engine.hpp"
#include "engine/training.hpp"
#include "experiment/experiment.hpp"
#include "experiment/input_pipeline.hpp"
#include "run/cost.hpp"
#include "run/fault_report.hpp"
#include "run/link_rows.hpp"
#include "run/memory_verdict.hpp"
#include "schedule/step_plan.hpp"
#include "units/quantity.hpp"

#include <cstdint>
#include <initializer_list>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace trainyard {

/// Shares of the compute time by what the durations rest on; they add up to 1.
struct ComputeSourceShares {
  double measured = 0, fitted = 0, roofline = 0;
};

/// One op of the trace with its duration; a row of layers.csv.
struct LayerRow {
  Phase phase{};
  std::string layer;
  OpKind kind{};
  std::string shape;  ///< as in a trace
  Flops flops;
  Bytes bytes;
  Bytes parameter_bytes;
  Seconds duration;  ///< alone; what runs beside it may make start to end longer
  ComputeSource source{};
  Seconds start;  ///< on rank 0
  Seconds end;
};

/// One collective; a row of collectives.csv. Times are those of its first arriving and last leaving rank.
struct CollectiveRow {
  std::string name;  ///< "bucket 0", "parameters 0"
  Operation operation{};
  std::string algorithm;
  std::string protocol;
  int channels = 0;
  Bytes size;
  int tensors = 0;
  std::string ready_after;  ///< layer whose gradient completed the bucket; empty: the step's beginning
  Seconds ready;            ///< when the last rank's gradients were ready
  Seconds start;            ///< when the stream was free and it began
  Seconds end;
  Seconds bound;    ///< no algorithm on this network is faster
  Bandwidth algbw;  ///< size / duration
  Bandwidth busbw;
};

struct RankRow {
  Rank rank{};
  NodeId node{};
  std::string gpu;
  Seconds compute;        ///< busy time of the compute stream
  Seconds communication;  ///< busy time of the communication stream
  Seconds end;
};

/// One bar of the timeline in trace.json.
struct TimelineEvent {
  Rank rank{};
  Stream stream{};
  /// forward, backward, optimizer; communication; cycle, negotiation of the host; of kernels beside a
  /// collective what they are for; of runs of many updates what a rank does
  std::string category;
  Seconds start;
  Seconds end;
  int op = -1;          ///< index in layers, for compute
  int collective = -1;  ///< index in collectives, for what is or prepares one
};

/// A figure of several repeats.
struct Spread {
  double median = 0;
  double low = 0;  ///< of all repeats
  double high = 0;
};

/// Of one rank over the measured time; a row of workers.csv.
struct WorkerRow {
  Rank rank{};
  NodeId node{};
  Seconds computing, communicating, waiting, loading, wasted;  ///< wasted is a part of computing
  std::int64_t gradients = 0;
};

/// Times and gradients of all of them together.
WorkerRow sum_of(const std::vector<WorkerRow>& workers);

/// The use of what serves parameters.
struct ServerRow {
  std::string name;  ///< "memory of node0.cpu1", "cores of node0.cpu1"
  double utilization = 0;
};

/// What many updates say that one steady step does not. Times of workers and the staleness are those of the
/// repeat with the median time per update.
struct TrainingReport {
  UpdateSettings settings;
  int ranks_per_worker = 1;  ///< more than 1 where a stack adds up the gradients of a node
  StepCounts steps;
  std::int64_t updates = 0;  ///< measured, in each repeat
  Spread update_time;        ///< seconds
  double confidence = 0;     ///< that the median of all runs there could be lies between low and high
  Seconds measured;          ///< how long that took
  double gradients_per_update = 0;
  std::vector<std::int64_t> staleness;  ///< gradients by how many updates old they were; [1] were fresh
  double staleness_mean = 0;
  int staleness_max = 0;
  std::int64_t lead = 0;                ///< of ssp: steps that a rank was ahead of the slowest, at most
  Seconds wasted;                       ///< computing of all ranks that was cancelled, per update
  std::optional<Joules> wasted_energy;  ///< what their GPUs drew for it
  std::vector<WorkerRow> workers;
  std::vector<WorkerSpan> spans;  ///< from the beginning of the measurement, of the first ranks
  std::vector<ServerRow> servers;
};

/// Of runs that read real data.
struct InputReport {
  InputPipeline pipeline;  ///< of the nodes with the most ranks
  bool is_prefetched = true;
  Seconds exposed;                            ///< of a step, on average: GPUs wait for samples
  std::optional<double> cpu_utilization;      ///< of a node's cores, decoding and adding up
  std::optional<double> storage_utilization;  ///< of what it lets through
};

/// A steady step as it was planned and replayed, for those who ask why it took that long.
struct Replay {
  Cluster cluster;
  StepPlan plan;
  Timeline timeline;
  std::optional<InputPipeline> input;
};

struct Result {
  std::string experiment;  ///< its name: the file's stem
  std::string platform_title;
  std::string model;
  Experiment resolved;
  int ranks = 0, nodes = 0;
  std::string fidelity;
  std::int64_t global_batch = 0;

  Seconds step_time;
  Seconds one_rank_step_time;  ///< same per-GPU batch, no communication
  Seconds lower_bound;
  Seconds compute_time;           ///< busy time of rank 0's compute stream with kernels
  Seconds compute_slowdown;       ///< of that: what its kernels took longer beside communication
  Seconds communication_time;     ///< busy time of rank 0's communication stream
  Seconds exposed_communication;  ///< and of what the framework does around it
  Seconds network_gain;           ///< what the step would lose if collectives took no time
  double throughput = 0;          ///< samples per second
  double speedup = 0, scaling_efficiency = 0;
  Seconds communication_overhead;
  double gpu_utilization = 0, network_utilization = 0, link_utilization_max = 0;
  std::string busiest_link;  ///< empty when nothing was sent
  Flops model_flops;         ///< matrix FLOPs (GEMM, convolution) of one rank's step
  FlopRate achieved_flops_per_gpu;
  std::optional<double> model_flops_utilization;
  std::string matrix_dtype;  ///< of the matrix units that the precision means on this GPU
  std::optional<Seconds> epoch_time;
  std::optional<double> tokens_per_second;  ///< of models that read sequences
  std::optional<MemoryReport> memory;       ///< of one rank
  std::optional<Joules> energy_per_step;    ///< of all ranks and boxes
  std::optional<Watts> average_power;       ///< the same per second
  std::optional<Cost> cost;
  std::optional<TrainingReport> training;  ///< of runs that are many updates long
  std::optional<FaultReport> faults;       ///< of jobs in which something fails
  std::optional<InputReport> input;        ///< of runs that read real data
  ComputeSourceShares compute_source_shares;
  std::vector<std::string> calibrated_on;
  std::map<std::string, std::string> unmodelled;  ///< field of the summary -> why it is null

  std::vector<LayerRow> layers;
  std::vector<CollectiveRow> collectives;
  std::vector<RankRow> rank_rows;
  std::vector<LinkRow> links;
  std::vector<TimelineEvent> timeline;  ///< of the ranks recorded
  std::vector<std::string> notes;       ///< what a reader should know: warnings, assumptions
  std::string resolved_experiment;      ///< YAML text

  std::optional<Replay> replay;  ///< of a steady step, where it was asked for

  std::uint64_t events = 0;  ///< of the simulation
};

/// Says why fields of the summary are null.
void leave_out(Result& result, std::initializer_list<const char*> fields, const std::string& reason);

/// What the links carried, and what the summary says of it.
void set_links(Result& result, std::vector<LinkRow> rows);

/// The same bytes in so many times the time.
void stretch_links(Result& result, double slower);

}  // namespace trainyard
