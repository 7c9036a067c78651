#pragma once
// The measured constants of a communication library as in their file (platforms/protocols/NAME.yaml): costs
// of a collective besides bytes over bandwidth, by protocol, medium, network and version, each with its
// provenance. `trainyard calibrate collectives` fits and writes the file; overheads_of() selects those for a
// machine.

#include "collectives/nccl.hpp"
#include "collectives/protocol_overheads.hpp"
#include "config/document.hpp"
#include "config/keys.hpp"
#include "units/sourced.hpp"

#include <optional>
#include <string>
#include <vector>

namespace trainyard {

template <class T>
struct SourcedByProtocol {
  Sourced<T> ll, ll128, simple;

  [[nodiscard]] const Sourced<T>& of(Protocol protocol) const {
    return protocol == Protocol::ll ? ll : protocol == Protocol::ll128 ? ll128 : simple;
  }
  [[nodiscard]] Sourced<T>& of(Protocol protocol) {
    return protocol == Protocol::ll ? ll : protocol == Protocol::ll128 ? ll128 : simple;
  }
};

/// The costs of all-reduces in NVSwitches that add.
struct NvlsCosts {
  Sourced<Seconds> step;       ///< per round
  Sourced<double> efficiency;  ///< fraction of the links' effective rate
};

/// The costs of messages between all pairs of GPUs in one NVLink domain (message_channels.hpp).
struct PairCosts {
  Sourced<Seconds> base_ll, base_simple;          ///< before the first message
  Sourced<Bandwidth> channel_ll, channel_simple;  ///< rate of one channel
  Sourced<double> efficiency;                     ///< fraction of the links' effective rate
  Sourced<double> startup;  ///< extra cost of a channel's first chunk, in chunks' worth of bytes
};

/// The costs of RCCL's all-reduces between all pairs of GPUs (rccl_tuning.hpp).
struct AllPairsCosts {
  Sourced<Seconds> step_ll, step_simple;             ///< per phase
  Sourced<double> efficiency_ll, efficiency_simple;  ///< fraction of the links' effective rate
};

/// The turns of NCCL's channels on a network (turns.hpp), and its messages between all pairs of ranks there.
struct TurnCosts {
  SourcedByProtocol<Seconds> ring;                   ///< of a channel per step, besides its bytes
  SourcedByProtocol<Seconds> tree_step;              ///< per message of a tree, in place of `step`
  Sourced<Seconds> chunk_ll128, chunk_simple;        ///< of a channel per chunk of a tree
  Sourced<Bandwidth> channel_ll128, channel_simple;  ///< rate of one channel in a tree
  Sourced<double> of_two;                            ///< part of a chunk's time in a tree over two nodes
  Sourced<Seconds> message_base, message_peer;       ///< of an all_to_all: once, and per rank elsewhere
  Sourced<double> message_efficiency;                ///< fraction of the network's rate it reaches
};

/// The costs of one kind of path between two GPUs.
struct MediumOverheads {
  SourcedByProtocol<Seconds> step;       ///< per message
  SourcedByProtocol<double> efficiency;  ///< fraction of the links' effective rate
  Sourced<double> startup;               ///< extra cost of the first message, in messages' worth of bytes
  /// Once per collective of GPUs with these links; without it, that of the file.
  std::optional<SourcedByProtocol<Seconds>> base = {};
  std::optional<NvlsCosts> nvls = {};
  std::optional<PairCosts> pairs = {};
  std::optional<AllPairsCosts> all_pairs = {};
  std::optional<TurnCosts> turns = {};
};

/// Inside a node, by PathType.
struct PathOverheads {
  MediumOverheads nvlink1, nvlink2, nvlink3, nvlink4, nvlink5, xgmi, pix, pxb, phb, sys, staged;
};

/// Between nodes, by transport, if NICs read and write GPU memory; otherwise `through_host` holds, except for
/// TCP and EFA, whose own figures were measured through the host.
struct NetworkCosts {
  MediumOverheads infiniband, roce, efa, tcp, aries, omni_path, through_host;
};

/// Factors for old versions.
struct VersionCosts {
  Sourced<double> nvlink_simple_step;  ///< factor on the step over NVLink with Simple
};

struct VersionsCosts {
  VersionCosts v2_4;
};

struct Protocols {
  std::string name;
  std::string title;
  SourcedByProtocol<Seconds> base;  ///< once per collective
  Sourced<Seconds> launch;          ///< per GPU driven by one process
  PathOverheads paths;
  NetworkCosts networks;
  VersionsCosts versions;
  std::vector<std::string> source;
};

/// Reads the constants from a document. Throws one InputError with all mistakes.
Protocols load_protocols(const config::Document& document);

/// The constants for a version, the fastest NVLinks of the platform's nodes and the network between them; no
/// costs for NcclVersion::none.
ProtocolOverheads overheads_of(const Protocols& constants, NcclVersion version, const Platform& platform);

/// The file's text, with a heading that names its origin. Reads back to an equal value.
std::string protocols_text(const Protocols& constants);

/// The constants inside nodes by PathType (not network).
const MediumOverheads& medium_of(const PathOverheads& paths, PathType type);

}  // namespace trainyard

