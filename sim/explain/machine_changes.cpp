// Other hardware, for what_would_help.hpp.

#include "config/document.hpp"
#include "experiment/decoding.hpp"
#include "explain/changes.hpp"
#include "platform/host_launch.hpp"

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
    add_pairs();
    add_gpu();
    add_host();
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
    // In trees the rates of links between switches follow from those of the NICs.
    std::vector<NetworkPart> parts{NetworkPart::nics};
    if (fabric.kind == FabricKind::fat_tree || fabric.kind == FabricKind::rail_optimised)
      parts.push_back(NetworkPart::fabric);
    const bool is_capped = std::isfinite(fabric.per_flow.value.si());
    add_faster(parts, "NICs of " + in_gbps(nic), {{"platform.fabric.nic", in_gbps(nic)}},
               is_capped
                   ? fmt::format("one connection still reaches {} at most", in_gbps(fabric.per_flow.value))
                   : "");
    if (is_capped) {
      const std::string rate = in_gbps(times_more * fabric.per_flow.value);
      add_faster({NetworkPart::connections}, "connections of " + rate, {{"platform.fabric.per_flow", rate}},
                 "the rate of one connection across the fabric");
    }
    if (!fabric.gpudirect.value) add("NICs with GPUDirect RDMA", {{"platform.fabric.gpudirect", "true"}});
    if (is_redirected(fabric)) add("PCIe without access control", {{"platform.fabric.redirected", "false"}});
    add_switch_links();
    const LinkKeys links = cluster_.network->link_keys();
    Overrides faster;
    for (const auto& [key, rate] : links.rates)
      faster.emplace_back(fmt::format("platform.fabric.{}", key), in_gbps(times_more * rate));
    if (faster.empty()) return;
    add_faster({NetworkPart::fabric},
               fmt::format("{} links {}", links.topology,
                           faster.size() == 1 ? "of " + faster.front().second : "twice as fast"),
               faster);
  }

  /// For trees that are narrower above their lowest switches.
  void add_switch_links() {
    const Fabric& fabric = resolved_.platform.fabric;
    double narrowed = 1;
    if (fabric.kind == FabricKind::rail_optimised) narrowed = fabric.rail.oversubscription.value;
    if (fabric.kind == FabricKind::fat_tree && fabric.levels.size() == 1)
      narrowed = fabric.levels.front().oversubscription.value;
    if (narrowed <= 1) return;
    const std::string less = shortest(std::max(1.0, narrowed / times_more));
    add_faster(narrowed >= times_more ? std::vector{NetworkPart::fabric} : std::vector<NetworkPart>{},
               "oversubscription " + less, {{"platform.fabric.oversubscription", less}});
  }

  void add_node_links() {
    if (std::ranges::max(cluster_.gpus_on_node) == 1 && cluster_.nodes == 1 &&
        !has_servers(experiment_.sync)) {
      refuse("faster links in a node", "a single GPU does not communicate");
      return;
    }
    const LinkSpeeds& speeds = resolved_.platform.speeds;
    const auto try_kind = [&](bool (*is_of_kind)(LinkKind), const std::string& name, const std::string& key,
                              double now, NetworkPart part) {
      if (!has_link([&](const Link& link) { return is_of_kind(link.kind); })) return;
      const std::string change = name + " twice as fast";
      const std::string full_key = "platform.node.speed." + key;
      if (times_more * now > LinkSpeeds::highest)
        return refuse(change, past_highest(full_key, LinkSpeeds::highest, now));
      add_faster({part}, change, {{full_key, shortest(times_more * now)}},
                 key == "nvlink" ? "" : staged_remark());
    };
    try_kind(is_nvlink, "NVLinks", "nvlink", speeds.nvlink, NetworkPart::nvlink);
    try_kind(is_pcie, "PCIe links", "pcie", speeds.pcie, NetworkPart::pcie);
    try_kind([](LinkKind kind) { return !is_nvlink(kind) && !is_pcie(kind); }, "socket links", "sockets",
             speeds.sockets, NetworkPart::sockets);
    const Platform& platform = resolved_.platform;
    if (platform.has_peer_to_peer || !std::isfinite(platform.staged.value.si())) return;
    const std::string rate = in_gigabytes(times_more * platform.staged.value);
    add_faster({NetworkPart::host_memory}, rate + " through host memory",
               {{"platform.node.effective.staged", rate}}, "the rate of one connection between GPUs");
  }

  /// Parts of the network that may limit it together.
  void add_pairs() {
    const std::vector<WhatIf> alone = all_;
    const auto changed = [&](NetworkPart part) -> const WhatIf* {
      const auto found = std::ranges::find_if(alone, [&](const WhatIf& one) {
        return !one.parts.empty() && one.parts.front() == part && one.reason.empty();
      });
      return found == alone.end() ? nullptr : &*found;
    };
    // A faster card needs a faster slot, a faster connection a faster link.
    for (const auto& [one, other] :
         {std::pair(NetworkPart::nics, NetworkPart::pcie), std::pair(NetworkPart::nics, NetworkPart::fabric),
          std::pair(NetworkPart::nics, NetworkPart::connections),
          std::pair(NetworkPart::pcie, NetworkPart::sockets),
          std::pair(NetworkPart::pcie, NetworkPart::host_memory),
          std::pair(NetworkPart::sockets, NetworkPart::host_memory)}) {
      // Runs of many updates take ten times as long.
      if (is_multi_update(experiment_) && other != NetworkPart::pcie) break;
      const WhatIf* const first = changed(one);
      const WhatIf* const second = changed(other);
      if (first == nullptr || second == nullptr) continue;
      WhatIf both = *first;
      both.change += ", " + second->change;
      both.set.insert(both.set.end(), second->set.begin(), second->set.end());
      both.parts.insert(both.parts.end(), second->parts.begin(), second->parts.end());
      both.are_several = true;
      both.remark.clear();
      all_.push_back(std::move(both));
    }
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

  /// For the thread that launches the kernels.
  void add_host() {
    if (!resolved_.lowering) return;
    add("a host twice as fast",
        {{"platform.node.host.launch", digits12(host_launch(resolved_.platform).value / times_more)}},
        "kernels are launched in half the time");
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

  /// Everything that may hold up the loader: its workers, cores, decoding, storage, memory.
  void add_input() {
    if (experiment_.input.data != InputData::real) return;
    if (!is_prefetched(experiment_.input)) add("prefetching of samples", {{"input.prefetch", "true"}});
    add_storage();
    const SampleInput& sample = *resolved_.model->input;
    const DecodingCost cost = decoding_cost(resolved_);
    if (decodes_on_gpu(experiment_.input)) {
      if (cost.decoder != nullptr)
        add("hardware decoders twice as fast",
            {{"gpu.image_decoder", exact(cost.decoder->value / times_more)}});
      if (cost.core != nullptr) add_decoding("model.input.dali.huffman", *cost.core);
      if (resolved_.platform.cores_per_cpu) add("decoding on the CPUs", {{"input.decode", "cpu"}});
      return;
    }
    if (cost.core != nullptr && resolved_.platform.cores_per_cpu)
      add_decoding(is_dali(experiment_.input) ? "model.input.dali.decode" : "model.input.decode", *cost.core);
    if (resolved_.platform.host_memory_bandwidth) {
      const std::string memory = in_gigabytes(times_more * resolved_.platform.host_memory_bandwidth->value);
      add("memory of " + memory + " per socket", {{"platform.node.devices.cpu.memory_bandwidth", memory}});
    }
    if (!sample.decode) return;
    if (resolved_.gpu.image_decoder || is_dali(experiment_.input)) {
      Overrides set{{"input.decode", "gpu"}};
      if (experiment_.input.workers && resolved_.gpu.image_decoder)
        set.emplace_back("input.workers", config::unset_text);
      add("decoding on the GPUs", std::move(set));
    } else {
      refuse("decoding on the GPUs", resolved_.gpu.name + " has no hardware decoder in its profile");
    }
  }

  void add_storage() {
    const Platform& platform = resolved_.platform;
    if (platform.storage) {
      const std::string rate = in_gigabytes(times_more * platform.storage->value);
      add("storage of " + rate, {{"platform.node.storage.bandwidth", rate}});
    }
    if (platform.shared_storage) {
      const std::string rate = in_gigabytes(times_more * platform.shared_storage->value);
      add("shared storage of " + rate, {{"platform.node.storage.shared", rate}});
    }
  }

  /// `key`: of the time that a core takes for a sample.
  void add_decoding(const char* key, const Sourced<Seconds>& decode) {
    const int now = resolved_.platform.cores_per_cpu->value;
    const int cores = 2 * now;
    const std::pair<std::string, std::string> more_cores{"platform.node.devices.cpu.cores",
                                                         std::to_string(cores)};
    const int ranks = std::ranges::max(cluster_.gpus_on_node);
    const int sockets = static_cast<int>(resolved_.platform.cpus.size());
    if (const std::optional<int>& workers = experiment_.input.workers) {
      const int most = now * sockets / ranks;
      if (*workers < most) {
        const int more = std::min(most, 2 * *workers);
        add(fmt::format("{} loader workers per GPU", more), {{"input.workers", std::to_string(more)}});
        if (more < most)
          add(fmt::format("{} loader workers per GPU", most), {{"input.workers", std::to_string(most)}},
              "one per core");
      } else {
        add(fmt::format("{} cores per socket, {} workers per GPU", cores, 2 * *workers),
            {more_cores, {"input.workers", std::to_string(2 * *workers)}});
      }
    } else {
      add(fmt::format("{} cores per socket", cores), {more_cores});
    }
    add("decoding in half the time", {{key, exact(decode.value / times_more)}},
        "a faster decoder, or smaller images");
  }
};

}  // namespace

std::vector<WhatIf> machine_changes(const ResolvedExperiment& resolved) {
  return MachineChanges(resolved).all();
}

}  // namespace trainyard
