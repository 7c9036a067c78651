#include "platform/platform_checks.hpp"

#include "units/text.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <set>
#include <string>

namespace trainyard {
namespace {

/// Most likely a wrong unit.
void warn_if_little(Bandwidth bandwidth, Bandwidth least, const std::string& path, std::string_view what,
                    config::Problems& problems) {
  if (bandwidth >= least) return;
  problems.warning(path, fmt::format("{} is low for {}", human(bandwidth), what),
                   "bits or bytes, M or G? 100 Gbps is 12.5 GB/s");
}

constexpr Bandwidth least_gpu_link{1e9};

void check_gpu_link(const LinkFile& link, const std::string& path, const EffectiveFile& effective,
                    config::Problems& problems) {
  const bool is_of_gpu =
      std::ranges::any_of(link.between, [](const std::string& end) { return end.starts_with("gpu"); });
  if (!is_of_gpu) return;
  warn_if_little(link.bandwidth.value, least_gpu_link, path + ".bandwidth", "a link of a GPU", problems);
  if (link.bandwidth.value < least_gpu_link) return;
  if (link.effective) {
    warn_if_little(link.effective->value, least_gpu_link, path + ".effective", "a link of a GPU", problems);
  } else if (const Sourced<Bandwidth>* lane = effective_per_lane(effective, link.kind)) {
    warn_if_little(lane->value * link.lanes, least_gpu_link,
                   fmt::format("node.effective.{}", config::name_of(link.kind)), "a link of a GPU", problems);
  }
}

// With an effective rate above the specification, a collective could beat its own lower bound.
void check_effective(const NodeFile& node, config::Problems& problems) {
  std::set<LinkKind> reported;  // one error per key, even if several links violate it
  for (std::size_t i = 0; i < node.links.size(); ++i) {
    const LinkFile& link = node.links[i];
    const std::string path = fmt::format("node.links[{}]", i);
    const bool is_whole = problems.readable(path + ".bandwidth") && problems.readable(path + ".lanes") &&
                          problems.readable(path + ".kind");
    if (!is_whole) continue;
    if (link.effective) {
      if (link.effective->value > link.bandwidth.value) {
        problems.error(
            path + ".effective",
            fmt::format("{} is more than the link's bandwidth of {}", human(link.effective->value),
                        human(link.bandwidth.value)),
            "effective is the bandwidth that collectives reach, per direction, all lanes together");
      }
      continue;
    }
    const Sourced<Bandwidth>* lane = effective_per_lane(node.effective, link.kind);
    // the last digits of a rate per lane are rounding
    const bool is_above = lane != nullptr && lane->value * link.lanes > link.bandwidth.value * (1 + 1e-9);
    if (is_above && reported.insert(link.kind).second) {
      problems.error(
          fmt::format("node.effective.{}", config::name_of(link.kind)),
          fmt::format("{} per lane on {} lane{} is more than the bandwidth of {}, {}", human(lane->value),
                      link.lanes, link.lanes == 1 ? "" : "s", path, human(link.bandwidth.value)),
          "effective is the bandwidth that collectives reach, per lane and direction");
    }
  }
  if (!problems.readable("node.links")) return;
  for (const auto& name : config::Names<LinkKind>::table) {
    const bool is_used =
        std::ranges::any_of(node.links, [&](const LinkFile& link) { return link.kind == name.value; });
    if (effective_per_lane(node.effective, name.value) != nullptr && !is_used) {
      problems.warning(fmt::format("node.effective.{}", name.text),
                       fmt::format("no effect: no link is of kind {}", name.text));
    }
  }
}

/// "2018-03" or "2018-03-27", month and day within their ranges.
bool is_date(std::string_view text) {
  constexpr std::string_view form = "0000-00-00";
  if (text.size() != 7 && text.size() != form.size()) return false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (form[i] == '-' ? text[i] != '-' : text[i] < '0' || text[i] > '9') return false;
  }
  const std::string_view month = text.substr(5, 2);
  const std::string_view day = text.size() == form.size() ? text.substr(8) : "01";
  return month >= "01" && month <= "12" && day >= "01" && day <= "31";
}

void check_storage(const StorageFile& storage, config::Problems& problems) {
  const bool is_read =
      problems.readable("node.storage.bandwidth") && problems.readable("node.storage.shared");
  if (is_read && !storage.bandwidth && !storage.shared) {
    problems.error(
        "node.storage", "'storage' needs 'bandwidth' or 'shared'",
        "bandwidth: 3 GB/s for disks in each node, shared: 50 GB/s for storage shared by all nodes");
  }
}

void check_power(const NodePower& power, config::Problems& problems) {
  if (!problems.readable("node.power.max") || !problems.readable("node.power.overhead")) return;
  if (!power.max && !power.overhead) {
    problems.error("node.power", "'power' needs 'max' or 'overhead'", "max: 3.5 kW, overhead: 1 kW");
  } else if (power.max && power.overhead && power.overhead->value >= power.max->value) {
    problems.error("node.power.overhead",
                   fmt::format("{} without the GPUs leaves no power for them: the node's maximum is {}",
                               human(power.overhead->value), human(power.max->value)));
  }
}

void check_price(const NodePrice& price, config::Problems& problems) {
  const bool is_read = problems.readable("node.price.list") && problems.readable("node.price.hour");
  if (is_read && !price.list && !price.hour) {
    problems.error("node.price", "'price' needs 'list' or 'hour'",
                   "hour: 24.48 USD for a rented node, list: 399000 USD for a bought one");
  }
  if (!is_date(price.date)) {
    problems.error("node.price.date", in_quotes(price.date) + " is not a date", "2018-03 or 2018-03-27");
  }
  if (price.list_date.empty()) return;
  if (!is_date(price.list_date)) {
    problems.error("node.price.list_date", in_quotes(price.list_date) + " is not a date",
                   "2018-03 or 2018-03-27");
  } else if (is_read && !price.list) {
    problems.error("node.price.list_date", "there is no list price", "remove it, or state 'list'");
  }
}

void check_ranks(const NodeFile& node, config::Problems& problems) {
  if (!problems.readable("node.gpus") || !problems.readable("node.processors")) return;
  if (node.gpus && node.processors) {
    problems.error("node.processors", "the GPUs of a node hold its ranks (gpus)",
                   "leave out 'processors', or 'gpus' for ranks on CPU sockets");
  } else if (!node.gpus && !node.processors) {
    problems.error("node", "nothing holds ranks",
                   "gpus: {count: 8, profile: v100_sxm2_32gb}, or processors: {profile: xeon_gold_6148}");
  } else if (node.processors && node.devices.cpu.count == 0 && problems.readable("node.devices")) {
    problems.error("node.processors", "the node has no cpu", "node.devices: {cpu: {count: 2}}");
  }
}

/// Keys about the memory of GPUs, of a node that has none.
void check_keys_of_gpus(const NodeFile& node, config::Problems& problems) {
  if (!node.processors) return;
  for (const char* const key : {"node.peer_to_peer", "fabric.gpudirect", "fabric.redirected"}) {
    if (problems.written(key))
      problems.warning(key, "no effect: the ranks are on processors, whose data is in host memory",
                       "leave it out, or 'gpus' in place of 'processors'");
  }
}

void check_staging(const NodeFile& node, config::Problems& problems) {
  if (!node.peer_to_peer && node.devices.cpu.count == 0 && problems.readable("node.devices.cpu")) {
    problems.error("node.peer_to_peer", "data goes through host memory, but the node has no cpu",
                   "node.devices: {cpu: {count: 1}}, or peer_to_peer: true");
  }
  if (node.peer_to_peer && node.effective.staged) {
    problems.warning("node.effective.staged", "no effect: GPUs have peer-to-peer access",
                     "peer_to_peer: false");
  }
}

void check_lanes(const NodeFile& node, config::Problems& problems) {
  if (!node.lanes.nvlink || !problems.readable("node.links")) return;
  if (std::ranges::any_of(node.links, [](const LinkFile& link) { return is_nvlink(link.kind); })) return;
  problems.error("node.lanes.nvlink", "no link of the node is an NVLink",
                 "node.speed.pcie and node.speed.sockets are for the links it has");
}

/// A warning, not an error: a sweep of machines may set the factor for all of them.
void check_speeds(const NodeFile& node, config::Problems& problems) {
  if (!problems.readable("node.links")) return;
  const LinkSpeeds used = used_speeds(node);
  const auto check = [&](const char* key, double LinkSpeeds::*speed, const char* links) {
    if (node.speed.*speed == used.*speed) return;
    problems.warning(key, fmt::format("{} has no effect: the node has no {}", key, links), "leave it out");
  };
  check("node.speed.nvlink", &LinkSpeeds::nvlink, "NVLinks");
  check("node.speed.pcie", &LinkSpeeds::pcie, "PCIe links");
  check("node.speed.sockets", &LinkSpeeds::sockets, "links between CPU sockets");
}

}  // namespace

