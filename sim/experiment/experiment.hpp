#pragma once
// An experiment: which model (or trace) trains on which platform with which software, the number of ranks and
// the batch. It is the file that users write; missing keys get defaults, and the result contains all of them.

#include "collectives/algorithm.hpp"
#include "config/document.hpp"
#include "config/glossary.hpp"
#include "config/keys.hpp"
#include "experiment/faults.hpp"
#include "experiment/fidelity.hpp"
#include "experiment/input_settings.hpp"
#include "experiment/job.hpp"
#include "experiment/plan_settings.hpp"
#include "experiment/randomness.hpp"
#include "experiment/server_placement.hpp"
#include "learn/learn_settings.hpp"
#include "platform/plausible_limits.hpp"
#include "strategy/compression.hpp"
#include "strategy/parallelism.hpp"
#include "strategy/update_rule.hpp"
#include "workload/trace.hpp"

#include <array>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace trainyard {

enum class SyncKind { all_reduce, parameter_server, peer_to_peer, dataparallel_gpu0 };

/// k grows as the square root of the loss falls.
struct AdaptiveKSettings {
  int every = 50;                ///< updates between two looks at the loss
  std::optional<int> most = {};  ///< default: all workers
};

struct Sync {
  SyncKind kind = SyncKind::all_reduce;
  Algorithm algorithm = Algorithm::automatic;  ///< for all_reduce and peer_to_peer
  std::optional<TorusGrid> grid = {};          ///< for torus2d
  UpdateRule update = UpdateRule::sync;
  std::optional<int> k = {};  ///< for the k_ rules; with `adaptive_k` at the start
  std::optional<AdaptiveKSettings> adaptive_k = {};
  std::optional<int> bound = {};        ///< for ssp
  std::optional<int> push_every = {};   ///< for local_sgd and downpour
  std::optional<int> fetch_every = {};  ///< for downpour
  std::optional<int> backups = {};      ///< for sync: the gradients of this number of ranks come too late
  std::optional<int> shards = {};       ///< for parameter_server
  std::optional<ServerPlacement> placement = {};
  std::optional<Compression> compression = {};  ///< for peer_to_peer
  std::optional<double> keep = {};              ///< for top_k: the fraction of the values that is sent
};

bool has_servers(const Sync& sync);
/// Where the servers are, and how many; for parameter_server.
ServerPlacement placement_of(const Sync& sync);
int shards_of(const Sync& sync);

/// Length of the simulation of a run with random times.
struct StepCounts {
  int warmup = 20;     ///< steps before the measurement
  int measured = 100;  ///< measured steps
  int repeats = 5;     ///< runs with different random numbers; the median counts
};

/// Traffic of others that continues for the whole job.
struct BackgroundTraffic {
  std::string from;  ///< "node3", whose GPU 0 sends, or "node3.gpu2"
  std::string to;
  Bandwidth rate;  ///< offered rate; less arrives if links are shared
};

/// The bandwidth of a link from a date on.
struct LinkChange {
  Seconds at;
  std::string link;     ///< one direction, as links.csv names it
  Bandwidth bandwidth;  ///< 0: failed
};

/// Whether a step that does not fit into the memory of its GPUs is refused.
enum class MemoryCheck { check, ignore };

/// How long the kernels of a replayed trace take on another GPU than the recording one.
enum class TraceTimes { recorded, scaled };

/// A larger factor, or one below its inverse, says that the measurement is of something else.
inline constexpr double most_one_gpu_scale = 4;

/// A trace that some of the ranks replay, named by their numbers or by their places on the axes of
/// `parallelism`; without either all ranks.
struct ClassTrace {
  std::string trace;                 ///< path of a trace CSV, relative to the experiment's file
  std::optional<std::string> ranks;  ///< "0-3,8"
  std::optional<int> pipeline;       ///< the stage
  std::optional<int> tensor;
  std::optional<int> context;
  std::optional<int> data;
};

