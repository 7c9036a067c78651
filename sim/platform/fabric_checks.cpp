#include "platform/fabric_definition.hpp"
#include "platform/platform_checks.hpp"
#include "units/text.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <string>
#include <string_view>
#include <vector>

namespace trainyard {
namespace {

constexpr Bandwidth little_for_nic{125e6};  // 1 Gbps

/// Names of the keys in the file whose default is to be missing.
std::vector<std::string_view> written_keys(const FabricFile& fabric) {
  std::vector<std::string_view> names;
  const auto visit = [&](const auto& key) {
    const auto& value = fabric.*key.member;
    if constexpr (requires { value.has_value(); }) {
      if (value.has_value()) names.push_back(key.name);
    } else if constexpr (requires { value.empty(); }) {
      if (!value.empty()) names.push_back(key.name);
    }
  };
  config::Keys<FabricFile>::table()([&](const auto&... key) { (visit(key), ...); });
  return names;
}

/// The key in the definition of this kind; null if it is not listed.
const KindKey* find_key(const FabricDefinition& kind, std::string_view name) {
  const auto found = std::ranges::find(kind.keys, name, &KindKey::name);
  return found == kind.keys.end() ? nullptr : &*found;
}

/// "kind: torus2d or kind: torus3d": the kinds that have the key; empty if none lists it.
std::string kinds_with(std::string_view name) {
  std::string kinds;
  for (const auto& kind : config::Names<FabricKind>::table) {
    if (kind.value == FabricKind::none) continue;  // it has no keys
    const FabricDefinition other = definition(kind.value);
    const KindKey* key = find_key(other, name);
    if (key != nullptr && key->instead.empty())
      kinds += fmt::format("{}kind: {}", kinds.empty() ? "" : " or ", kind.text);
  }
  return kinds;
}

/// Keys of other kinds would have no effect, and a kind does not work without its own keys.
void check_kind_keys(const FabricFile& fabric, const FabricDefinition& kind, config::Problems& problems) {
  const std::vector<std::string_view> written = written_keys(fabric);
  for (const std::string_view name : written) {
    const KindKey* own = find_key(kind, name);
    const std::string instead = own == nullptr ? kinds_with(name) : std::string(own->instead);
    if (instead.empty()) continue;
    problems.error(
        fmt::format("fabric.{}", name),
        fmt::format("'{}' does not apply to a fabric of kind {}", name, config::name_of(fabric.kind)),
        instead);
  }
  for (const KindKey& key : kind.keys) {
    const std::string path = fmt::format("fabric.{}", key.name);
    const bool is_missing = std::ranges::find(written, key.name) == written.end();
    if (is_missing && !key.required.empty() && problems.readable(path))
      problems.error(path, fmt::format("key '{}' is missing", key.name), std::string(key.required));
  }
}

void check_nic(const PlatformFile& file, config::Problems& problems) {
  const FabricFile& fabric = *file.fabric;
  if (!fabric.nic) {
    problems.error("fabric.nic", "key 'nic' is missing", "nic: 100 Gbps (bits) or 12.5 GB/s (bytes)");
  } else if (fabric.nic->value < little_for_nic) {
    problems.warning("fabric.nic", fmt::format("{} is low for a NIC", human(fabric.nic->value)),
                     "bits or bytes, M or G? 100 Gbps is 12.5 GB/s");
  }
  if (!fabric.latency) problems.error("fabric.latency", "key 'latency' is missing", "latency: 2 us");
  if (fabric.nic && fabric.per_flow && problems.readable("fabric.nic") &&
      problems.readable("fabric.per_flow") && fabric.per_flow->value > fabric.nic->value) {
    problems.warning("fabric.per_flow", fmt::format("no effect: {} per connection is more than the NIC's {}",
                                                    human(fabric.per_flow->value), human(fabric.nic->value)));
  }
  if (file.node.devices.nic.count == 0 && problems.readable("node.devices.nic")) {
    problems.error("fabric", "a fabric needs NICs, and the node has none", "node.devices: {nic: {count: 1}}");
  }
  if (!fabric.gpudirect.value && file.node.devices.cpu.count == 0 && problems.readable("node.devices.cpu")) {
    problems.error("fabric.gpudirect", "data goes through host memory, but the node has no cpu",
                   "node.devices: {cpu: {count: 1}}, or gpudirect: true");
  }
  if (fabric.redirected.value && file.node.devices.cpu.count == 0 && problems.readable("node.devices.cpu")) {
    problems.error("fabric.redirected", "data goes up to a CPU's root port, but the node has no cpu",
                   "node.devices: {cpu: {count: 1}}, or redirected: false");
  }
}

}  // namespace

Fabric read_fabric(const PlatformFile& platform, config::Problems& problems) {
  Fabric fabric;
  if (!platform.fabric || platform.fabric->kind == FabricKind::none || !problems.readable("fabric.kind"))
    return fabric;
  const FabricFile& file = *platform.fabric;
  const FabricDefinition kind = definition(file.kind);
  check_nic(platform, problems);
  check_kind_keys(file, kind, problems);

  fabric.kind = file.kind;
  fabric.transport = file.transport;
  take(fabric.nic, file.nic);
  fabric.effective = fabric.nic;
  if (file.efficiency != FabricFile{}.efficiency)
    fabric.effective = {.value = fabric.nic.value * file.efficiency.value,
                        .provenance = file.efficiency.provenance,
                        .source = file.efficiency.source};
  take(fabric.latency, file.latency);
  fabric.gpudirect = file.gpudirect;
  fabric.redirected = file.redirected;
  take(fabric.per_flow, file.per_flow);
  take(fabric.hop_latency, file.hop_latency);
  const bool has_nics = problems.readable("node.devices.nic");
  kind.read(file, has_nics ? platform.node.devices.nic.count : -1, fabric, problems);
  return fabric;
}

}  // namespace trainyard
