// Other software and settings, for what_would_help.hpp.

#include "collectives/requirements.hpp"
#include "explain/changes.hpp"
#include "run/memory_verdict.hpp"

#include <fmt/format.h>

namespace trainyard {

namespace {

/// "12.5 MiB" rather than "12800 KiB".
std::string as_size(Bytes size) {
  const std::string in_mib = shortest(size.si() / (1 << 20)) + " MiB";
  const std::string usual = exact(size);
  return in_mib.size() < usual.size() ? in_mib : usual;
}

constexpr std::string_view first_key = "stack.bucket_first";

class JobChanges : Changes {
public:
  explicit JobChanges(const ResolvedExperiment& resolved) : Changes(resolved) {}

  std::vector<WhatIf> all() {
    if (resolved_.layout) return all_of_layout();
    add_batch();
    add_precision();
    add_gradients();
    add_buckets();
    add_overlap();
    add_algorithms();
    add_servers();
    add_slow();
    add_pairs();
    return std::move(all_);
  }

private:
  /// Changes of the layout, and of the exchange of gradients among the replicas.
  std::vector<WhatIf> all_of_layout() {
    all_ = layout_changes(resolved_);
    add_precision();
    if (resolved_.layout->grid.data > 1) {
      add_gradients();
      if (resolved_.stack.overlap) add_buckets();
      add_overlap();
      add_algorithms();
      add_servers();
    }
    add_slow();
    add_pairs();
    return std::move(all_);
  }

  void add_batch() {
    const int batch = experiment_.batch_per_gpu;
    const std::string larger = fmt::format("batch of {} per GPU", 2 * batch);
    if (!resolved_.model) {
      refuse(larger, "a trace fixes the batch size: record one with that batch");
      return;
    }
    ResolvedExperiment doubled = resolved_;
    doubled.settings.batch_per_gpu = 2 * batch;
    const MemoryReport memory = fullest(memory_reports(doubled));
    if (memory.fits) {
      add(larger, {{"batch_per_gpu", std::to_string(2 * batch)}}, "may change convergence");
      return;
    }
    refuse(larger, fmt::format("it needs {} of memory, the GPU has {}; the largest batch that fits is {}",
                               gpu_memory(memory.peak), gpu_memory(memory.available), memory.largest_batch));
    if (memory.largest_batch <= batch) return;
    add(fmt::format("batch of {} per GPU", memory.largest_batch),
        {{"batch_per_gpu", std::to_string(memory.largest_batch)}},
        "the largest that fits; may change convergence");
  }

  void add_precision() {
    const Precision precision = experiment_.precision;
    if (precision != Precision::fp32 && precision != Precision::tf32) return;
    if (!resolved_.model) {
      refuse("precision amp", "a trace fixes the precision");
      return;
    }
    if (resolved_.gpu.matrix.fp16)
      add("precision amp", {{"precision", "amp"}}, "may change convergence");
    else
      refuse("precision amp", resolved_.gpu.name + " has no fp16 matrix units");
    if (precision == Precision::fp32 && resolved_.gpu.matrix.tf32)
      add("precision tf32", {{"precision", "tf32"}}, "may change convergence");
  }

  void add_gradients() {
    const std::string change = "fp16 gradients";
    if (is_alone()) return refuse(change, "a single GPU sends no gradients");
    if (sends_itself()) return refuse(change, "a trace fixes its collectives");
    if (size_of(resolved_.stack.gradient_dtype, experiment_.precision) <= Bytes{2})
      return refuse(change, "gradients already have 2 bytes per value");
    add(change, {{"stack.gradient_dtype", "fp16"}},
        has_servers(experiment_.sync)
            ? "may change convergence"
            : "may change convergence; a bucket of the same size holds more layers");
  }

  void add_buckets() {
    if (is_alone()) return refuse("other buckets", "a single GPU sends no gradients");
    if (has_servers(experiment_.sync))
      return refuse("other buckets", "parameter servers receive each tensor separately");
    if (sends_itself()) return refuse("other buckets", "a trace fixes its collectives");
    for (const double factor : {times_more, 1 / times_more}) {
      const std::string text = as_size(factor * bucket());
      add((is_fused() ? "fusion up to " : "buckets of ") + text, bucket_sizes(factor, text));
    }
  }

