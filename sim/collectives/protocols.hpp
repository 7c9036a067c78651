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

/// The costs of one kind of path between two GPUs.
struct MediumOverheads {
  SourcedByProtocol<Seconds> step;       ///< per message
  SourcedByProtocol<double> efficiency;  ///< fraction of the links' effective rate
  Sourced<double> startup;               ///< extra cost of the first message, in messages' worth of bytes
};

/// Inside a node, by PathType.
struct PathOverheads {
  MediumOverheads nvlink1, nvlink2, nvlink3, nvlink4, pix, pxb, phb, sys, staged;
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

/// The constants for a version and the network of `fabric` between nodes; no costs for NcclVersion::none.
ProtocolOverheads overheads_of(const Protocols& constants, NcclVersion version, const Fabric& fabric);

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
        required("ll", &Owner::ll, "protocol LL: a flag beside every 4 bytes").at_least(0).at_most(1),
        required("ll128", &Owner::ll128, "protocol LL128: a flag in every 128 bytes").at_least(0).at_most(1),
        required("simple", &Owner::simple, "protocol Simple: whole chunks with a handshake")
            .at_least(0)
            .at_most(1));
  }
};

template <>
struct Keys<MediumOverheads> {
  static auto table() {
    return keys(
        required("step", &MediumOverheads::step,
                 "what one message costs besides its bytes; between nodes the wire's latency is added"),
        required("efficiency", &MediumOverheads::efficiency,
                 "part of the links' effective rate that is reached"),
        optional("startup", &MediumOverheads::startup, "messages' worth of bytes that the first costs more")
            .at_least(0)
            .at_most(10));
  }
};

template <>
struct Keys<PathOverheads> {
  static auto table() {
    return keys(required("nvlink1", &PathOverheads::nvlink1, "NVLinks of the first generation (P100)"),
                required("nvlink2", &PathOverheads::nvlink2, "of the second (V100)"),
                required("nvlink3", &PathOverheads::nvlink3, "of the third (A100)"),
                required("nvlink4", &PathOverheads::nvlink4, "of the fourth (H100)"),
                required("pix", &PathOverheads::pix, "one PCIe switch, or none"),
                required("pxb", &PathOverheads::pxb, "several PCIe switches"),
                required("phb", &PathOverheads::phb, "through one CPU"),
                required("sys", &PathOverheads::sys, "between sockets"),
                required("staged", &PathOverheads::staged, "through host memory: no peer-to-peer"));
  }
};

template <>
struct Keys<NetworkCosts> {
  static auto table() {
    return keys(required("infiniband", &NetworkCosts::infiniband, "InfiniBand with GPUDirect"),
                required("roce", &NetworkCosts::roce, "the same over Ethernet"),
                required("efa", &NetworkCosts::efa, "AWS's Elastic Fabric Adapter"),
                required("tcp", &NetworkCosts::tcp, "sockets"),
                required("aries", &NetworkCosts::aries, "Cray's Aries"),
                required("omni_path", &NetworkCosts::omni_path, "Intel's Omni-Path"),
                required("through_host", &NetworkCosts::through_host,
                         "any but efa and tcp where fabric.gpudirect is false"));
  }
};

template <>
struct Keys<VersionCosts> {
  static auto table() {
    return keys(required("nvlink_simple_step", &VersionCosts::nvlink_simple_step,
                         "times the step over NVLink with Simple")
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
                optional("title", &Protocols::title, "what the constants are of"),
                required("base", &Protocols::base, "what a collective costs before its first message"),
                required("launch", &Protocols::launch,
                         "time to start it on one GPU: the floor where one process drives several")
                    .at_least(0)
                    .at_most(1),
                required("paths", &Protocols::paths, "inside a node"),
                required("networks", &Protocols::networks, "between nodes"),
                required("versions", &Protocols::versions, "what old versions did slower"),
                optional("source", &Protocols::source, "publications the whole file rests on"));
  }
};

}  // namespace trainyard::config
