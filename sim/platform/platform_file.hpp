#pragma once
// A platform file as written: structs that mirror the YAML, and their key tables. load.hpp turns this into a
// Platform; platforms/README.md documents the keys.

#include "platform/fabric_file.hpp"
#include "platform/names.hpp"
#include "platform/platform.hpp"
#include "platform/plausible_limits.hpp"
#include "units/quantity.hpp"
#include "units/sourced.hpp"

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace trainyard {

/// How the devices of a link entry's two lists are paired.
enum class Pairing { all, in_order };

struct GpusFile {
  int count = 0;
  std::string profile;
};

struct DevicesFile {
  int count = 0;
  std::string model;
};

struct CpusFile {
  int count = 0;
  std::string model;
  bool host_bridge_per_port = false;
  std::optional<Sourced<int>> cores;
  std::optional<Sourced<Bandwidth>> memory_bandwidth;
};

struct NodeDevicesFile {
  DevicesFile nvswitch;
  CpusFile cpu;
  DevicesFile pcie_switch;
  DevicesFile nic;
};

struct LinkFile {
  std::vector<std::string> between;
  Pairing pairing = Pairing::all;
  LinkKind kind{};
  int lanes = 1;
  Sourced<Bandwidth> bandwidth;
  std::optional<Sourced<Bandwidth>> effective;
  Sourced<Seconds> latency;
  std::string source;
};

/// Rates per lane; `staged` per connection.
struct EffectiveFile {
  std::optional<Sourced<Bandwidth>> nvlink1, nvlink2, nvlink3, nvlink4;
  std::optional<Sourced<Bandwidth>> pcie3, pcie4, pcie5;
  std::optional<Sourced<Bandwidth>> qpi, upi, xbus, infinity_fabric;
  std::optional<Sourced<Bandwidth>> staged;
};

struct PowerFile {
  std::optional<Sourced<Watts>> max;
  std::optional<Sourced<Watts>> overhead;
};

struct PriceFile {
  std::optional<Sourced<Dollars>> list;
  std::optional<Sourced<Dollars>> hour;
  std::string date;
  std::string source;
};

/// Storage that samples are read from.
struct StorageFile {
  std::optional<Sourced<Bandwidth>> bandwidth;
  std::optional<Sourced<Bandwidth>> shared;
};

struct NodeFile {
  GpusFile gpus;
  NodeDevicesFile devices;
  std::vector<LinkFile> links;
  EffectiveFile effective;
  LinkSpeeds speed;
  bool peer_to_peer = true;
  std::optional<StorageFile> storage;
  std::optional<PowerFile> power;
  std::optional<PriceFile> price;
};

struct PlatformFile {
  std::string name;
  std::string title;
  NodeFile node;
  std::optional<FabricFile> fabric;
  std::vector<std::string> source;
};

}  // namespace trainyard

