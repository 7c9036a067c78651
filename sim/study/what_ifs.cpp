// The changes that what_would_help.hpp tries.

#include "config/fields.hpp"
#include "schedule/experiment.hpp"
#include "study/memory_verdict.hpp"
#include "study/what_would_help.hpp"
#include "units/text.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <utility>

namespace trainyard {

namespace {

/// How many times as much of something is tried.
constexpr double more = 2;

std::string gbps(Bandwidth bandwidth) { return shortest(8e-9 * bandwidth.si()) + " Gbps"; }

/// "25 MiB".
std::string in_mib(Bytes size) { return shortest(size.si() / (1 << 20)) + " MiB"; }

class WhatIfs {
public:
  explicit WhatIfs(const Inputs& inputs)
      : inputs_(inputs), experiment_(inputs.experiment), cluster_(cluster_of(inputs)) {}

  std::vector<WhatIf> all() {
    add_network();
    add_node_links();
    add_gpu();
    add_batch();
    add_precision();
    add_gradients();
    add_buckets();
    add_overlap();
    add_algorithms();
    add_servers();
    add_slow();
    add_input();
    return std::move(all_);
  }

private:
  void add(std::string change, Overrides set, std::string remark = {}) {
    all_.push_back({std::move(change), std::move(set), std::move(remark), {}});
  }
  void refuse(std::string change, std::string reason) {
    all_.push_back({std::move(change), {}, {}, std::move(reason)});
  }

  [[nodiscard]] bool is_alone() const { return cluster_.ranks() == 1 && !has_servers(experiment_.sync); }
  [[nodiscard]] bool has_own_servers() const {
    const Sync& sync = experiment_.sync;
    return has_servers(sync) && placement_of(sync) == ServerPlacement::own_nodes;
  }
  [[nodiscard]] bool sends_itself() const {
    const auto communicates = [](const Op& op) { return op.communication != Communication::none; };
    return std::ranges::any_of(inputs_.trace.ops, communicates);
  }

  template <class Is>
  [[nodiscard]] bool has_link(Is is) const {
    const NodeGraph& node = inputs_.platform.node;
    const auto [begin, end] = edges(node);
    return std::any_of(begin, end, [&](const EdgeId edge) { return is(node[edge]); });
  }

  void add_network() {
    const Fabric& fabric = inputs_.platform.fabric;
    if (cluster_.nodes == 1 && !has_own_servers()) {
      refuse("faster NICs", "all GPUs are in one node, which uses no NIC");
      return;
    }
    const Bandwidth nic = more * fabric.nic.value;
    add("NICs of " + gbps(nic), {{"platform.fabric.nic", gbps(nic)}},
        std::isfinite(fabric.per_flow.value.si())
            ? fmt::format("one connection reaches {} as before", gbps(fabric.per_flow.value))
            : "");
    // A card in a slot that is no faster than it gains nothing alone.
    const auto is_slot = [&](const Link& link) { return is_pcie(link.kind); };
    if (has_link(is_slot)) {
      add("NICs of " + gbps(nic) + ", PCIe x 2",
          {{"platform.fabric.nic", gbps(nic)},
           {"platform.node.speed.pcie", shortest(more * inputs_.platform.speeds.pcie)}});
    }
    if (!fabric.gpudirect.value) add("NICs that reach GPU memory", {{"platform.fabric.gpudirect", "true"}});
    if (fabric.kind == FabricKind::torus2d || fabric.kind == FabricKind::torus3d) {
      const Bandwidth link = more * fabric.torus.link.value;
      add("links of the torus of " + gbps(link), {{"platform.fabric.link", gbps(link)}});
    }
    if (fabric.kind == FabricKind::dragonfly) {
      const Bandwidth local = more * fabric.dragonfly.local_link.value;
      const Bandwidth global = more * fabric.dragonfly.global_link.value;
      add("dragonfly links twice as fast",
          {{"platform.fabric.local_link", gbps(local)}, {"platform.fabric.global_link", gbps(global)}});
    }
  }

