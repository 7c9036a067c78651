#include "run/memory_verdict.hpp"

#include "collectives/nccl_buffers.hpp"
#include "collectives/nccl_tuning.hpp"
#include "experiment/collective_software.hpp"
#include "experiment/model_trace.hpp"
#include "experiment/workers.hpp"
#include "lowering/lowered_memory.hpp"
#include "platform/channels.hpp"
#include "strategy/buckets.hpp"
#include "strategy/compression.hpp"
#include "strategy/layer_turns.hpp"
#include "strategy/recompute.hpp"
#include "strategy/shard_units.hpp"
#include "units/text.hpp"
#include "workload/eight_bits.hpp"
#include "workload/make_trace.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <iterator>
#include <map>

namespace trainyard {

namespace {

constexpr Bytes assumed_context{400e6};   // as measured on V100: 0.3-0.4 GB
constexpr int most_samples = 10'000'000;  // largest value of batch_per_gpu

/// Buffers for receiving the updates of all ranks, one bucket at a time, and for the values that top_k has
/// not sent yet.
Bytes peer_buffers(const ResolvedExperiment& resolved, const Trace& trace, int ranks, Bytes value,
                   Bytes fused, Bytes all) {
  const Sync& sync = resolved.settings.sync;
  Bytes largest = fused;
  if (!resolved.stack.fusion) {
    const std::vector<Bucket> buckets = ddp_buckets(ready_gradients(trace), resolved.stack, value);
    largest = {};
    for (const Bucket& bucket : buckets) largest = std::max(largest, bucket.bytes);
  }
  const Compression compression = sync.compression.value_or(Compression::none);
  const PeerUpdate update =
      peer_update(std::floor(largest / value), value, ranks, compression, sync.keep.value_or(1));
  return static_cast<double>(ranks) * update.bytes + (compression == Compression::top_k ? all : Bytes());
}

/// The number of parameters whose gradients ranks sum.
double reduced_parameters(const std::vector<Layer>& layers) {
  double sum = 0;
  for (const auto& [axis, elements] : parameters_by_axis(layers)) sum += axis ? elements : 0;
  return sum;
}

Bytes bucket_copies(const ResolvedExperiment& resolved, const RankClass& one, int ranks) {
  if (ranks == 1 || has_servers(resolved.settings.sync)) return {};
  const Bytes value = size_of(resolved.stack.gradient_dtype, resolved.settings.precision);
  const std::vector<Layer>& layers = resolved.layout ? one.layers : resolved.model->layers;
  const Bytes all = reduced_parameters(layers) * value;
  const Bytes own = resolved.stack.fusion ? std::min(all, resolved.stack.fusion->threshold.value) : all;
  if (resolved.settings.sync.kind != SyncKind::peer_to_peer) return own;
  return own + peer_buffers(resolved, one.trace, ranks, value, own, all);
}

/// The block that keeps most for backward; the last one among equal ones.
std::optional<int> fullest_block(const std::vector<Layer>& layers, Precision precision) {
  std::map<int, Bytes> kept;
  for (const Layer& layer : layers) {
    if (layer.block) kept[*layer.block] += saved_values(layer, precision) + layer.saved_fixed;
  }
  std::optional<int> fullest;
  for (const auto& [block, bytes] : kept) {
    if (!fullest || bytes >= kept[*fullest]) fullest = block;
  }
  return fullest;
}

/// The layers that a rank holds, as the backward pass finds them and as earlier micro-batches keep them.
/// Backward recomputes one block at a time. Refers to the layers of the experiment.
class HeldLayers {
public:
  HeldLayers(const ResolvedExperiment& resolved, const RankClass& one, const MemorySetting& setting)
      : resolved_(resolved), all_(resolved.layout ? one.layers : resolved.model->layers) {
    const Recompute recomputed = resolved.layout ? resolved.layout->parallelism.recompute : Recompute::none;
    if (recomputed == Recompute::none || resolved.lowering) return;  // the walk computes blocks again
    const Parallelism& parallelism = resolved.layout->parallelism;
    const RecomputedBlocks blocks{.first = parallelism.recompute_layers,
                                  .every = parallelism.recompute_every,
                                  .modules = recomputed_modules(parallelism)};
    now_ = kept_layers(all_, recomputed, fullest_block(all_, resolved.settings.precision), blocks);
    if (setting.earlier_micro_batches > 0) earlier_ = kept_layers(all_, recomputed, {}, blocks);
  }

