#pragma once
// A platform file as written: structs that mirror the YAML, and their key tables. load.hpp turns this into a
// Platform; docs/keys/platform.md has the keys.

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

/// CPU sockets that hold ranks, in a node without GPUs.
struct ProcessorsFile {
  std::string profile;
  std::string memory_mode;
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
  std::optional<Sourced<Bandwidth>> nvlink1, nvlink2, nvlink3, nvlink4, nvlink5, xgmi;
  std::optional<Sourced<Bandwidth>> pcie3, pcie4, pcie5;
  std::optional<Sourced<Bandwidth>> qpi, upi, xbus, infinity_fabric;
  std::optional<Sourced<Bandwidth>> staged;
};

/// Storage that samples are read from.
struct StorageFile {
  std::optional<Sourced<Bandwidth>> bandwidth;
  std::optional<Sourced<Bandwidth>> shared;
};

/// The host that launches the kernels of a node's GPUs.
struct HostFile {
  std::optional<Sourced<double>> launch;
};

struct NodeFile {
  std::optional<GpusFile> gpus;
  std::optional<ProcessorsFile> processors;
  NodeDevicesFile devices;
  std::optional<int> nics = {};
  std::vector<LinkFile> links;
  EffectiveFile effective;
  LinkSpeeds speed;
  LinkLanes lanes;
  bool peer_to_peer = true;
  HostFile host;
  std::optional<StorageFile> storage;
  std::optional<NodePower> power;
  std::optional<NodePrice> price;
};

struct PlatformFile {
  std::string name;
  std::string title;
  std::optional<int> year;
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
      Name{"in_order", Pairing::in_order,
           "the longer list in equal runs, one for each device of the shorter"}};
};

template <>
struct Keys<GpusFile> {
  static auto table() {
    return keys(
        required("count", &GpusFile::count,
                 "GPUs per node, numbered from gpu0; each can hold one rank; fewer, set on the command line, "
                 "leave GPUs and their links out")
            .between(1, most_count),
        required("profile", &GpusFile::profile,
                 "name of the GPU profile (platforms/gpus), which determines compute times and memory"));
  }
};

template <>
struct Keys<ProcessorsFile> {
  static auto table() {
    return keys(required("profile", &ProcessorsFile::profile,
                         "name of the processor's profile (platforms/processors), which determines compute "
                         "times and memory"),
                optional("memory_mode", &ProcessorsFile::memory_mode,
                         "one of the profile's memory_modes; default: its first"));
  }
};

template <>
struct Keys<DevicesFile> {
  static auto table() {
    return keys(required("count", &DevicesFile::count, "devices of this kind per node, numbered from 0")
                    .between(1, most_count),
                optional("model", &DevicesFile::model, "product name, only printed"));
  }
};

template <>
struct Keys<CpusFile> {
  static auto table() {
    return keys(
        required("count", &CpusFile::count, "CPU sockets per node, numbered from 0").between(1, most_count),
        optional("model", &CpusFile::model, "product name, only printed"),
        optional("host_bridge_per_port", &CpusFile::host_bridge_per_port,
                 "true if every root port is a separate host bridge: the connection of devices below two "
                 "ports is then printed as NODE instead of PHB"),
        optional("cores", &CpusFile::cores,
                 "cores per socket that a job may use: they decode samples of real data and sum gradients "
                 "for parameter servers")
            .between(1, 4096),
        optional("memory_bandwidth", &CpusFile::memory_bandwidth,
                 "specified memory bandwidth per socket, reads and writes together; limits parameter servers "
                 "and the decoding of samples")
            .between(least_bandwidth, most_bandwidth));
  }
};

template <>
struct Keys<NodeDevicesFile> {
  static auto table() {
    return keys(optional("nvswitch", &NodeDevicesFile::nvswitch, "NVLink crossbars"),
                optional("cpu", &NodeDevicesFile::cpu, "CPU sockets, the roots of the PCIe trees"),
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
        optional("pairing", &LinkFile::pairing, "how the devices of two lists are paired"),
        required("kind", &LinkFile::kind, "link technology; determines protocol costs and routes"),
        optional("lanes", &LinkFile::lanes, "parallel lanes; every ring uses one").between(1, 1024),
        required("bandwidth", &LinkFile::bandwidth, "specified bandwidth per direction, all lanes together")
            .between(least_bandwidth, most_bandwidth),
        optional("effective", &LinkFile::effective,
                 "bandwidth that collectives reach, per direction, all lanes together; default: "
                 "node.effective times lanes")
            .between(least_bandwidth, most_bandwidth),
        required("latency", &LinkFile::latency,
                 "one-way latency of this link alone; a route adds up its links; inside a node NCCL's "
                 "measured steps include 1.25 us for an NVLink and 0.2 us for any other link, so that only "
                 "latency beyond that counts")
            .between(least_latency, most_latency),
        optional("source", &LinkFile::source,
                 "source of the figures in this entry that do not state their own"));
  }
};