  void add_node_links() {
    if (std::ranges::max(cluster_.gpus_on_node) == 1 && cluster_.nodes == 1 &&
        !has_servers(experiment_.sync)) {
      refuse("faster links in a node", "there is one GPU, which talks to no other");
      return;
    }
    const LinkSpeeds& speeds = inputs_.platform.speeds;
    const auto try_kind = [&](bool (*is_of_kind)(LinkKind), const std::string& name, const std::string& key,
                              double now) {
      if (!has_link([&](const Link& link) { return is_of_kind(link.kind); })) return;
      add(name + " twice as fast", {{"platform.node.speed." + key, shortest(more * now)}});
    };
    try_kind(is_nvlink, "NVLinks", "nvlink", speeds.nvlink);
    try_kind(is_pcie, "PCIe links", "pcie", speeds.pcie);
    try_kind([](LinkKind kind) { return !is_nvlink(kind) && !is_pcie(kind); }, "socket links", "sockets",
             speeds.sockets);
  }

  void add_gpu() {
    const auto is_given = [](const Op& op) { return op.duration.has_value(); };
    if (std::ranges::all_of(inputs_.trace.ops, is_given)) {
      refuse("faster GPUs", "the trace brings the times of its kernels");
      return;
    }
    add("GPUs twice as fast", {{"gpu.speed", shortest(more * inputs_.gpu.has_speed)}},
        "every kernel in half the time: peak rates, memory bandwidth, launches; memory and links as before");
  }

  void add_batch() {
    const int batch = experiment_.batch_per_gpu;
    const std::string larger = fmt::format("batch of {} per GPU", 2 * batch);
    if (!inputs_.model) {
      refuse(larger, "a trace cannot be stretched: record one with that batch");
      return;
    }
    Inputs doubled = inputs_;
    doubled.experiment.batch_per_gpu = 2 * batch;
    const MemoryReport memory = memory_report(doubled);
    if (memory.fits) {
      add(larger, {{"batch_per_gpu", std::to_string(2 * batch)}}, "changes the training too");
      return;
    }
    refuse(larger, fmt::format("it does not fit: {} of {}; batch {} does", human(memory.peak),
                               human(memory.capacity), memory.largest_batch));
    if (memory.largest_batch <= batch) return;
    add(fmt::format("batch of {} per GPU", memory.largest_batch),
        {{"batch_per_gpu", std::to_string(memory.largest_batch)}},
        "the largest that fits; changes the training too");
  }

  void add_precision() {
    const Precision precision = experiment_.precision;
    if (precision != Precision::fp32 && precision != Precision::tf32) return;
    if (!inputs_.model) {
      refuse("precision amp", "the trace is a step in another");
      return;
    }
    if (inputs_.gpu.matrix.fp16)
      add("precision amp", {{"precision", "amp"}}, "changes the training too");
    else
      refuse("precision amp", inputs_.gpu.name + " has no fp16 matrix units");
    if (precision == Precision::fp32 && inputs_.gpu.matrix.tf32)
      add("precision tf32", {{"precision", "tf32"}});
  }

  void add_gradients() {
    const std::string change = "fp16 gradients";
    if (is_alone()) return refuse(change, "one GPU sends none");
    if (sends_itself()) return refuse(change, "collectives are the trace's");
    if (size_of(inputs_.stack.gradient_dtype, experiment_.precision) <= Bytes{2})
      return refuse(change, "they have 2 bytes per value already");
    add(change, {{"stack.gradient_dtype", "fp16"}},
        has_servers(experiment_.sync)
            ? "changes the training too"
            : "changes the training too; a bucket of the same size holds more layers");
    if (has_servers(experiment_.sync)) return;
    const bool is_halved = size_of(inputs_.stack.gradient_dtype, experiment_.precision) > Bytes{2};
    if (is_halved)
      add("fp16 gradients, same buckets",
          {{"stack.gradient_dtype", "fp16"}, {bucket_key(), in_mib(0.5 * bucket())}});
  }