namespace trainyard::config {

template <class T>
struct Keys<SourcedByProtocol<T>> {
  static auto table() {
    using Owner = SourcedByProtocol<T>;
    return keys(
        required("ll", &Owner::ll, "protocol LL: one flag per 4 bytes").at_least(0).at_most(1),
        required("ll128", &Owner::ll128, "protocol LL128: one flag per 128 bytes").at_least(0).at_most(1),
        required("simple", &Owner::simple, "protocol Simple: whole chunks with a handshake")
            .at_least(0)
            .at_most(1));
  }
};

template <>
struct Keys<NvlsCosts> {
  static auto table() {
    return keys(required("step", &NvlsCosts::step, "time per round of chunks in addition to its bytes")
                    .at_least(0)
                    .at_most(1),
                required("efficiency", &NvlsCosts::efficiency,
                         "fraction of the links' effective rate that is reached")
                    .above(0)
                    .at_most(1));
  }
};

template <>
struct Keys<PairCosts> {
  static auto table() {
    return keys(
        required("base_ll", &PairCosts::base_ll, "time before the first message with protocol LL")
            .at_least(0)
            .at_most(1),
        required("base_simple", &PairCosts::base_simple, "time before the first message with protocol Simple")
            .at_least(0)
            .at_most(1),
        required("channel_ll", &PairCosts::channel_ll, "rate of one channel with protocol LL").above(0),
        required("channel_simple", &PairCosts::channel_simple, "rate of one channel with protocol Simple")
            .above(0),
        required(
            "efficiency", &PairCosts::efficiency,
            "fraction of the links' effective rate that all messages together reach with protocol Simple")
            .above(0)
            .at_most(1),
        required("startup", &PairCosts::startup,
                 "extra cost of a channel's first chunk, in chunks' worth of bytes")
            .at_least(0)
            .at_most(10));
  }
};

template <>
struct Keys<AllPairsCosts> {
  static auto table() {
    const auto step = [](std::string_view name, Sourced<Seconds> AllPairsCosts::*member) {
      return required(name, member, "time per phase: parts to their ranks, then sums to all")
          .at_least(0)
          .at_most(1);
    };
    const auto efficiency = [](std::string_view name, Sourced<double> AllPairsCosts::*member) {
      return required(name, member, "fraction of the links' effective rate that is reached")
          .above(0)
          .at_most(1);
    };
    return keys(step("step_ll", &AllPairsCosts::step_ll), step("step_simple", &AllPairsCosts::step_simple),
                efficiency("efficiency_ll", &AllPairsCosts::efficiency_ll),
                efficiency("efficiency_simple", &AllPairsCosts::efficiency_simple));
  }
};

template <>
struct Keys<TurnCosts> {
  static auto table() {
    const auto time = [](std::string_view name, Sourced<Seconds> TurnCosts::*member, std::string_view what) {
      return required(name, member, what).at_least(0).at_most(1);
    };
    const auto part = [](std::string_view name, Sourced<double> TurnCosts::*member, std::string_view what) {
      return required(name, member, what).above(0).at_most(1);
    };
    return keys(
        required("ring", &TurnCosts::ring, "time of a channel per step of a ring in addition to its bytes"),
        required("tree_step", &TurnCosts::tree_step, "time per message of a tree; rings have `step`"),
        time("chunk_ll128", &TurnCosts::chunk_ll128, "time of a channel per chunk of a tree with LL128"),
        time("chunk_simple", &TurnCosts::chunk_simple, "time of a channel per chunk of a tree with Simple"),
        required("channel_ll128", &TurnCosts::channel_ll128, "rate of one channel in a tree with LL128")
            .above(0),
        required("channel_simple", &TurnCosts::channel_simple, "rate of one channel in a tree with Simple")
            .above(0),
        part("of_two", &TurnCosts::of_two, "part of a chunk's time in a tree over two nodes"),
        time("message_base", &TurnCosts::message_base, "time of an all_to_all over several nodes"),
        time("message_peer", &TurnCosts::message_peer, "its time per rank on another node"),
        part("message_efficiency", &TurnCosts::message_efficiency,
             "fraction of the network's rate that its messages reach"));
  }
};

template <>
struct Keys<MediumOverheads> {
  static auto table() {
    return keys(
        required("step", &MediumOverheads::step,
                 "time per message in addition to its bytes; between nodes the wire's latency is added; "
                 "inside a node links slower than 1.25 us (NVLink) or 0.2 us add the difference; rings over "
                 "mixed PCIe paths cost the slowest step at every edge"),
        required("efficiency", &MediumOverheads::efficiency,
                 "fraction of the links' effective rate that is reached"),
        optional("startup", &MediumOverheads::startup,
                 "extra cost of the first message, in messages' worth of bytes (A100 to GB300: 0.5 to 0.9)")
            .at_least(0)
            .at_most(10),
        optional(
            "base", &MediumOverheads::base,
            "time before the first message of a collective of GPUs with these links; default: `base` of the "
            "file"),
        optional("nvls", &MediumOverheads::nvls,
                 "all-reduces in NVSwitches with these links; without it, only the wire"),
        optional(
            "pairs", &MediumOverheads::pairs,
            "all-to-alls in one NVLink domain with these links; without it, the costs of rings' messages"),
        optional("all_pairs", &MediumOverheads::all_pairs,
                 "all-reduces of RCCL between all pairs of GPUs with these links; without it, the costs of "
                 "rings' messages"),
        optional("turns", &MediumOverheads::turns,
                 "on a network: the times that NCCL's channels take turns; without it, none"));
  }
};

template <>
struct Keys<PathOverheads> {
  static auto table() {
    return keys(required("nvlink1", &PathOverheads::nvlink1, "NVLinks of the first generation (P100)"),
                required("nvlink2", &PathOverheads::nvlink2, "NVLinks of the second generation (V100)"),
                required("nvlink3", &PathOverheads::nvlink3, "NVLinks of the third generation (A100)"),
                required("nvlink4", &PathOverheads::nvlink4, "NVLinks of the fourth generation (H100)"),
                required("nvlink5", &PathOverheads::nvlink5, "NVLinks of the fifth generation (B200)"),
                required("xgmi", &PathOverheads::xgmi, "xGMI links between AMD's GPUs, with RCCL"),
                required("pix", &PathOverheads::pix, "PCIe through one switch or none"),
                required("pxb", &PathOverheads::pxb, "PCIe through several switches"),
                required("phb", &PathOverheads::phb, "PCIe through one CPU"),
                required("sys", &PathOverheads::sys, "PCIe between CPU sockets"),
                required("staged", &PathOverheads::staged, "through host memory, without peer-to-peer"));
  }
};

template <>
struct Keys<NetworkCosts> {
  static auto table() {
    return keys(required("infiniband", &NetworkCosts::infiniband, "InfiniBand with GPUDirect"),
                required("roce", &NetworkCosts::roce, "RDMA over Ethernet with GPUDirect"),
                required("efa", &NetworkCosts::efa, "AWS's Elastic Fabric Adapter"),
                required("tcp", &NetworkCosts::tcp, "TCP sockets"),
                required("aries", &NetworkCosts::aries, "Cray's Aries"),
                required("omni_path", &NetworkCosts::omni_path, "Intel's Omni-Path"),
                required("through_host", &NetworkCosts::through_host,
                         "any network but efa and tcp if fabric.gpudirect is false"));
  }
};

template <>
struct Keys<VersionCosts> {
  static auto table() {
    return keys(required("nvlink_simple_step", &VersionCosts::nvlink_simple_step,
                         "factor on the step over NVLink with protocol Simple")
                    .above(0)
                    .at_most(100));
  }
};

template <>
struct Keys<VersionsCosts> {
  static auto table() { return keys(required("2.4", &VersionsCosts::v2_4, "NCCL 2.4 and older")); }
};

template <>
struct Keys<Protocols> {
  static auto table() {
    return keys(required("name", &Protocols::name, "the file's name without .yaml"),
                optional("title", &Protocols::title, "description of the constants"),
                required("base", &Protocols::base, "time before the first message of a collective"),
                required("launch", &Protocols::launch,
                         "time to start a collective on one GPU; if one process drives several GPUs, the sum "
                         "is the least time")
                    .at_least(0)
                    .at_most(1),
                required("paths", &Protocols::paths, "costs inside a node, by path"),
                required("networks", &Protocols::networks, "costs between nodes, by network"),
                required("versions", &Protocols::versions, "factors for old versions"),
                optional("source", &Protocols::source, "publications behind the whole file"));
  }
};

}  // namespace trainyard::config
