#include "collectives/nccl_tuning.hpp"

#include "collectives/nccl_search.hpp"
#include "collectives/rccl_tuning.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <limits>

namespace trainyard {
namespace {

/// Version 2.4 compares sizes: LL if each of 256 threads per channel and chunk has at most 64 bytes (32
/// before Volta, twice that on several nodes, four times that in trees).
NcclChoice choice_of_2_4(const NcclShape& shape, Bytes size, std::optional<Algorithm> demanded) {
  const double channels = shape.channels;
  // The largest size for which a tree is faster, from assumed rates (bytes per microsecond) and latencies
  // (us).
  const auto tree_limit = [&]() -> double {
    const bool has_nvlink = is_nvlink(shape.worst_inside);
    const double ring_rate = has_nvlink ? 5000 * channels : 5000;
    const double tree_rate = ring_rate * (has_nvlink ? 3.0 / 4 * (shape.nodes == 2 ? 2 : 1) : 2.0 / 3);
    const double ring_latency = 6.0 * (shape.ranks - 1);
    const int per_node = shape.ranks / shape.nodes;  // rounded down, as in NCCL
    const double tree_latency = 15 * std::log2(shape.nodes) + 4 * (per_node - 1);
    if (shape.nodes < 2 || ring_latency <= tree_latency) return 0;
    if (tree_rate > ring_rate) return std::numeric_limits<double>::infinity();
    return ring_rate * tree_rate / (ring_rate - tree_rate) * (ring_latency - tree_latency);
  };
  const bool is_tree = demanded ? *demanded == Algorithm::tree
                                : shape.operation == Operation::all_reduce && size.si() <= tree_limit();
  const double chunks = is_tree || has_root(shape.operation) ? 1 : shape.ranks;
  const double per_thread =
      (shape.compute_capability < 70 ? 32 : 64) * (shape.nodes > 1 ? 2 : 1) * (is_tree ? 4 : 1);
  return {.algorithm = is_tree ? Algorithm::tree : Algorithm::ring,
          .protocol = size.si() <= channels * 256 * chunks * per_thread ? Protocol::ll : Protocol::simple};
}

/// Rings in one node since Hopper: as many as fit at the first of the speeds with which together they carry
/// the most, down to half of the highest that fits; where they are fast or few, each is divided in two.
NcclChannels searched_channels(int lanes, int compute_capability) {
  constexpr int most = 32;
  const double links = lanes * searched_lane(compute_capability);
  struct {
    int count = 0;
    double speed = 0;  // GB/s
  } best;
  for (const double speed : searched_speeds(compute_capability)) {
    const int count = std::min(most, static_cast<int>(links / speed));
    if (count < 1) continue;
    if (best.count > 0 && speed <= 0.49 * best.speed) break;
    if (count * speed > best.count * best.speed) best = {.count = count, .speed = speed};
  }
  const bool is_divided = best.speed >= 50 || (best.speed >= 25 && best.count <= 4);
  const int parts = is_divided ? 2 : 1;
  return {parts * best.count, Bandwidth{best.speed / parts * 1e9}};
}

}  // namespace

CpuVendor cpu_vendor(std::string_view model) {
  const auto has = [&](std::string_view word) { return model.find(word) != std::string_view::npos; };
  if (has("EPYC") || has("AMD")) return CpuVendor::amd;
  return has("POWER") ? CpuVendor::power : CpuVendor::intel;
}

NcclChoice nccl_choice(const NcclShape& shape, Bytes size, std::optional<Algorithm> demanded) {
  assert(shape.version != NcclVersion::none && shape.ranks >= 2 && shape.channels >= 1);
  assert(!demanded || *demanded == Algorithm::ring || *demanded == Algorithm::tree);
  if (shape.is_rccl) return rccl_choice(shape, size, demanded);
  if (shape.version == NcclVersion::v2_4) return choice_of_2_4(shape, size, demanded);
  std::optional<Seconds> least;
  NcclChoice best{.algorithm = demanded.value_or(Algorithm::ring), .protocol = Protocol::simple};
  for (const Algorithm algorithm : {Algorithm::tree, Algorithm::ring, Algorithm::nvls}) {
    if (demanded && *demanded != algorithm) continue;
    for (const Protocol protocol : {Protocol::ll, Protocol::ll128, Protocol::simple}) {
      const NcclChoice choice{.algorithm = algorithm, .protocol = protocol};
      const std::optional<Seconds> time = nccl_time(shape, choice, size);
      if (!time || (least && *time >= *least)) continue;
      least = time;
      best = choice;
    }
  }
  return best;
}

Protocol nccl_message_protocol(NcclVersion version, Bytes message, int channels) {
  if (version < NcclVersion::v2_27) return Protocol::simple;
  constexpr Bytes most{16.0 * 1024};
  const int counted = ll_counts_channels(version) ? channels : 1;
  return message <= most * counted ? Protocol::ll : Protocol::simple;
}

bool ll_counts_channels(NcclVersion version) {
  return version == NcclVersion::v2_27 || version == NcclVersion::v2_28;
}

Bytes nccl_least_part(NcclVersion version, Protocol protocol) {
  const bool is_smaller = protocol == Protocol::ll && ll_counts_channels(version);
  return Bytes{is_smaller ? 8.0 * 1024 : 64.0 * 1024};
}

NcclChannels nccl_channels(NcclVersion version, int rings, PathType path, int compute_capability, int nodes) {
  constexpr Bandwidth xgmi{48e9};
  if (path == PathType::xgmi) return {rings, xgmi};
  const bool is_old = version < NcclVersion::v2_12;
  if (is_nvlink(path) && nodes == 1 && version >= NcclVersion::v2_27 && compute_capability >= 90)
    return searched_channels(rings, compute_capability);
  const auto lane = [&]() -> double {
    if (compute_capability < 70) return 18;
    if (compute_capability >= 100) return 40;
    if (compute_capability >= 90) return 20;
    return is_old ? 21 : version == NcclVersion::v2_12 ? 22 : 20;
  };
  if (is_nvlink(path)) {
    const int copies = is_old && nodes == 1 ? 2 : 1;
    return {rings * copies, Bandwidth{lane() / copies * 1e9}};
  }
  // Intel CPUs split GPU-to-GPU traffic through them into small packets.
  const double through_cpu = is_old ? 9.0 / 12 : 5.0 / 6;
  const double socket = version >= NcclVersion::v2_27 ? 10 : 9;
  const double pcie = 12;
  double rate = pcie;
  if (path == PathType::phb || path == PathType::staged) rate = pcie * through_cpu;
  if (path == PathType::sys) rate = socket * through_cpu;
  return {rings, Bandwidth{rate * 1e9}};
}

}  // namespace trainyard