template <>
struct Keys<EffectiveFile> {
  static auto table() {
    const auto rate = [](std::string_view name, std::optional<Sourced<Bandwidth>> EffectiveFile::*member) {
      return optional(name, member,
                      "bandwidth that collectives reach per lane and direction; default: as specified")
          .between(least_bandwidth, most_bandwidth);
    };
    return keys(rate("nvlink1", &EffectiveFile::nvlink1), rate("nvlink2", &EffectiveFile::nvlink2),
                rate("nvlink3", &EffectiveFile::nvlink3), rate("nvlink4", &EffectiveFile::nvlink4),
                rate("nvlink5", &EffectiveFile::nvlink5), rate("xgmi", &EffectiveFile::xgmi),
                rate("pcie3", &EffectiveFile::pcie3), rate("pcie4", &EffectiveFile::pcie4),
                rate("pcie5", &EffectiveFile::pcie5), rate("qpi", &EffectiveFile::qpi),
                rate("upi", &EffectiveFile::upi), rate("xbus", &EffectiveFile::xbus),
                rate("infinity_fabric", &EffectiveFile::infinity_fabric),
                optional("staged", &EffectiveFile::staged,
                         "bandwidth of one connection through host memory; default: the rate of its links")
                    .between(least_bandwidth, most_bandwidth));
  }
};

template <>
struct Keys<LinkSpeeds> {
  static auto table() {
    const auto factor = [](auto key) { return key.between(0.01, LinkSpeeds::highest); };
    return keys(
        factor(optional("nvlink", &LinkSpeeds::nvlink, "factor on the bandwidth of all NVLinks; default: 1")),
        factor(optional("pcie", &LinkSpeeds::pcie, "the same for PCIe links")),
        factor(optional("sockets", &LinkSpeeds::sockets, "the same for links between CPU sockets")));
  }
};

template <>
struct Keys<LinkLanes> {
  static auto table() {
    return keys(optional("nvlink", &LinkLanes::nvlink,
                         "number of lanes of every NVLink, between GPUs and to NVSwitches; a lane keeps its "
                         "speed, and more lanes make more rings; default: as in 'links'")
                    .between(1, LinkLanes::most));
  }
};

template <>
struct Keys<HostFile> {
  static auto table() {
    return keys(optional("launch", &HostFile::launch,
                         "factor on the host times of stacks with a lowering, relative to the host on which "
                         "these were measured; default: by 'year'")
                    .between(0.01, 100));
  }
};

template <>
struct Keys<StorageFile> {
  static auto table() {
    return keys(
        optional("bandwidth", &StorageFile::bandwidth, "rate at which one node reads from its storage")
            .between(least_bandwidth, most_bandwidth),
        optional("shared", &StorageFile::shared,
                 "rate at which all nodes of a job together read from shared storage")
            .between(least_bandwidth, most_bandwidth));
  }
};

template <>
struct Keys<NodePower> {
  static auto table() {
    return keys(
        optional("max", &NodePower::max, "maximum power of the whole node").positive(most_power),
        optional(
            "overhead", &NodePower::overhead,
            "power of a node without its GPUs: CPUs, fans, disks; default: max minus the TDP of the GPUs")
            .between(0, most_power));
  }
};

template <>
struct Keys<NodePrice> {
  static auto table() {
    return keys(
        optional("list", &NodePrice::list, "list price of one node; only printed, never turned into a rate")
            .positive(most_price),
        optional("hour", &NodePrice::hour, "rent of one whole node per hour, for the cost of an epoch")
            .positive(most_price),
        required("date", &NodePrice::date, "date of the price: 2018-03 or 2018-03-27"),
        optional("list_date", &NodePrice::list_date, "date of the list price; default: date"),
        optional("source", &NodePrice::source, "source of the price, unless the price states its own"));
  }
};

template <>
struct Keys<NodeFile> {
  static auto table() {
    return keys(
        optional("gpus", &NodeFile::gpus, "the GPUs of one node, each for one rank"),
        optional("processors", &NodeFile::processors,
                 "for nodes without GPUs: the CPU sockets (devices.cpu) hold the ranks, one each"),
        optional("devices", &NodeFile::devices, "the other devices that links join"),
        optional("nics", &NodeFile::nics,
                 "for what-ifs: number of NICs in use, of those in devices, spread evenly over their order; "
                 "the others are left out with their links; default: all")
            .between(1, most_count),
        optional("links", &NodeFile::links, "the links of one node, full duplex"),
        optional("effective", &NodeFile::effective,
                 "bandwidth that collectives reach per lane, by link kind"),
        optional(
            "speed", &NodeFile::speed,
            "for what-ifs: factors on the bandwidth of links inside a node, specified and effective, except "
            "node.effective.staged; a factor for links that the node lacks has no effect, with a warning"),
        optional("lanes", &NodeFile::lanes, "for what-ifs: more or fewer parallel lanes of links"),
        optional("peer_to_peer", &NodeFile::peer_to_peer,
                 "whether GPUs access each other's memory over PCIe; false: they copy through host "
                 "memory, except over NVLinks"),
        optional("host", &NodeFile::host, "the host that launches the GPUs' kernels"),
        optional("storage", &NodeFile::storage,
                 "storage of the samples; without this key, reading takes no time"),
        optional("power", &NodeFile::power, "power of one node"),
        optional("price", &NodeFile::price, "price of one node"));
  }
};

template <>
struct Keys<PlatformFile> {
  static auto table() {
    return keys(required("name", &PlatformFile::name, "the file's name without .yaml"),
                optional("title", &PlatformFile::title, "name for people"),
                optional("year", &PlatformFile::year,
                         "year in which the machine came out, or ran what is published of it; listed, and "
                         "the default of node.host.launch rests on it")
                    .between(1990, 2100),
                required("node", &PlatformFile::node, "one node; all nodes are alike"),
                optional("fabric", &PlatformFile::fabric,
                         "network between nodes; without this key, only one node can be used"),
                optional("source", &PlatformFile::source, "publications on which the whole file is based"));
  }
};

}  // namespace trainyard::config
