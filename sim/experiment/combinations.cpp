#include "experiment/combinations.hpp"

#include "config/refusal.hpp"
#include "experiment/sync_keys.hpp"

#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace trainyard {

namespace {

using E = const Experiment&;
using Rows = config::Refusal<Experiment>;

bool waits_for_ranks(E e) { return !has_servers(e.sync); }
bool is_on_gpu0(E e) { return e.sync.kind == SyncKind::dataparallel_gpu0; }
bool compresses(E e) { return e.sync.compression.value_or(Compression::none) != Compression::none; }
bool sends_largest(E e) { return e.sync.compression == Compression::top_k; }
bool chooses_algorithm(E e) { return e.sync.algorithm != Algorithm::automatic; }
bool averages(E e) { return traits(e.sync.update).averages; }
bool delays_in_background(E e) {
  return e.random.communication.has_value() && traits(e.sync.update).in_background;
}
bool evaluates(E e) { return e.job && e.job->evaluation; }
bool broadcasts(E e) { return e.job && e.job->broadcast; }
bool learns_with_faults(E e) { return e.learn && e.faults; }
bool goes_on_without_ranks(E e) { return has_servers(e.sync) || !traits(e.sync.update).waits_for_all(); }
bool has_planned_stops(E e) {
  const auto is_planned = [](const auto& one) { return one.planned; };
  return std::ranges::any_of(e.faults->rates, is_planned) || std::ranges::any_of(e.faults->dates, is_planned);
}
bool keeps_copies_in_memory(E e) {
  return e.faults && e.faults->checkpoint && e.faults->checkpoint->in_memory;
}
bool shares_model(E e) { return e.traces || (e.parallelism && !changes_nothing(*e.parallelism)); }

constexpr auto sources_and_updates = std::to_array<Rows>({
    {"trace_times", [](E e) { return e.model && e.trace_times != TraceTimes::recorded; },
     "'trace_times' applies only to replayed traces", "leave out 'trace_times', or name a trace"},
    {"trace", [](E e) { return e.model && e.trace; }, "'model' and 'trace' cannot be combined",
     "a trace is a model's step: keep one of them"},
    {"traces", [](E e) { return e.traces && (e.model || e.trace); },
     "'{source}' and 'traces' cannot be combined", "keep one of them"},
    {"traces", [](E e) { return e.traces && e.traces->empty(); }, "the list of traces is empty",
     "traces: [{{trace: my_trace.csv}}]"},
    {"model", [](E e) { return !e.model && !e.trace && !e.traces; }, "'model' or 'trace' is missing",
     "add 'model: resnet50' or 'trace: my_trace.csv'"},
    {"sync.algorithm", [](E e) { return has_servers(e.sync) && chooses_algorithm(e); },
     "'algorithm' is for collectives; parameter servers use none", "kind: all_reduce"},
    {"sync.update", [](E e) { return waits_for_ranks(e) && !traits(e.sync.update).waits_for_all(); },
     "'{update}' needs parameter servers; {kind} waits for every rank", "kind: parameter_server"},
    {"sync.backups",
     [](E e) {
       return waits_for_ranks(e) && traits(e.sync.update).is_one_batch() && e.sync.backups.value_or(0) > 0;
     },
     "'backups' needs parameter servers; {kind} waits for every rank", "kind: parameter_server"},
    {"sync.shards", [](E e) { return waits_for_ranks(e) && e.sync.shards; },
     "'shards' needs parameter servers; {kind} has none", "kind: parameter_server"},
    {"sync.placement", [](E e) { return waits_for_ranks(e) && e.sync.placement; },
     "'placement' needs parameter servers; {kind} has none", "kind: parameter_server"},
    {"sync.update", [](E e) { return is_on_gpu0(e) && averages(e); },
     "{update} averages the parameters of all ranks; with dataparallel_gpu0 only GPU 0 has parameters",
     "update: sync"},
    {"sync.algorithm", [](E e) { return is_on_gpu0(e) && chooses_algorithm(e); },
     "'algorithm' does not apply to dataparallel_gpu0; NCCL chooses for its broadcasts and reductions",
     "leave out 'algorithm'"},
    {"sync.grid", [](E e) { return e.sync.grid && e.sync.algorithm != Algorithm::torus2d; },
     "'grid' applies only to algorithm: torus2d; sync.algorithm is '{algorithm}'",
     "algorithm: torus2d, or leave out 'grid'"},
    {"sync.compression", [](E e) { return e.sync.compression && e.sync.kind != SyncKind::peer_to_peer; },
     "'compression' applies only to peer_to_peer; sync.kind is '{sync_kind}'",
     "kind: peer_to_peer; for collectives set gradient_dtype of the stack"},
    {"sync.keep", [](E e) { return e.sync.keep && !sends_largest(e); },
     "'keep' applies only to compression: top_k", "compression: top_k"},
    {"sync.compression", [](E e) { return !e.sync.keep && sends_largest(e); }, "'top_k' needs 'keep'",
     "add 'keep: 0.01' to 'sync'"},
    {"sync.compression", [](E e) { return averages(e) && compresses(e); },
     "'compression' does not apply to {update}, which sends whole parameters",
     "update: sync, or leave out 'compression'"},
    {"accumulation", [](E e) { return is_on_gpu0(e) && e.accumulation > 1; },
     "nn.DataParallel broadcasts and reduces for every micro-batch, which is not simulated",
     "accumulation: 1, or kind: all_reduce"},
    {"random.gpus",
     [](E e) { return e.random.gpus == GpuSpread::profile && (e.random.gpu || e.random.step); },
     "'gpus: profile' replaces 'gpu' and 'step'", "leave out 'gpus', or both 'gpu' and 'step'"},
    {"random.gpus", [](E e) { return e.random.gpus == GpuSpread::slowest && e.random.gpu; },
     "'gpu' draws the GPUs' factors, so that their slowest is not the mean one", "leave out 'gpus' or 'gpu'"},
    // a worker goes on while its push is delayed, which only the engine with a network knows
    {"random.communication",
     [](E e) { return delays_in_background(e) && placement_of(e.sync) == ServerPlacement::free; },
     "{update} hides a delay if sending takes no time (placement: free)",
     "another placement, or leave out 'communication'"},
    {"random.communication", [](E e) { return delays_in_background(e) && e.faults; },
     "faults with {update} cannot be combined with random delays", "leave out 'communication' or 'faults'"},
});

/// A trace has the ops of a rank that holds its share already: only the groups of ranks are left to say.
/// With a trace for each class of ranks these may be stages.
struct KeyOfModel {
  std::string_view key;
  bool (*is_given)(const Parallelism& parallelism);
};

constexpr auto keys_of_model = std::to_array<KeyOfModel>({
    {"pipeline", [](const auto& p) { return p.pipeline > 1; }},
    {"virtual_stages", [](const auto& p) { return p.virtual_stages > 1; }},
    {"sequence", [](const auto& p) { return p.sequence; }},
    {"context_exchange", config::has<&Parallelism::context_exchange>},
    {"schedule", config::has<&Parallelism::schedule>},
    {"stages", [](const auto& p) { return !p.stages.empty(); }},
    {"unequal_stages", [](const auto& p) { return p.unequal_stages; }},
    {"first_layers", [](const auto& p) { return !p.first_layers.empty(); }},
    {"recompute", [](const auto& p) { return p.recompute != Recompute::none; }},
    {"recompute_layers", config::has<&Parallelism::recompute_layers>},
    {"recompute_every", config::has<&Parallelism::recompute_every>},
    {"shard", [](const auto& p) { return p.shard != Sharded::none; }},
    {"shard_over", [](const auto& p) { return p.shard_over != ShardOver::data; }},
    {"layers", [](const auto& p) { return !p.layers.empty(); }},
    {"expert_tensor", config::has<&Parallelism::expert_tensor>},
    {"dispatcher", config::has<&Parallelism::dispatcher>},
    {"expert_overlap", [](const auto& p) { return p.expert_overlap != ExpertOverlap::none; }},
    {"routing", [](const auto& p) { return p.routing != Routing{}; }},
});

void check_trace_groups(E experiment, config::Problems& problems) {
  for (const auto& [key, is_given] : keys_of_model) {
    if (!is_given(*experiment.parallelism) || (key == "pipeline" && experiment.traces)) continue;
    problems.error(fmt::format("parallelism.{}", key),
                   fmt::format("'{}' divides a model, but the trace has the ops of a rank already", key),
                   fmt::format("leave out '{}'; name the collectives of groups in the trace", key));
  }
}

/// Whether parameter servers update replicas that share a model.
bool has_replicas_on_servers(E e) { return has_servers(e.sync) && e.parallelism && !is_replay(e); }

/// Settings without a simulation for these, which unlike other jobs have update rules and random times of
/// whole steps.
std::vector<UnsharedSetting> not_with_replicas_on_servers(E e) {
  std::vector<UnsharedSetting> found = not_with_shared_model(e);
  std::erase_if(found, [](const UnsharedSetting& setting) {
    const std::string_view key = setting.key;
    return key == "sync.kind" || key == "sync.update" || key == "random";
  });
  if (averages(e)) found.push_back({"sync.update", "this update rule"});
  if (e.random.op) found.push_back({"random.op", "random times of ops"});
  if (e.learn) found.push_back({"learn", "learning on servers"});
  if (e.faults) found.push_back({"faults", "faults"});
  return found;
}

/// Settings that a job whose ranks share a model cannot be combined with yet.
void check_shared_model(E experiment, config::Problems& problems) {
  const bool is_on_servers = has_replicas_on_servers(experiment);
  for (const UnsharedSetting& setting :
       is_on_servers ? not_with_replicas_on_servers(experiment) : not_with_shared_model(experiment))
    problems.error(setting.key,
                   fmt::format("ranks that share a model are not simulated with {}", setting.what),
                   fmt::format("leave out '{}', or '{}'", setting.key,
                               experiment.parallelism ? "parallelism" : "traces"));
  if (experiment.parallelism && is_replay(experiment)) check_trace_groups(experiment, problems);
}

/// Whether ranks of a replica would not follow each other.
bool has_inner_data_axis(E e) {
  const Parallelism& p = *e.parallelism;
  bool is_behind = false;
  for (const Axis axis : p.order) {
    const bool is_divided = (axis == Axis::tensor && p.tensor > 1) ||
                            (axis == Axis::context && p.context > 1) ||
                            (axis == Axis::pipeline && p.pipeline > 1);
    if (is_behind && is_divided) return true;
    is_behind = is_behind || axis == Axis::data;
  }
  return false;
}

/// Replicas that parameter servers update.
constexpr auto replicas_of_servers = std::to_array<Rows>({
    {"parallelism.order", has_inner_data_axis,
     "ranks of a replica that servers update must follow each other, so that its axes come before 'data'",
     "order: [tensor, context, pipeline, data]"},
    {"parallelism.sequence", [](E e) { return e.parallelism->sequence; },
     "tensor ranks that share tokens sum gradients before they are pushed, which is not simulated with "
     "servers",
     "sequence: false, or kind: all_reduce"},
    {"parallelism.context", [](E e) { return e.parallelism->context > 1; },
     "ranks that share the tokens of a sample are not simulated with servers",
     "context: 1, or kind: all_reduce"},
    {"parallelism.expert", [](E e) { return e.parallelism->expert > 1; },
     "ranks that share experts are not simulated with servers", "expert: 1, or kind: all_reduce"},
    {"parallelism.shard", [](E e) { return e.parallelism->shard != Sharded::none; },
     "servers hold the state of the parameters: replicas have none to divide",
     "shard: none, or kind: all_reduce"},
});

constexpr auto jobs_and_learning = std::to_array<Rows>({
    {"sync.algorithm",
     [](E e) {
       return shares_model(e) && e.parallelism && chooses_algorithm(e) && !has_all_reduces(*e.parallelism);
     },
     "'{algorithm}' is an algorithm of all-reduces, but replicas that divide their state reduce-scatter "
     "gradients",
     "algorithm: auto, or shard: none"},
    {"one_gpu_scale", [](E e) { return e.one_gpu_scale && !e.one_gpu; }, "'one_gpu_scale' needs 'one_gpu'",
     "add 'one_gpu: 803 samples/s', or set compute_scale of the stack"},
    {"faults", [](E e) { return e.faults && e.faults->rates.empty() && e.faults->dates.empty(); },
     "'faults' needs 'rates' or 'dates'", "add 'rates' or 'dates', or leave out 'faults'"},
    {"faults.spares", [](E e) { return e.faults && e.faults->spares > 0 && !e.faults->repair; },
     "'spares' needs 'repair'", "add 'repair: 1 d', the time after which a node is back"},
    {"faults.elastic", [](E e) { return e.faults && e.faults->elastic && !e.faults->repair; },
     "'elastic' needs 'repair'", "add 'repair: 1 d', the time after which a node is back"},
    {"faults.repair", [](E e) { return e.faults && e.faults->repair && goes_on_without_ranks(e); },
     "jobs on servers go on without a rank, which is back after 'restart'", "leave out 'repair'"},
    {"faults.elastic",
     [](E e) {
       return e.faults && e.faults->elastic && e.parallelism &&
              (e.parallelism->expert > 1 || !e.parallelism->layers.empty());
     },
     "replicas that share experts or layers cannot do without each other", "elastic: false"},
    {"faults.elastic", [](E e) { return e.faults && e.faults->elastic && e.traces.has_value(); },
     "the ranks of 'traces' form no replicas", "elastic: false"},
    {"faults.rates", [](E e) { return e.faults && has_planned_stops(e) && !e.faults->checkpoint; },
     "planned stops write a checkpoint first", "add 'checkpoint: {{bandwidth: 1 GB/s}}' to 'faults'"},
    {"faults.checkpoint.in_memory", [](E e) { return keeps_copies_in_memory(e) && has_servers(e.sync); },
     "parameters are on servers, whose copies in memory are not simulated", "leave out 'in_memory'"},
    {"job.steps", [](E e) { return e.job && e.job->epochs && e.job->steps; },
     "'epochs' and 'steps' are both the length of the job", "keep one of them"},
    {"job.tokens", [](E e) { return e.job && e.job->tokens && (e.job->epochs || e.job->steps); },
     "'tokens' and 'epochs' or 'steps' are both the length of the job", "keep one of them"},
    {"job.target", [](E e) { return e.job && e.job->target && has_length(*e.job); },
     "'target' and 'epochs', 'steps' or 'tokens' are both the length of the job", "keep one of them"},
    {"job", [](E e) { return e.job && !has_length(*e.job) && !e.job->target; },
     "'job' needs 'epochs', 'steps', 'tokens' or 'target'",
     "add 'epochs: 90' or 'steps: 100000', or --epochs 90"},
    // evaluation is simulated where each rank runs the whole forward pass
    {"job.evaluation", [](E e) { return evaluates(e) && e.parallelism; },
     "evaluation is not simulated with 'parallelism': ranks share a model",
     "leave out 'evaluation', or that key"},
    {"job.evaluation", [](E e) { return evaluates(e) && e.traces; },
     "evaluation is not simulated with 'traces': ranks do different work",
     "leave out 'evaluation', or that key"},
    {"job.evaluation", [](E e) { return evaluates(e) && is_on_gpu0(e); },
     "evaluation is not simulated with 'sync.kind: dataparallel_gpu0': it broadcasts the parameters before "
     "each forward pass",
     "kind: all_reduce"},
    {"job.evaluation", [](E e) { return evaluates(e) && is_multi_update(e); },
     "evaluation is not simulated with 'random, servers or update rules': steps differ",
     "leave out 'evaluation', or simulate a steady step"},
    {"job.metrics", [](E e) { return e.job && e.job->metrics > 0 && !e.job->epochs; },
     "metrics are averaged after each epoch, and the job has no number of epochs",
     "epochs: 1, or metrics: 0"},
    {"job.metrics",
     [](E e) { return e.job && e.job->metrics > 0 && (e.parallelism || e.traces || has_servers(e.sync)); },
     "callbacks average over ranks that all hold the model", "metrics: 0"},
    {"job.load.spread",
     [](E e) { return e.job && e.job->load && e.job->load->spread > 0 && has_servers(e.sync); },
     "ranks wait for the slowest reader in their first collective; parameter servers use none",
     "leave out 'spread', or kind: all_reduce"},
    {"job.checkpoint", [](E e) { return e.job && e.job->checkpoint && e.faults; },
     "the checkpoints of a job with faults are those of 'faults.checkpoint'",
     "leave out 'job.checkpoint', or 'faults'"},
    {"job.broadcast", [](E e) { return broadcasts(e) && has_servers(e.sync); },
     "parameters come from servers: no rank broadcasts them", "broadcast: false"},
    {"job.broadcast", [](E e) { return broadcasts(e) && is_on_gpu0(e); },
     "dataparallel_gpu0 broadcasts the parameters in every step", "broadcast: false"},
    {"job.broadcast", [](E e) { return broadcasts(e) && (e.parallelism || e.traces); },
     "the broadcast is not simulated for ranks that share a model or replay traces of their own",
     "broadcast: false"},
    // only where nobody waits for the others is the order of updates without a worker known
    {"faults", [](E e) { return learns_with_faults(e) && !traits(e.sync.update).never_waits(); },
     "learning with faults is known for {never_waiting}, where nobody waits for a dead worker; sync.update "
     "is '{update}'",
     "leave out 'faults' or 'learn'"},
    {"faults.rates", [](E e) { return learns_with_faults(e) && !e.faults->rates.empty(); },
     "learning knows faults at fixed dates only", "'dates' in place of 'rates', or leave out 'learn'"},
    {"learn.until.updates", [](E e) { return learns_with_faults(e) && e.learn->until.updates; },
     "a job with faults makes fewer updates in the time that they take", "until: {{time: ...}}"},
    {"learn.until.job", [](E e) { return e.learn && e.learn->until.job && !(e.job && has_length(*e.job)); },
     "the updates of a job follow from its length", "add 'job: {{epochs: 1}}', or until: {{updates: 100}}"},
    {"learn.until.job", [](E e) { return e.learn && e.learn->until.job && is_multi_update(e); },
     "the updates of a job are known where all its steps are alike", "until: {{updates: 100}}"},
    {"sync.adaptive_k", [](E e) { return e.sync.adaptive_k && !e.learn; },
     "k can only follow a loss if something learns", "add 'learn', or leave out 'adaptive_k'"},
    {"sync.adaptive_k", [](E e) { return e.sync.adaptive_k && e.faults; },
     "the pace of a job with faults is known for a fixed k only", "leave out 'adaptive_k', or 'faults'"},
});

std::string in_words(std::string_view text, E e) {
  using config::name_of;
  const bool is_all_reduce = e.sync.kind == SyncKind::all_reduce;
  return fmt::format(
      fmt::runtime(text), fmt::arg("update", name_of(e.sync.update)),
      fmt::arg("kind", is_all_reduce ? "an all-reduce" : name_of(e.sync.kind)),
      fmt::arg("sync_kind", name_of(e.sync.kind)), fmt::arg("algorithm", name_of(e.sync.algorithm)),
      fmt::arg("source", e.model ? "model" : "trace"),
      fmt::arg("never_waiting",
               config::names_with<update_rules>([](const auto& rule) { return rule.never_waits(); })));
}

}  // namespace

void check_combinations(const Experiment& experiment, config::Problems& problems) {
  const auto report = [&](std::string_view key, std::string message, std::string hint) {
    problems.error(key, std::move(message), std::move(hint));
  };
  if (problems.readable("sync.update")) check_rule_keys(experiment.sync, problems);
  config::refuse(sources_and_updates, experiment, in_words, report);
  if (shares_model(experiment)) check_shared_model(experiment, problems);
  if (has_replicas_on_servers(experiment)) config::refuse(replicas_of_servers, experiment, in_words, report);
  config::refuse(jobs_and_learning, experiment, in_words, report);
}

}  // namespace trainyard
