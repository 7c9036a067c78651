#pragma once
// Why a steady step takes as long as it does: its critical path in segments, the limits of the
// collectives on it, and the time beyond its lower bound, by replaying it under other conditions. A part of
// the run that `explain` asks for.

#include "config/keys.hpp"
#include "explain/network_part.hpp"
#include "units/ids.hpp"
#include "units/quantity.hpp"

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace trainyard {

enum class PathKind { forward, backward, optimizer, host, collective, framework, input, layers, messages };

/// Consecutive tasks of the critical path: kernels of one phase over a run of layers, or one collective. If
/// the ranks share a model, all its tasks of one kind on a stage: the path changes between stages and phases
/// with every micro-batch.
struct PathSegment {
  PathKind kind{};
  Rank rank{};    ///< the rank; for a collective, one of its ranks
  Seconds start;  ///< of its first task
  Seconds length;
  std::string first, last;  ///< layers, for kernels
  int ops = 0;              ///< number of kernels on the path
  int passes = 0;           ///< if the ranks share a model: passes of a micro-batch through a chunk
  int times = 1;            ///< if the ranks share a model: number of collectives
  Seconds slowed;           ///< part of the length: delay of kernels by concurrent communication
  int collective = -1;      ///< index in Run::collectives, for a collective (the longest, if it stands for
                            ///< several) and the framework's work around it
  std::string what;         ///< for the framework "cycle", "negotiation", "flatten"; for input, the limiting
                            ///< resource
};

/// Whether the segment is communication: Explanation::paces has an entry for it.
constexpr bool is_communication(PathKind kind) {
  return kind == PathKind::collective || kind == PathKind::layers || kind == PathKind::messages;
}

/// The reason why a connection stays below the bandwidth of its links: none, the protocol's share of a link,
/// the fabric's limit per connection, the route through host memory, one lane of a link.
enum class ConnectionLimit { none, protocol, fabric, host_memory, lane };

/// The parts of a collective's time when it has the network to itself, and the limit of its speed.
struct CollectivePace {
  int collective = -1;              ///< index in Run::collectives
  Seconds overhead;                 ///< time before its first message
  Seconds latency;                  ///< latency of its messages
  Seconds sums;                     ///< ranks add received data to their own, while they send nothing
  Seconds transfer;                 ///< transfer time of their bytes
  Bandwidth edge;                   ///< bandwidth of each connection in the phase whose bytes take longest
  std::string link;                 ///< the tightest link there, the first of equals; empty: none
  int alike = 0;                    ///< number of equally tight links, including this one
  int crossed = 0;                  ///< number of connections that share it
  Bandwidth capacity;               ///< capacity of the link
  bool is_connection = false;       ///< one connection reaches less than the bandwidth of its links
  ConnectionLimit held_by{};        ///< the reason for that
  std::optional<NetworkPart> part;  ///< of the network that sets the bandwidth; none if only latency counts
  bool is_assumed = false;          ///< the figure behind the bandwidth is assumed

  [[nodiscard]] Seconds alone() const { return overhead + latency + sums + transfer; }
};

/// Parts of the step time, in the order in which they are added up. Each is the additional time under one
/// more of the real conditions.
enum class GapPart {
  kernels,
  recompute,
  host,
  slowest_gpu,
  input,
  framework,
  bubble,
  bound,
  algorithm,
  kernel_slowdown,
  network
};

/// The first part that the lower bound does not include.
inline constexpr GapPart first_above_bound = GapPart::algorithm;

struct GapTime {
  GapPart part{};
  Seconds time;  ///< negative if the step is shorter with it
};

struct Explanation {
  std::vector<PathSegment> path;      ///< from 0 to the step time without a gap
  std::vector<CollectivePace> paces;  ///< of the collectives on the path, in order
  /// They add up to the step time. `recompute` and `bubble` only if the ranks share a model, `framework` only
  /// if they do not.
  std::vector<GapTime> gap;
};

}  // namespace trainyard

namespace trainyard::config {

template <>
struct Names<PathKind> {
  static constexpr std::string_view what = "kind of segment";
  static constexpr std::array table{
      Name{"forward", PathKind::forward, "kernels of the forward pass"},
      Name{"backward", PathKind::backward, "kernels of the backward pass"},
      Name{"optimizer", PathKind::optimizer, "kernels of the optimizer"},
      Name{"host", PathKind::host, "the GPU waits for the software on the host"},
      Name{"collective", PathKind::collective, "a collective, from the arrival of its last rank"},
      Name{"framework", PathKind::framework, "cycles, negotiation and copies around a collective"},
      Name{"input", PathKind::input, "loading and decoding of samples"},
      Name{"layers", PathKind::layers, "tensor-parallel collectives"},
      Name{"messages", PathKind::messages, "messages between the stages of a pipeline"}};
};

/// The texts say how each part was obtained.
template <>
struct Names<GapPart> {
  static constexpr std::string_view what = "part of the step time";
  static constexpr std::array table{
      Name{"kernels", GapPart::kernels, "all kernels of one rank, each running alone"},
      Name{"recompute", GapPart::recompute, "kernels that backward repeats to compute activations again"},
      Name{"host", GapPart::host, "host time that a single GPU also needs"},
      Name{"slowest_gpu", GapPart::slowest_gpu, "waiting for the slowest GPU"},
      Name{"input", GapPart::input, "additional wait for samples"},
      Name{"framework", GapPart::framework, "host time, cycles and copies that only several ranks need"},
      Name{"bubble", GapPart::bubble, "waiting for other stages, even if communication took no time"},
      Name{"bound", GapPart::bound, "exposed even if every collective ran at its bound"},
      Name{"algorithm", GapPart::algorithm,
           "added by the algorithm of each collective, alone on the network"},
      Name{"kernel_slowdown", GapPart::kernel_slowdown, "delay of kernels by concurrent collectives"},
      Name{"network", GapPart::network,
           "added by shared or changing links and by the simulation of single messages"}};
};

}  // namespace trainyard::config