  [[nodiscard]] MemoryTerms terms(MemorySetting setting) const {
    const std::vector<Layer>& now = now_ ? *now_ : all_;
    if (resolved_.lowering) {
      LoweredStep step = lowered_step(resolved_, static_cast<int>(setting.batch));
      if (resolved_.layout) {
        step.part.emplace(PartOfModel{.traits = traits_of(resolved_.model->layers)});
        const Parallelism& parallelism = resolved_.layout->parallelism;
        if (parallelism.recompute == Recompute::selective)
          setting.not_kept = not_kept(now, recomputed_modules(parallelism));
      }
      setting.fullest = fullest_moment(now, *resolved_.lowering, step, setting);
    }
    return memory_per_rank(now, setting, earlier_ ? *earlier_ : all_);
  }

private:
  const ResolvedExperiment& resolved_;
  const std::vector<Layer>& all_;
  std::optional<std::vector<Layer>> now_, earlier_;  ///< empty: all layers as they are
};

/// The parameters of a unit that replicas divide.
double divided_parameters(const ShardUnit& unit, const RankLayout& layout) {
  double sum = 0;
  for (const auto& [axis, elements] : unit.parameters) {
    if (layout.state_shards.at(axis) > 1) sum += elements;
  }
  return sum;
}

/// Sharded parameters that a rank holds besides its shard.
double gathered_parameters(const ResolvedExperiment& resolved, const RankClass& one) {
  const RankLayout& layout = *resolved.layout;
  const UnitRules rules = unit_rules(resolved.stack, layout.parallelism.shard);
  const std::vector<ShardUnit> units = shard_units(one, rules);
  double live = live_parameters(units, rules, layout.state_shards);
  if (rules.reshard_after_forward != ReshardAfterForward::node) return live;
  for (const ShardUnit& unit : units) {  // parts that the GPUs of a node keep from forward to backward
    if (!unit.is_kept)
      live += gathered_parameters(unit, layout.state_shards) / resolved.cluster->gpus_on_node.front();
  }
  return live;
}

/// Gradients of a rank that are not reduced yet, if replicas divide the reduced ones: two buckets, or a unit.
Bytes unreduced_gradients(const ResolvedExperiment& resolved, const RankClass& one) {
  const Bytes value = size_of(resolved.stack.gradient_dtype, resolved.settings.precision);
  const Bytes all = reduced_parameters(one.layers) * value;
  const Sharded shard = resolved.layout->parallelism.shard;
  if (!has_units(resolved.stack, shard)) return std::min(all, 2 * largest_bucket(resolved.stack));
  const UnitRules rules = unit_rules(resolved.stack, shard);
  double largest = rules.reduced_parameters.value_or(0);
  for (const ShardUnit& unit : shard_units(one, rules))
    largest = std::max(largest, divided_parameters(unit, *resolved.layout));
  return std::min(all, largest * value);
}

/// How a layout changes the setting: state that replicas share, micro-batches under way.
void set_layout(const ResolvedExperiment& resolved, const RankClass& one, MemorySetting& setting) {
  const RankLayout& layout = *resolved.layout;
  const Parallelism& parallelism = layout.parallelism;
  setting.shards = {.optimizer = parallelism.shard >= Sharded::optimizer,
                    .gradients = parallelism.shard >= Sharded::gradients,
                    .parameters = has_units(resolved.stack, parallelism.shard),
                    .ranks = layout.state_shards};
  if (setting.shards.gradients) setting.has_earlier_gradients = true;  // shards of the sums, in all passes
  if (setting.shards.parameters) setting.gathered_parameters = gathered_parameters(resolved, one);
  int chunks = 0;
  for (const int stage : stages_of(one)) {
    chunks =
        std::max(chunks, kept_micro_batches(layout.schedule, layout.grid.pipeline, parallelism.virtual_stages,
                                            layout.micro_batches, stage, passes_ahead(parallelism)));
  }
  setting.earlier_micro_batches = static_cast<double>(chunks) / parallelism.virtual_stages - 1;
}

/// The largest whole batch whose total fits into the memory. The total never falls with the batch, and it is
/// close to a straight line, on which guesses come nearer than halving does.
int largest_batch(const HeldLayers& held, const MemorySetting& setting, Bytes available) {
  MemorySetting other = setting;
  const auto total_of = [&](int batch) {
    other.batch = batch;
    return total(held.terms(other));
  };
  Bytes least = total_of(0);
  if (least > available) return 0;
  int fitting = 0;
  int above = most_samples + 1;
  Bytes most = total_of(above);
  if (most <= available) return most_samples;
  for (bool is_halved = false; above - fitting > 1; is_halved = !is_halved) {
    const double part = is_halved ? 0.5 : (available - least) / (most - least);
    const int guess =
        std::clamp(fitting + static_cast<int>((above - fitting) * part), fitting + 1, above - 1);
    const Bytes needed = total_of(guess);
    const bool fits = needed <= available;
    (fits ? fitting : above) = guess;
    (fits ? least : most) = needed;
  }
  return fitting;
}

/// Slices of layers that take turns are equal.
int least_batch(const ResolvedExperiment& resolved, const RankClass& one) {
  if (!resolved.layout) return 1;
  const auto section =
      turn_section(one.layers, resolved.layout->parallelism.layers, dividing_ranks(resolved.layout->grid));
  return section ? slice_multiple(*section, one.layers) : 1;
}

/// The memory for the context, NCCL's buffers, which lie outside the pool, and the allocator's pool.
Bytes available_memory(const GpuMemory& memory, const MemorySetting& setting) {
  const Bytes usable = memory.usable ? memory.usable->value : memory.capacity.value;
  const Bytes pool = (setting.rules ? setting.rules->pool.value : 1) * (usable - setting.context);
  return std::min(usable, setting.context + setting.communication_buffers + pool);
}

/// NCCL's buffers for collectives among all ranks.
Bytes buffers_of_nccl(const ResolvedExperiment& resolved) {
  if (is_of_hosts(resolved.library.library)) return {};
  const Cluster& cluster = *resolved.cluster;
  const std::vector<Channel> channels = sample_channels(cluster, all_ranks(cluster));
  const ChannelFacts facts = channel_facts(cluster, channels);
  const PathType inside = channels.front().is_chain ? PathType::pix : facts.inside.value_or(best_path);
  const NcclVersion version = resolved.stack.nccl;
  const NcclChannels of_nccl =
      nccl_channels(version, facts.channels, inside, nccl_capability(resolved.gpu), cluster.nodes);
  return nccl_buffers(version, of_nccl.count);
}

Bytes context_of(const ResolvedExperiment& resolved) {
  if (resolved.stack.memory && resolved.stack.memory->context) return resolved.stack.memory->context->value;
  return resolved.gpu.memory.context ? resolved.gpu.memory.context->value : assumed_context;
}

/// "activations, 16.9 GB".
std::string largest_of(const MemoryTerms& terms) {
  const MemoryTerm& term = largest_term(terms);
  return fmt::format("{}, {}", term.name, gpu_memory(terms.*term.bytes));
}

bool is_assumed(const std::optional<Sourced<Bytes>>& figure) { return !figure || figure->is_assumed(); }

/// Assumptions about the memory, and the basis of the activations.
std::vector<std::string> assumptions_of(const ResolvedExperiment& resolved, const MemoryTerms& terms) {
  const std::optional<MemoryRules>& rules = resolved.stack.memory;
  std::string assumed;
  if (!resolved.lowering && (!rules || is_assumed(rules->workspace)))
    assumed = fmt::format("{} of workspace", gpu_memory(terms.workspace));
  const bool has_context = terms.context > Bytes();
  if (has_context && is_assumed(rules && rules->context ? rules->context : resolved.gpu.memory.context)) {
    assumed += fmt::format("{}{} of CUDA context", assumed.empty() ? "" : " and ", gpu_memory(terms.context));
  }
  if (!assumed.empty()) assumed += " assumed; ";
  const std::string& keeper = resolved.lowering ? resolved.lowering->name : resolved.stack.name;
  return {"memory: " + assumed +
          (rules || resolved.lowering
               ? fmt::format("activations as {} keeps them", keeper)
               : std::string("the stack does not say what it keeps, so the least is counted; some "
                             "frameworks keep up to 2.3 times as much"))};
}

/// Where servers are, as far as the report does not show it, or why they are not counted.
std::vector<std::string> server_notes(const ResolvedExperiment& resolved,
                                      const std::optional<ServerMemory>& server) {
  if (!has_servers(resolved.settings.sync)) return {};
  if (!server) {
    return {std::string("memory of servers is not counted: ") +
            (resolved.model ? "placement 'free' has no host" : "a trace does not state the parameters")};
  }
  if (!server->is_on_gpu) return {"memory of hosts is unknown: servers are assumed to fit"};
  if (server->places == resolved.cluster->ranks()) return {};
  return {fmt::format("memory of {}; GPUs without a server need {} less", server->place,
                      gpu_memory(total(*server)))};
}

MemorySetting setting_of(const ResolvedExperiment& resolved, const RankClass& one,
                         const std::optional<ServerMemory>& server, Bytes nccl) {
  MemorySetting setting{.batch = static_cast<double>(resolved.settings.batch_per_gpu),
                        .precision = resolved.settings.precision,
                        .optimizer = resolved.settings.optimizer,
                        .context = context_of(resolved),
                        .gradient_buckets = bucket_copies(resolved, one, resolved.cluster->ranks()),
                        .communication_buffers = nccl,
                        .server = {},
                        .has_optimizer = !has_server_optimizer(resolved.settings.sync),
                        .rules = resolved.stack.memory,
                        .fused_elementwise = resolved.stack.fused_elementwise,
                        .has_earlier_gradients = resolved.settings.accumulation > 1};
  if (server && server->is_on_gpu) setting.server = total(*server);
  if (resolved.layout) set_layout(resolved, one, setting);
  if (resolved.stack.gradient_buffers) {
    setting.buffered_gradient = size_of(resolved.stack.gradient_dtype, resolved.settings.precision);
    setting.gradient_buckets = {};
  }
  if (resolved.layout && resolved.layout->parallelism.shard >= Sharded::gradients)
    setting.gradient_buckets = unreduced_gradients(resolved, one);
  return setting;
}

MemoryReport memory_of(const ResolvedExperiment& resolved, const RankClass& one, Bytes nccl) {
  const std::optional<ServerMemory> server = server_memory(resolved);
  MemorySetting setting = setting_of(resolved, one, server, nccl);
  const HeldLayers held(resolved, one, setting);
  MemoryReport report{.ranks = one.name,
                      .terms = held.terms(setting),
                      .of_least_batch = {},
                      .peak = {},
                      .capacity = resolved.gpu.memory.capacity.value,
                      .available = available_memory(resolved.gpu.memory, setting),
                      .batch_per_gpu = resolved.settings.batch_per_gpu,
                      .gpu = resolved.gpu.name,
                      .assumptions = {},
                      .server = server};
  report.peak = total(report.terms);
  report.utilization = report.peak / report.capacity;
  report.fits = report.peak <= report.available;
  report.least_batch = least_batch(resolved, one);
  report.largest_batch =
      largest_batch(held, setting, report.available) / report.least_batch * report.least_batch;
  report.assumptions = assumptions_of(resolved, report.terms);
  std::ranges::copy(server_notes(resolved, server), std::back_inserter(report.assumptions));
  setting.batch = report.least_batch;
  report.of_least_batch = held.terms(setting);
  return report;
}

/// Reports of traces, which state their memory as a whole and fix the batch.
std::vector<MemoryReport> stated_memory(const ResolvedExperiment& resolved) {
  const GpuMemory& memory = resolved.gpu.memory;
  const int batch = resolved.settings.batch_per_gpu;
  std::vector<MemoryReport> reports;
  for (const RankClass& one : resolved.classes) {
    MemoryTerms terms;
    terms.stated = *one.trace.memory;
    MemoryReport report{.ranks = one.name,
                        .terms = terms,
                        .of_least_batch = terms,
                        .peak = total(terms),
                        .capacity = memory.capacity.value,
                        .available = memory.usable ? memory.usable->value : memory.capacity.value,
                        .batch_per_gpu = batch,
                        .least_batch = batch,
                        .gpu = resolved.gpu.name,
                        .assumptions = {"memory: as the trace states, on any machine"}};
    report.utilization = report.peak / report.capacity;
    report.fits = report.peak <= report.available;
    report.largest_batch = report.fits ? batch : 0;
    std::ranges::copy(server_notes(resolved, std::nullopt), std::back_inserter(report.assumptions));
    reports.push_back(std::move(report));
  }
  return reports;
}

}  // namespace

bool has_memory(const ResolvedExperiment& resolved) {
  return resolved.model || std::ranges::all_of(resolved.classes, [](const RankClass& one) {
           return one.trace.memory.has_value();
         });
}

std::vector<MemoryReport> memory_reports(const ResolvedExperiment& resolved, bool has_collectives) {
  if (!has_memory(resolved)) {
    throw InputError("the trace does not state its memory",
                     "write '# memory_bytes: 12000000000' into it, or name a model instead");
  }
  if (!resolved.model) return stated_memory(resolved);
  const Bytes nccl = has_collectives ? communication_buffers(resolved) : Bytes();
  std::vector<MemoryReport> reports;
  for (const RankClass& one : resolved.classes) reports.push_back(memory_of(resolved, one, nccl));
  return reports;
}

Bytes communication_buffers(const ResolvedExperiment& resolved) {
  const bool has_collectives =
      !has_servers(resolved.settings.sync) || (resolved.layout && ranks_per_worker(resolved) > 1);
  const bool uses_nccl = resolved.cluster->ranks() > 1 && has_collectives;
  return uses_nccl ? buffers_of_nccl(resolved) : Bytes();
}

namespace {

/// The need of the fullest class, with or without the allocator's rounding.
MemoryPeak peak_of(const ResolvedExperiment& resolved, Bytes buffers, bool is_rounded) {
  constexpr Bytes no_rounding{1e-9};
  const std::optional<ServerMemory> server = server_memory(resolved);
  MemoryPeak peak;
  for (const RankClass& one : resolved.classes) {
    MemorySetting setting = setting_of(resolved, one, server, buffers);
    if (setting.rules && !is_rounded) {
      setting.rules->rounding.value = no_rounding;
      setting.rules->large_rounding.reset();
    }
    const HeldLayers held(resolved, one, setting);
    peak.needed = std::max(peak.needed, total(held.terms(setting)));
    peak.available = available_memory(resolved.gpu.memory, setting);
  }
  return peak;
}

}  // namespace

MemoryPeak memory_peak(const ResolvedExperiment& resolved, Bytes buffers) {
  return peak_of(resolved, buffers, true);
}

Bytes memory_of_values(const ResolvedExperiment& resolved, Bytes buffers) {
  return peak_of(resolved, buffers, false).needed;
}

const MemoryReport& fullest(const std::vector<MemoryReport>& reports) {
  return *std::ranges::max_element(reports, {}, &MemoryReport::utilization);
}

namespace {

/// Memory that is missing: in MB where GB of two decimals would show nothing.
std::string shortage(const MemoryReport& report) {
  constexpr Bytes least{0.01 * 1024 * 1024 * 1024};
  const Bytes missing = report.peak - report.available;
  return missing < least ? human(missing) : gpu_memory(missing);
}

}  // namespace

std::string verdict(const MemoryReport& report) {
  const bool is_stated = report.terms.stated > Bytes();
  if (report.fits && is_stated) return "fits";
  if (report.fits) {
    return fmt::format("fits; the largest batch_per_gpu that fits is {}", report.largest_batch);
  }
  const std::string most =
      fmt::format("does not fit into {}: {} needs {}, {} more than the {} available", report.gpu,
                  report.ranks.starts_with("stage") ? report.ranks : "a step", gpu_memory(report.peak),
                  shortage(report), gpu_memory(report.available));
  if (is_stated) return most + "; a trace fixes its batch";
  const std::string largest = most + "; the largest term is " + largest_of(report.terms);
  if (report.largest_batch > 0) {
    return largest + fmt::format("; the largest batch_per_gpu that fits is {}", report.largest_batch);
  }
  if (report.batch_per_gpu == report.least_batch) return largest + "; no smaller batch exists";
  return largest + fmt::format("; not even a batch_per_gpu of {} fits: it needs {}, most of it for {}",
                               report.least_batch, gpu_memory(total(report.of_least_batch)),
                               largest_of(report.of_least_batch));
}

void require_fit(const MemoryReport& report, std::string_view hint) {
  if (!report.fits)
    throw OutOfMemory(fmt::format("batch_per_gpu {} {}{}", report.batch_per_gpu, verdict(report), hint));
}

std::string ignored_verdict(const MemoryReport& report) {
  return fmt::format("memory: batch_per_gpu {} {}. The run goes on as if it did: memory is set to ignore",
                     report.batch_per_gpu, verdict(report));
}

}  // namespace trainyard