  void add_overlap() {
    if (!resolved_.stack.overlap && !is_alone() && experiment_.sync.kind != SyncKind::dataparallel_gpu0)
      add("overlap with backward", {{"stack.overlap", "true"}});
    if (resolved_.stack.intra_node == IntraNode::host && !is_alone())
      add("peer-to-peer access in a node", {{"stack.intra_node", "direct"}});
  }

  void add_algorithms() {
    const Sync& sync = experiment_.sync;
    if (is_alone() || (sync.kind != SyncKind::all_reduce && sync.kind != SyncKind::peer_to_peer)) return;
    if (sends_itself()) return refuse("another algorithm", "a trace fixes its collectives");
    if (resolved_.layout && !has_all_reduces(resolved_.layout->parallelism)) return;
    for (const auto& name : config::Names<Algorithm>::table) {
      if (name.value == sync.algorithm || is_other_name(name) ||
          !carries_out(name.value, Operation::all_reduce))
        continue;
      Overrides set{{std::string(algorithm_key), std::string(name.text)}};
      if (sync.grid) set.emplace_back("sync.grid", "none");
      add(fmt::format("algorithm {}", name.text), std::move(set));
    }
  }

  void add_servers() {
    if (!has_servers(experiment_.sync) || placement_of(experiment_.sync) == ServerPlacement::free) return;
    const int shards = 2 * shards_of(experiment_.sync);
    add(fmt::format("{} parameter shards", shards), {{"sync.shards", std::to_string(shards)}});
    const ServerRules& rules = resolved_.stack.servers;
    if (shards_of(experiment_.sync) == 1 || rules.partition) return;
    const Bytes small{1e6};
    if (!rules.spread_above || rules.spread_above->value > small)
      add("tensors above 1 MB on all shards", {{"stack.servers.spread_above", "1 MB"}});
    if (rules.assign == ShardAssignment::round_robin)
      add("shards of equal size", {{"stack.servers.assign", "by_size"}},
          "the largest tensor first, each to the shard with the fewest bytes");
  }

  void add_slow() {
    if (!experiment_.random.slow.empty()) add("no slow nodes", {{"random.slow", "[]"}});
  }

  /// Pairs of changes that hardly help alone.
  void add_pairs() {
    const auto is_fp16 = [](const WhatIf& what) {
      return !what.set.empty() && what.set.front().first == "stack.gradient_dtype";
    };
    if (has_servers(experiment_.sync) || std::ranges::none_of(all_, is_fp16)) return;
    // the same number of layers in each bucket, including the first
    Overrides set = bucket_sizes(1 / times_more, as_size(1 / times_more * bucket()));
    set.insert(set.begin(), {"stack.gradient_dtype", "fp16"});
    if (set.size() == 2 && has_first_bucket())
      set.emplace_back(first_key, as_size(1 / times_more * first_bucket(resolved_.stack)));
    add("fp16 gradients, same buckets", std::move(set));
  }

  /// A first bucket larger than the others changes with them: there may be no second one.
  [[nodiscard]] Overrides bucket_sizes(double factor, const std::string& size) const {
    Overrides set{{bucket_key(), size}};
    const Bytes first = first_bucket(resolved_.stack);
    if (has_first_bucket() && first > std::min(factor, 1.0) * bucket())
      set.emplace_back(first_key, as_size(factor * first));
    return set;
  }

  [[nodiscard]] bool has_first_bucket() const {
    return !is_fused() && experiment_.sync.kind != SyncKind::dataparallel_gpu0;
  }
  [[nodiscard]] bool is_fused() const {
    return resolved_.stack.fusion && experiment_.sync.kind != SyncKind::dataparallel_gpu0;
  }
  [[nodiscard]] Bytes bucket() const {
    return is_fused() ? resolved_.stack.fusion->threshold.value : largest_bucket(resolved_.stack);
  }
  [[nodiscard]] std::string bucket_key() const {
    return is_fused() ? "stack.fusion.threshold" : "stack.bucket_cap";
  }
};

}  // namespace

std::vector<WhatIf> job_changes(const ResolvedExperiment& resolved) { return JobChanges(resolved).all(); }

}  // namespace trainyard