double LinkSpeeds::*speed_key(LinkKind kind) {
  if (is_nvlink(kind)) return &LinkSpeeds::nvlink;
  return is_pcie(kind) ? &LinkSpeeds::pcie : &LinkSpeeds::sockets;
}

LinkSpeeds used_speeds(const NodeFile& node) {
  LinkSpeeds used;
  for (const LinkFile& link : node.links) used.*speed_key(link.kind) = node.speed.*speed_key(link.kind);
  return used;
}

const Sourced<Bandwidth>* effective_per_lane(const EffectiveFile& effective, LinkKind kind) {
  const Sourced<Bandwidth>* found = nullptr;
  const auto visit = [&](const auto& key) {
    const std::optional<Sourced<Bandwidth>>& rate = effective.*key.member;
    if (rate && key.name == config::name_of(kind)) found = &*rate;
  };
  config::Keys<EffectiveFile>::table()([&](const auto&... key) { (visit(key), ...); });
  return found;
}

void check_platform_file(const PlatformFile& file, config::Problems& problems) {
  problems.check_name(file.name);
  for (std::size_t i = 0; i < file.node.links.size(); ++i) {
    check_gpu_link(file.node.links[i], fmt::format("node.links[{}]", i), file.node.effective, problems);
  }
  check_effective(file.node, problems);
  check_lanes(file.node, problems);
  check_speeds(file.node, problems);
  if (file.node.storage) check_storage(*file.node.storage, problems);
  if (file.node.power) check_power(*file.node.power, problems);
  if (file.node.price) check_price(*file.node.price, problems);
  check_staging(file.node, problems);
  check_ranks(file.node, problems);
  check_keys_of_gpus(file.node, problems);
}

}  // namespace trainyard