struct Experiment {
  std::string platform;  ///< name in platforms/ or path of a file
  int nodes = 1;
  std::optional<int> gpus;           ///< total ranks, assigned in node order; default: all that exist
  std::optional<int> gpus_per_node;  ///< if fewer than a node has
  std::optional<std::string> model;  ///< name in workloads/models or path; either this, trace or traces
  std::optional<std::string> trace;  ///< path of a trace CSV, relative to the experiment's file
  std::optional<std::vector<ClassTrace>> traces = {};  ///< of ranks that do different work
  TraceTimes trace_times = TraceTimes::recorded;
  std::string stack;
  std::string software = "published";  ///< name in workloads/software or path of a file
  Precision precision = Precision::fp32;
  // Totals, which keys_meant.hpp replaces by other keys before an experiment is resolved.
  std::optional<int> ranks = {}, data_parallel = {}, global_batch = {}, sequence_length = {};
  std::optional<std::string> attention = {};
  int batch_per_gpu = 0;
  int accumulation = 1;
  Optimizer optimizer = Optimizer::momentum;
  MemoryCheck memory = MemoryCheck::check;
  Sync sync;
  std::optional<Parallelism> parallelism;  ///< none: every rank holds the whole model
  InputSettings input;
  std::optional<std::string> one_gpu;   ///< measured throughput of one GPU: "803 samples/s"
  std::optional<double> one_gpu_scale;  ///< factor on kernel times that belongs to it; default: solved
  Fidelity fidelity = Fidelity::flow;
  Randomness random;
  StepCounts steps;
  std::optional<Faults> faults;
  std::optional<JobSettings> job = {};      ///< none: one step is all
  std::optional<LearnSettings> learn = {};  ///< none: no gradients are computed
  std::optional<PlanSettings> plan = {};    ///< of a search, for `trainyard plan` alone
  /// What its settings assume that were chosen with published runs in view; those count as fitted.
  std::optional<std::string> hypothesis = {};
  std::vector<std::string> neighbours;  ///< other jobs on further nodes of the same machine, each an
                                        ///< experiment
  std::vector<BackgroundTraffic> background;
  std::vector<LinkChange> events;
  std::map<std::string, std::string>
      set;  ///< overrides of the files named above: "platform.fabric.nic": 25 Gbps
};

/// A setting that jobs whose ranks share a model are not simulated with.
struct UnsharedSetting {
  const char* key = nullptr;   ///< "sync.kind"
  const char* what = nullptr;  ///< "this kind of synchronisation"
};

/// The unshared settings of the experiment, with or without a block `parallelism`.
std::vector<UnsharedSetting> not_with_shared_model(const Experiment& experiment);

/// Reads an experiment and makes all checks that do not need the files it names. Throws InputError.
Experiment load_experiment(const config::Document& document);

/// True if ops come from traces instead of a model.
bool is_replay(const Experiment& experiment);

/// True if steps differ from one another or ranks do not wait for all others: the run then consists of many
/// updates instead of one steady step.
bool is_multi_update(const Experiment& experiment);

/// The update rule for this number of ranks. Throws InputError if k, or the number of backups, does not fit.
UpdateSettings update_settings(const Sync& sync, int ranks);

}  // namespace trainyard

