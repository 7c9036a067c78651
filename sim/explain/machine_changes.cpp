// Other hardware, for what_would_help.hpp.

#include "explain/changes.hpp"

#include <cmath>
#include <cstdint>
#include <fmt/format.h>

namespace trainyard {

namespace {

class MachineChanges : Changes {
public:
  explicit MachineChanges(const ResolvedExperiment& resolved) : Changes(resolved) {}

  std::vector<WhatIf> all() {
    add_network();
    add_node_links();
    add_gpu();
    add_input();
    return std::move(all_);
  }

private:
  void add_network() {
    const Fabric& fabric = resolved_.platform.fabric;
    if (cluster_.nodes == 1 && !has_own_servers()) {
      refuse("faster NICs", "all GPUs are in one node, so no NIC is used");
      return;
    }
    const Bandwidth nic = times_more * fabric.nic.value;
    add("NICs of " + in_gbps(nic), {{"platform.fabric.nic", in_gbps(nic)}},
        std::isfinite(fabric.per_flow.value.si())
            ? fmt::format("one connection still reaches {} at most", in_gbps(fabric.per_flow.value))
            : "");
    if (!fabric.gpudirect.value) add("NICs with GPUDirect RDMA", {{"platform.fabric.gpudirect", "true"}});
    if (is_redirected(fabric)) add("PCIe without access control", {{"platform.fabric.redirected", "false"}});
    const LinkKeys links = cluster_.network->link_keys();
    Overrides faster;
    for (const auto& [key, rate] : links.rates)
      faster.emplace_back(fmt::format("platform.fabric.{}", key), in_gbps(times_more * rate));
    if (faster.empty()) return;
    add(fmt::format("{} links {}", links.topology,
                    faster.size() == 1 ? "of " + faster.front().second : "twice as fast"),
        faster);
  }

  void add_node_links() {
    if (std::ranges::max(cluster_.gpus_on_node) == 1 && cluster_.nodes == 1 &&
        !has_servers(experiment_.sync)) {
      refuse("faster links in a node", "a single GPU does not communicate");
      return;
    }
    const LinkSpeeds& speeds = resolved_.platform.speeds;
    const auto try_kind = [&](bool (*is_of_kind)(LinkKind), const std::string& name, const std::string& key,
                              double now) {
      if (!has_link([&](const Link& link) { return is_of_kind(link.kind); })) return;
      const std::string change = name + " twice as fast";
      const std::string full_key = "platform.node.speed." + key;
      if (times_more * now > LinkSpeeds::highest)
        return refuse(change, past_highest(full_key, LinkSpeeds::highest, now));
      add(change, {{full_key, shortest(times_more * now)}}, key == "nvlink" ? "" : staged_remark());
    };
    try_kind(is_nvlink, "NVLinks", "nvlink", speeds.nvlink);
    try_kind(is_pcie, "PCIe links", "pcie", speeds.pcie);
    try_kind([](LinkKind kind) { return !is_nvlink(kind) && !is_pcie(kind); }, "socket links", "sockets",
             speeds.sockets);
  }

  void add_gpu() {
    const auto is_kernel = [](const Op& op) { return op.kind != OpKind::host; };
    const auto is_given = [&](const Op& op) { return is_kernel(op) && op.duration.has_value(); };
    std::int64_t kernels = 0;
    std::int64_t given = 0;
    for (const RankClass& one : resolved_.classes) {
      kernels += std::ranges::count_if(one.trace.ops, is_kernel);
      given += std::ranges::count_if(one.trace.ops, is_given);
    }
    if (given == kernels) {
      refuse("faster GPUs", "a trace fixes the times of its kernels");
      return;
    }
    if (resolved_.platform.ranks_on_processors) {
      add("kernels twice as fast",
          {{"stack.compute_scale", shortest(resolved_.stack.compute_scale.value / times_more)}},
          "better kernels, or more cores with as much more memory bandwidth");
      return;
    }
    const double now = resolved_.gpu.has_speed;
    if (times_more * now > GpuProfile::highest_speed) {
      refuse("GPUs twice as fast", past_highest("gpu.speed", GpuProfile::highest_speed, now));
      return;
    }
    const std::string which =
        given == 0 ? "every kernel in half the time"
                   : fmt::format("the trace fixes the times of {} of {} kernels; the others take half", given,
                                 kernels);
    add("GPUs twice as fast", {{"gpu.speed", shortest(times_more * now)}},
        which + " (peak rates, memory bandwidth, fixed times); memory size, links and host stay the same");
  }

  static std::string past_highest(const std::string& key, double highest, double now) {
    return fmt::format("{} is {}; its maximum is {}", key, shortest(now), shortest(highest));
  }

  /// Remark on the other limits of GPUs without peer-to-peer access, besides the links made faster.
  [[nodiscard]] std::string staged_remark() const {
    const Platform& platform = resolved_.platform;
    if (platform.has_peer_to_peer || !std::isfinite(platform.staged.value.si())) return {};
    return fmt::format("one connection through host memory still reaches {} at most",
                       in_gigabytes(platform.staged.value));
  }

  void add_input() {
    if (experiment_.input.data != InputData::real) return;
    if (!is_prefetched(experiment_.input)) add("prefetching of samples", {{"input.prefetch", "true"}});
    if (resolved_.platform.cores_per_cpu && !decodes_on_gpu(experiment_.input)) {
      const int cores = 2 * resolved_.platform.cores_per_cpu->value;
      add(fmt::format("{} cores per socket", cores),
          {{"platform.node.devices.cpu.cores", std::to_string(cores)}});
    }
    if (resolved_.platform.storage) {
      const Bandwidth storage = times_more * resolved_.platform.storage->value;
      add("storage of " + in_gigabytes(storage),
          {{"platform.node.storage.bandwidth", in_gigabytes(storage)}});
    }
    if (decodes_on_gpu(experiment_.input)) return;
    if (resolved_.gpu.image_decoder)
      add("decoding on the GPUs", {{"input.decode", "gpu"}});
    else
      refuse("decoding on the GPUs", resolved_.gpu.name + " has no hardware decoder in its profile");
  }
};

}  // namespace

std::vector<WhatIf> machine_changes(const ResolvedExperiment& resolved) {
  return MachineChanges(resolved).all();
}

}  // namespace trainyard
