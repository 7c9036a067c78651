#include "experiment/data_loading.hpp"

#include "experiment/decoding.hpp"
#include "experiment/node_host.hpp"
#include "platform/host_launch.hpp"
#include "units/plural.hpp"

#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <utility>
#include <vector>

namespace trainyard {

namespace {

const SampleInput& sample_of(const ResolvedExperiment& resolved) {
  if (!resolved.model) {
    throw InputError("a trace does not state the size of a sample on disk",
                     "data: synthetic, or a model instead of the trace");
  }
  if (!resolved.model->input) {
    throw InputError(
        fmt::format("{} does not state the size of a sample on disk (input)", resolved.model->name),
        "data: synthetic, or --set 'model.input={bytes: 110 KB, decode: 4 ms}'");
  }
  return *resolved.model->input;
}

Bytes stored_bytes(const ResolvedExperiment& resolved) {
  const SampleInput& sample = sample_of(resolved);
  if (sample.bytes) return sample.bytes->value;
  return static_cast<double>(*resolved.model->sequence_length) * sample.bytes_per_token->value;
}

void check_synthetic(const InputSettings& input) {
  const char* key = input.loader     ? "loader"
                    : input.decode   ? "decode"
                    : input.prefetch ? "prefetch"
                    : input.workers  ? "workers"
                                     : nullptr;
  if (key != nullptr) throw InputError(fmt::format("'{}' applies only to real data", key), "data: real");
}

/// Traffic of a sample in the memory of a host. Storage writes what is stored; a loader reads that and writes
/// the batch, from which the GPU copies. GPUs that decode copy stored bytes, or coefficients that cores made
/// of them; processors copy nothing.
Bytes memory_traffic(const ResolvedExperiment& resolved) {
  const SampleInput& sample = sample_of(resolved);
  const Bytes stored = stored_bytes(resolved);
  if (decodes_on_gpu(resolved.settings.input)) {
    const Sourced<Bytes>* const made = decoding_cost(resolved).coefficients;
    return 2.0 * (made != nullptr ? stored + made->value : stored);
  }
  const Bytes prepared = sample.memory ? sample.memory->value : 3.0 * stored;
  if (resolved.platform.ranks_on_processors) return prepared;
  return prepared + (sample.to_device ? sample.to_device->value : stored);
}

}  // namespace

std::string_view name_of(InputLimit limit) {
  static constexpr std::array<std::string_view, 5> names{"cores", "storage", "memory", "decoder", "kernels"};
  return names.at(static_cast<std::size_t>(limit));
}

bool is_assumed(const ResolvedExperiment& resolved, InputLimit limit) {
  const auto rests = [](const auto& figure) { return figure && figure->is_assumed(); };
  const DecodingCost cost = decoding_cost(resolved);
  const SampleInput& sample = sample_of(resolved);
  const Platform& platform = resolved.platform;
  switch (limit) {
    case InputLimit::cores: {
      const std::optional<HostReduction>& sums = resolved.stack.host_reduction;
      const bool has_sums = sums && resolved.cluster->nodes > 1;
      return rests(cost.core) || rests(platform.cores_per_cpu) ||
             (has_sums && sums->sum_per_core.is_assumed()) ||
             (resolved.lowering && host_launch(platform).is_assumed());
    }
    case InputLimit::storage:
      return rests(platform.storage) || rests(platform.shared_storage) || rests(sample.bytes) ||
             rests(sample.bytes_per_token);
    case InputLimit::memory: {
      const bool is_on_gpu = decodes_on_gpu(resolved.settings.input);
      const bool is_copied = !platform.ranks_on_processors;
      const bool counts_stored = is_on_gpu || !sample.memory || (is_copied && !sample.to_device);
      return rests(cost.coefficients) || rests(platform.host_memory_bandwidth) ||
             (counts_stored && (rests(sample.bytes) || rests(sample.bytes_per_token))) ||
             (!is_on_gpu && (rests(sample.memory) || (is_copied && rests(sample.to_device))));
    }
    case InputLimit::decoder:
      return rests(cost.decoder);
    case InputLimit::kernels:
      break;
  }
  return rests(cost.kernels);
}

void check_input(const ResolvedExperiment& resolved) {
  const InputSettings& input = resolved.settings.input;
  if (input.data == InputData::synthetic) {
    check_synthetic(input);
    return;
  }
  (void)sample_of(resolved);
  check_decoding(resolved);
  if (decoding_cost(resolved).core == nullptr) return;
  if (resolved.platform.ranks_on_processors && is_multi_update(resolved.settings)) {
    throw InputError("decoding on the cores of ranks is not simulated for runs of many updates",
                     "data: synthetic, or update: sync without servers and randomness");
  }
  const int cores = cores_of_node(resolved.platform);
  if (cores == 0) {
    throw InputError(
        fmt::format("{} does not state its number of cores (node.devices.cpu.cores)", resolved.platform.name),
        "--set platform.node.devices.cpu.cores=20, or data: synthetic");
  }
  if (!input.workers) return;
  const Cluster& cluster = *resolved.cluster;
  const int ranks = *std::ranges::max_element(cluster.gpus_on_node);
  if (*input.workers * ranks > cores) {
    throw InputError(
        fmt::format("{} for each of {} need more than the {} of a node", plural(*input.workers, "worker"),
                    plural(ranks, "rank"), plural(cores, "core")),
        fmt::format("workers: 1 to {}, or leave out 'workers' to use all cores", std::max(1, cores / ranks)));
  }
}

HostLoad load_of_sums(const Platform& platform, Seconds sums) {
  HostLoad load;
  if (platform.cores_per_cpu && !platform.cpus.empty())
    load.cores = sums / static_cast<double>(platform.cores_per_cpu->value * platform.cpus.size());
  return load;
}

std::optional<DataLoading> data_loading(const ResolvedExperiment& resolved, int ranks, int nodes,
                                        const HostLoad& load) {
  const Experiment& experiment = resolved.settings;
  if (experiment.input.data == InputData::synthetic) return std::nullopt;
  const Platform& platform = resolved.platform;
  const double samples_of_rank = static_cast<double>(experiment.batch_per_gpu) * experiment.accumulation;
  DataLoading input;
  input.samples = samples_of_rank * ranks;
  input.cores_of_node = cores_of_node(platform);
  // A loader without prefetching works while servers and launching threads are idle.
  HostLoad of_host = load;
  of_host.cores += launching_load(resolved, ranks);
  const HostLoad beside = is_prefetched(experiment.input) ? of_host : HostLoad{};
  input.busy = of_host.cores;
  const DecodingCost cost = decoding_cost(resolved);
  if (cost.decoder != nullptr) input.decoder = samples_of_rank * cost.decoder->value;
  input.kernels = decoding_kernels(resolved);
  input.taken = input.kernels;
  if (cost.core != nullptr) {
    const Seconds work = input.samples * cost.core->value;
    input.cores = experiment.input.workers ? *experiment.input.workers * ranks : input.cores_of_node;
    const Seconds all_cores = work / static_cast<double>(input.cores_of_node);
    input.busy += all_cores;
    if (platform.ranks_on_processors) input.taken = all_cores;
    input.decode = std::max(work / static_cast<double>(input.cores), beside.cores + all_cores);
  }
  const Bytes stored = input.samples * stored_bytes(resolved);
  if (platform.storage) input.storage = stored / platform.storage->value;
  if (platform.shared_storage)
    input.storage =
        std::max(input.storage, static_cast<double>(nodes) * stored / platform.shared_storage->value);
  if (platform.host_memory_bandwidth && !platform.cpus.empty()) {
    const auto cpus = static_cast<double>(platform.cpus.size());
    const Seconds traffic =
        input.samples * memory_traffic(resolved) / (cpus * platform.host_memory_bandwidth->value);
    input.memory = beside.memory + traffic;
    input.busy_memory = load.memory + traffic;
  }
  for (const auto& [time, limit] :
       {std::pair(input.decode, InputLimit::cores), std::pair(input.storage, InputLimit::storage),
        std::pair(input.memory, InputLimit::memory), std::pair(input.decoder, InputLimit::decoder),
        std::pair(input.kernels, InputLimit::kernels)}) {
    if (time <= input.time) continue;
    input.time = time;
    input.limit = limit;
  }
  input.is_assumed = is_assumed(resolved, input.limit);
  return input;
}

std::optional<DataLoading> data_loading(const ResolvedExperiment& resolved, const Cluster& cluster,
                                        const HostLoad& load) {
  return data_loading(resolved, *std::ranges::max_element(cluster.gpus_on_node), cluster.nodes, load);
}

Seconds with_input(Seconds step, const std::optional<DataLoading>& input, const InputSettings& settings) {
  if (!input) return step;
  return is_prefetched(settings) ? std::max(step + input->taken, input->time) : step + input->time;
}

}  // namespace trainyard