namespace trainyard::config {

template <>
struct Names<MemoryCheck> {
  static constexpr std::string_view what = "check of the memory";
  static constexpr std::array table{
      Name{"check", MemoryCheck::check, "a step that does not fit into the GPUs ends the run"},
      Name{"ignore", MemoryCheck::ignore, "the run goes on, with a warning"}};
};

template <>
struct Names<TraceTimes> {
  static constexpr std::string_view what = "source of a trace's times";
  static constexpr std::array table{
      Name{"recorded", TraceTimes::recorded, "durations as in the trace, whatever the machine's GPU"},
      Name{"scaled", TraceTimes::scaled,
           "each duration times the ratio of what the profiles of the machine's GPU and of the recording GPU "
           "('# gpu:') predict for the op"}};
};

template <>
struct Names<SyncKind> {
  static constexpr std::string_view what = "kind of synchronisation";
  static constexpr std::array table{
      Name{"all_reduce", SyncKind::all_reduce, "every rank averages its gradients with all others"},
      Name{"parameter_server", SyncKind::parameter_server,
           "ranks push gradients to servers and pull parameters from them"},
      Name{"peer_to_peer", SyncKind::peer_to_peer,
           "every rank sends its update to all other ranks and adds up what it receives"},
      Name{"dataparallel_gpu0", SyncKind::dataparallel_gpu0,
           "one node: GPU 0 broadcasts the parameters, sums all gradients and updates alone"}};
};

template <>
struct Keys<AdaptiveKSettings> {
  static constexpr std::array<std::string_view, 1> short_form{"every"};
  static auto table() {
    return keys(
        optional("every", &AdaptiveKSettings::every, "updates between two looks at the loss").between(1, 1e9),
        optional("most", &AdaptiveKSettings::most, "the largest k; default: the number of workers")
            .between(1, 1e7));
  }
};

template <>
struct Keys<Sync> {
  static auto table() {
    return keys(
        optional("kind", &Sync::kind, "how ranks exchange gradients"),
        optional("algorithm", &Sync::algorithm,
                 "algorithm of all-reduces, with peer_to_peer of all-gathers, where auto is direct"),
        optional("grid", &Sync::grid,
                 "for algorithm: torus2d: [columns, rows] of the ranks, at least 2 of each, whose product is "
                 "the number of ranks that sum gradients; rank 1 is next to rank 0 in the first row; "
                 "default: the fabric's grid, or the squarest"),
        optional("update", &Sync::update, "which gradients an update waits for"),
        optional("k", &Sync::k, "for the k_* update rules: gradients per update").between(1, 1e7),
        optional(
            "adaptive_k", &Sync::adaptive_k,
            "for the k_* update rules, with 'learn': k grows from 'k' with the square root of the start's "
            "loss over the loss (AdaSync)"),
        optional("bound", &Sync::bound, "for ssp: steps that a rank may be ahead of the slowest")
            .between(0, 1e7),
        optional("push_every", &Sync::push_every, "for local_sgd and downpour: steps between two pushes")
            .between(1, 1e6),
        optional("fetch_every", &Sync::fetch_every, "for downpour: steps between two fetches")
            .between(1, 1e6),
        optional("backups", &Sync::backups,
                 "for update: sync with servers: number of ranks whose gradients are dropped, not waited "
                 "for; the same as k_sync with the remaining number")
            .between(0, 1e7),
        optional(
            "shards", &Sync::shards,
            "for parameter_server: number of parts of the parameters, each with its own server; default: 1")
            .between(1, 1e5),
        optional("placement", &Sync::placement,
                 "for parameter_server: location of the shards; default: hosts"),
        optional("compression", &Sync::compression,
                 "for peer_to_peer: compression of gradients; default: none"),
        optional("keep", &Sync::keep, "for top_k: fraction of the values that is sent, 0.01 for 1 %")
            .positive(1));
  }
};

template <>
struct Keys<StepCounts> {
  static auto table() {
    return keys(
        optional("warmup", &StepCounts::warmup, "steps before the measurement").between(1, 1e6),
        optional("measured", &StepCounts::measured,
                 "measured steps; local_sgd and downpour multiply them by push_every")
            .between(1, 1e7),
        optional("repeats", &StepCounts::repeats, "runs with different random numbers; the median counts")
            .between(1, 1000));
  }
};

template <>
struct Keys<BackgroundTraffic> {
  static auto table() {
    return keys(required("from", &BackgroundTraffic::from,
                         "sender: node3 (its first GPU), or node3.gpu2; a node beyond the job's is added"),
                required("to", &BackgroundTraffic::to, "receiver, written in the same way"),
                required("rate", &BackgroundTraffic::rate,
                         "rate offered to the network; less arrives if links are shared")
                    .positive(100e12));
  }
};

template <>
struct Keys<LinkChange> {
  static auto table() {
    return keys(required("at", &LinkChange::at, "time since the beginning of the step").between(0, 1e6),
                required("link", &LinkChange::link, "one direction of a link, as links.csv names it"),
                required("bandwidth", &LinkChange::bandwidth,
                         "bandwidth from then on; 0 GB/s: the link has failed; if the step cannot end then, "
                         "the exit code is 4")
                    .between(0, 100e12));
  }
};

template <>
struct Keys<ClassTrace> {
  static auto table() {
    constexpr double most = 1e7;
    return keys(
        required("trace", &ClassTrace::trace, "path of a trace CSV"),
        optional("ranks", &ClassTrace::ranks, "numbers of the ranks that replay it: 0-3,8"),
        optional("pipeline", &ClassTrace::pipeline, "their stage of the pipeline, from 0").between(0, most),
        optional("tensor", &ClassTrace::tensor, "their place in their tensor group, from 0").between(0, most),
        optional("context", &ClassTrace::context, "their place in their context group, from 0")
            .between(0, most),
        optional("data", &ClassTrace::data, "the number of their replica, from 0").between(0, most));
  }
};

template <>
struct Keys<Experiment> {
  static constexpr const std::span<const OtherWord>& other_words = glossary;
  static auto table() {
    return keys(
        required("platform", &Experiment::platform,
                 "the machine: a name in platforms/ or the path of a file"),
        optional("nodes", &Experiment::nodes, "number of nodes").between(1, most_nodes),
        optional("gpus", &Experiment::gpus,
                 "total number of ranks, taken in node order; each node needs one; default: every GPU; where "
                 "only gpus is set on the command line, nodes are as many as these fill")
            .between(1, 1e7),
        optional("gpus_per_node", &Experiment::gpus_per_node, "ranks per node; default: every GPU")
            .between(1, 1e4),
        optional("model", &Experiment::model,
                 "model to train: a name in workloads/models or the path of a file"),
        optional("trace", &Experiment::trace,
                 "path of a trace CSV, relative to this file, instead of a model"),
        optional("traces", &Experiment::traces,
                 "trace CSVs of ranks that do different work or send each other messages"),
        required("stack", &Experiment::stack,
                 "the software: a name in workloads/stacks or the path of a file"),
        optional(
            "software", &Experiment::software,
            "factors on kernel times, in workloads/software or a path: published, as fast as in published "
            "runs on one GPU; ideal, kernels alone"),
        optional("precision", &Experiment::precision,
                 "number format of activations, weights and matrix units"),
        optional(
            "global_batch", &Experiment::global_batch,
            "samples of an update, of all replicas: instead of accumulation, or of batch_per_gpu where "
            "accumulation or neither is given (where ranks share a model, neither: 1 sample per micro-batch)")
            .at_least(1)
            .at_most(1e9),
        optional("ranks", &Experiment::ranks,
                 "number of GPUs, on as few nodes as possible; in place of nodes and gpus")
            .between(1, 1e7),
        optional(
            "data_parallel", &Experiment::data_parallel,
            "number of replicas: GPUs over tensor x pipeline x context of parallelism; in place of nodes "
            "and gpus")
            .between(1, 1e7),
        optional("sequence_length", &Experiment::sequence_length, "tokens per sample, of the model's family")
            .between(1, 1e9),
        optional("attention", &Experiment::attention,
                 "unfused or flash: kernels of the attention, of the model's family"),
        required("batch_per_gpu", &Experiment::batch_per_gpu,
                 "samples per rank and micro-batch; if ranks share a model, of a micro-batch of one replica")
            .between(1, 1e7),
        optional("accumulation", &Experiment::accumulation,
                 "micro-batches whose gradients are added up before they are reduced and applied")
            .between(1, 65536),
        optional("optimizer", &Experiment::optimizer,
                 "rule that turns gradients into an update; default: the model's own"),
        optional("trace_times", &Experiment::trace_times,
                 "for trace and traces: how long their kernels take on another GPU than the recording one"),
        optional("memory", &Experiment::memory,
                 "whether a step that does not fit into the memory of its GPUs ends the run"),
        optional("sync", &Experiment::sync, "synchronisation of the ranks"),
        optional("parallelism", &Experiment::parallelism,
                 "how ranks share the model; default: every rank holds all of it"),
        optional("input", &Experiment::input, "source of the samples"),
        optional(
            "one_gpu", &Experiment::one_gpu,
            "measured throughput of one GPU with this batch, such as 803 samples/s: all kernel times are "
            "scaled to it"),
        optional("one_gpu_scale", &Experiment::one_gpu_scale,
                 "with one_gpu: factor on all kernel times; default: the one that reproduces one_gpu")
            .between(1 / most_one_gpu_scale, most_one_gpu_scale),
        optional("fidelity", &Experiment::fidelity,
                 "how exactly collectives are simulated; --fidelity overrides it"),
        optional("random", &Experiment::random, "random variation of times"),
        optional("steps", &Experiment::steps, "length of the run, if steps differ"),
        optional("faults", &Experiment::faults, "faults of a long job, and its checkpoints"),
        optional("job", &Experiment::job, "the whole job: its length, start-up, evaluations and checkpoints"),
        optional("learn", &Experiment::learn,
                 "a small model that learns with real gradients in the order of the simulated job"),
        optional(
            "hypothesis", &Experiment::hypothesis,
            "what settings assume that were chosen with published runs in view. The errors of those runs, "
            "predicted without it, then count in both directions for the expected error"),
        optional("plan", &Experiment::plan,
                 "a search for the best way to train the model, which 'trainyard plan' makes"),
        optional(
            "neighbours", &Experiment::neighbours,
            "other experiments that repeat their step on further nodes of this machine during the whole job"),
        optional("background", &Experiment::background, "traffic of others during the whole job"),
        optional("events", &Experiment::events, "links that become slower, fail or come back"),
        optional("set", &Experiment::set,
                 "overrides of the files named above, as --set: \"platform.fabric.nic\": 25 Gbps"));
  }
};

}  // namespace trainyard::config