  void add_buckets() {
    if (is_alone()) return refuse("other buckets", "one GPU sends none");
    if (has_servers(experiment_.sync)) return refuse("other buckets", "servers take each tensor by itself");
    if (sends_itself()) return refuse("other buckets", "collectives are the trace's");
    for (const double factor : {more, 1 / more}) {
      const std::string text = in_mib(factor * bucket());
      add((is_fused() ? "fusion up to " : "buckets of ") + text, {{bucket_key(), text}});
    }
  }

  [[nodiscard]] bool is_fused() const {
    return inputs_.stack.fusion && experiment_.sync.kind != SyncKind::dataparallel_gpu0;
  }
  [[nodiscard]] Bytes bucket() const {
    return is_fused() ? inputs_.stack.fusion->threshold.value : largest_bucket(inputs_.stack);
  }
  [[nodiscard]] std::string bucket_key() const {
    return is_fused() ? "stack.fusion.threshold" : "stack.bucket_cap";
  }

  void add_overlap() {
    if (!inputs_.stack.overlap && !is_alone() && experiment_.sync.kind != SyncKind::dataparallel_gpu0)
      add("overlap with backward", {{"stack.overlap", "true"}});
    if (inputs_.stack.intra_node == IntraNode::host && !is_alone())
      add("peer-to-peer access in a node", {{"stack.intra_node", "direct"}});
  }

  void add_algorithms() {
    const Sync& sync = experiment_.sync;
    if (is_alone() || (sync.kind != SyncKind::all_reduce && sync.kind != SyncKind::peer_to_peer)) return;
    if (sends_itself()) return refuse("another algorithm", "collectives are the trace's");
    for (const auto& name : config::Names<Algorithm>::table) {
      if (name.value == sync.algorithm) continue;
      add(fmt::format("algorithm {}", name.text), {{std::string(algorithm_key), std::string(name.text)}});
    }
  }

  void add_servers() {
    if (!has_servers(experiment_.sync) || placement_of(experiment_.sync) == ServerPlacement::free) return;
    const int shards = 2 * shards_of(experiment_.sync);
    add(fmt::format("{} shards of the parameters", shards), {{"sync.shards", std::to_string(shards)}});
  }

  void add_slow() {
    if (!experiment_.random.slow.empty()) add("no slow nodes", {{"random.slow", "[]"}});
  }

  void add_input() {
    if (experiment_.input.data != InputData::real) return;
    if (!is_prefetched(experiment_.input)) add("prefetching of samples", {{"input.prefetch", "true"}});
    if (inputs_.platform.cores_per_cpu && !decodes_on_gpu(experiment_.input)) {
      const int cores = 2 * inputs_.platform.cores_per_cpu->value;
      add(fmt::format("{} cores in a socket", cores),
          {{"platform.node.devices.cpu.cores", std::to_string(cores)}});
    }
    if (inputs_.platform.storage) {
      const Bandwidth storage = more * inputs_.platform.storage->value;
      add("storage of " + gbps(storage), {{"platform.node.storage.bandwidth", gbps(storage)}});
    }
    if (decodes_on_gpu(experiment_.input)) return;
    if (inputs_.gpu.image_decoder)
      add("decoding on the GPUs", {{"input.decode", "gpu"}});
    else
      refuse("decoding on the GPUs", inputs_.gpu.name + " states no hardware decoder");
  }

  const Inputs& inputs_;
  const Experiment& experiment_;
  const Cluster cluster_;
  std::vector<WhatIf> all_;
};

}  // namespace

std::vector<WhatIf> what_ifs(const Inputs& inputs) { return WhatIfs(inputs).all(); }

}  // namespace trainyard