namespace trainyard::config {

template <>
struct Names<Pairing> {
  static constexpr std::string_view what = "pairing";
  static constexpr std::array table{
      Name{"all", Pairing::all, "every device of one list with every device of the other"},
      Name{"in_order", Pairing::in_order, "the longer list dealt out to the shorter in equal runs"}};
};

template <>
struct Keys<GpusFile> {
  static auto table() {
    return keys(required("count", &GpusFile::count, "GPUs of a node, gpu0 first; each can hold one rank")
                    .at_least(1)
                    .at_most(most_count),
                required("profile", &GpusFile::profile,
                         "GPU profile by name (platforms/gpus): decides compute times and memory"));
  }
};

template <>
struct Keys<DevicesFile> {
  static auto table() {
    return keys(required("count", &DevicesFile::count, "devices of this kind in a node, numbered from 0")
                    .at_least(1)
                    .at_most(most_count),
                optional("model", &DevicesFile::model, "what it is called; printed only"));
  }
};

template <>
struct Keys<CpusFile> {
  static auto table() {
    return keys(
        required("count", &CpusFile::count, "CPU sockets of a node, numbered from 0")
            .at_least(1)
            .at_most(most_count),
        optional("model", &CpusFile::model, "what it is called; printed only"),
        optional(
            "host_bridge_per_port", &CpusFile::host_bridge_per_port,
            "each root port has a host bridge of its own: devices below two ports print as NODE, not PHB"),
        optional("cores", &CpusFile::cores, "cores of one socket that a job may use")
            .at_least(1)
            .at_most(4096),
        optional("memory_bandwidth", &CpusFile::memory_bandwidth,
                 "of the memory of one socket, reads and writes together, by specification")
            .above(0)
            .at_most(most_bandwidth));
  }
};

template <>
struct Keys<NodeDevicesFile> {
  static auto table() {
    return keys(optional("nvswitch", &NodeDevicesFile::nvswitch, "NVLink crossbars"),
                optional("cpu", &NodeDevicesFile::cpu, "CPU sockets: where PCIe trees meet"),
                optional("pcie_switch", &NodeDevicesFile::pcie_switch, "PCIe switches"),
                optional("nic", &NodeDevicesFile::nic, "network cards that reach the fabric"));
  }
};

template <>
struct Keys<LinkFile> {
  static auto table() {
    return keys(
        required("between", &LinkFile::between,
                 "two ends, each a device (gpu3, nvswitch) or a list (\"gpu[0-7,12]\")"),
        optional("pairing", &LinkFile::pairing, "which devices of two lists are joined"),
        required("kind", &LinkFile::kind, "what the link is: decides protocol costs and routes"),
        optional("lanes", &LinkFile::lanes, "parallel lanes; every ring takes one").at_least(1).at_most(1024),
        required("bandwidth", &LinkFile::bandwidth, "by specification, per direction, all lanes together")
            .above(0)
            .at_most(most_bandwidth),
        optional(
            "effective", &LinkFile::effective,
            "what collectives reach, per direction, all lanes together; default: node.effective times lanes")
            .above(0)
            .at_most(most_bandwidth),
        required("latency", &LinkFile::latency, "of this link alone, one way").above(0).at_most(most_latency),
        optional("source", &LinkFile::source,
                 "where figures of this entry come from that do not say it themselves"));
  }
};

template <>
struct Keys<EffectiveFile> {
  static auto table() {
    const auto rate = [](std::string_view name, std::optional<Sourced<Bandwidth>> EffectiveFile::*member) {
      return optional(name, member,
                      "what collectives reach per lane and direction; default: the specification")
          .above(0)
          .at_most(most_bandwidth);
    };
    return keys(rate("nvlink1", &EffectiveFile::nvlink1), rate("nvlink2", &EffectiveFile::nvlink2),
                rate("nvlink3", &EffectiveFile::nvlink3), rate("nvlink4", &EffectiveFile::nvlink4),
                rate("pcie3", &EffectiveFile::pcie3), rate("pcie4", &EffectiveFile::pcie4),
                rate("pcie5", &EffectiveFile::pcie5), rate("qpi", &EffectiveFile::qpi),
                rate("upi", &EffectiveFile::upi), rate("xbus", &EffectiveFile::xbus),
                rate("infinity_fabric", &EffectiveFile::infinity_fabric),
                optional("staged", &EffectiveFile::staged,
                         "what one connection through host memory reaches; default: its links' rate")
                    .above(0)
                    .at_most(most_bandwidth));
  }
};

template <>
struct Keys<LinkSpeeds> {
  static auto table() {
    const auto factor = [](auto key) { return key.at_least(0.01).at_most(LinkSpeeds::highest); };
    return keys(factor(optional("nvlink", &LinkSpeeds::nvlink,
                                "factor of the bandwidths of all NVLinks; default: 1")),
                factor(optional("pcie", &LinkSpeeds::pcie, "the same of PCIe links")),
                factor(optional("sockets", &LinkSpeeds::sockets, "the same of links between CPU sockets")));
  }
};

template <>
struct Keys<StorageFile> {
  static auto table() {
    return keys(optional("bandwidth", &StorageFile::bandwidth, "what one node reads from its storage")
                    .above(0)
                    .at_most(most_bandwidth),
                optional("shared", &StorageFile::shared,
                         "what all nodes of a job together read from a storage they share")
                    .above(0)
                    .at_most(most_bandwidth));
  }
};

template <>
struct Keys<PowerFile> {
  static auto table() {
    return keys(
        optional("max", &PowerFile::max, "what the whole node may draw").above(0).at_most(most_power),
        optional("overhead", &PowerFile::overhead,
                 "what a node draws besides its GPUs: CPUs, fans, disks; default: max less the GPUs' TDP")
            .at_least(0)
            .at_most(most_power));
  }
};

template <>
struct Keys<PriceFile> {
  static auto table() {
    return keys(
        optional("list", &PriceFile::list, "list price of one node").above(0).at_most(most_price),
        optional("hour", &PriceFile::hour, "rent of one whole node for an hour; gives the cost of an epoch")
            .above(0)
            .at_most(most_price),
        required("date", &PriceFile::date, "when it was asked: 2018-03 or 2018-03-27"),
        optional("source", &PriceFile::source, "where the price comes from if it does not say it itself"));
  }
};

template <>
struct Keys<NodeFile> {
  static auto table() {
    return keys(
        required("gpus", &NodeFile::gpus, "the GPUs of one node"),
        optional("devices", &NodeFile::devices, "what else the links join"),
        optional("links", &NodeFile::links, "the links of one node, full duplex"),
        optional("effective", &NodeFile::effective, "what collectives reach per lane, by link kind"),
        optional("speed", &NodeFile::speed, "for what-ifs: links that are so many times as fast"),
        optional(
            "peer_to_peer", &NodeFile::peer_to_peer,
            "GPUs read and write each other's memory over PCIe; false: they copy through host memory, but "
            "over NVLink"),
        optional("storage", &NodeFile::storage,
                 "what samples are read from; without it reading takes no time"),
        optional("power", &NodeFile::power, "power of one node"),
        optional("price", &NodeFile::price, "price of one node"));
  }
};

template <>
struct Keys<PlatformFile> {
  static auto table() {
    return keys(
        required("name", &PlatformFile::name, "the file's name without .yaml"),
        optional("title", &PlatformFile::title, "what people call it"),
        required("node", &PlatformFile::node, "one node; all nodes are alike"),
        optional("fabric", &PlatformFile::fabric, "what joins nodes; without it there is one node only"),
        optional("source", &PlatformFile::source, "publications the whole file rests on"));
  }
};

}  // namespace trainyard::config
