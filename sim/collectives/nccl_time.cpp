#include "collectives/nccl_search.hpp"
#include "collectives/nccl_steps.hpp"
#include "collectives/nccl_tuning.hpp"
#include "collectives/rccl_tuning.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <span>

namespace trainyard {
namespace {

/// By protocol: LL, LL128, Simple.
using Row = ByProtocol<double>;
/// One node, two nodes, more.
using ByNodes = std::array<double, 3>;
/// By generation of GPU.
using ByGpu = std::array<ByNodes, 4>;

/// Microseconds.
struct Latencies {
  Row tree, ring;
};

struct Tables {
  Latencies base, nvlink, pcie, network;
  std::span<const Row> tree_correction;  ///< factors on a tree's bandwidth, by powers of two from 64 bytes on
};

// Powers of two from 64 bytes on.
constexpr std::array<Row, 22> correction_2_6 = {
    {{1, 1, .9},   {1, 1, .9},   {1, 1, .9},   {1, 1, .9},   {.9, 1, .9},  {.8, .9, .9},
     {.7, .8, .9}, {.7, .8, .8}, {.7, .8, .7}, {.7, .8, .6}, {.6, .7, .6}, {.5, .7, .5},
     {.5, .7, .5}, {.5, .6, .5}, {.6, .6, .5}, {.7, .7, .5}, {.8, .7, .5}, {.9, .8, .6},
     {.9, .8, .6}, {1, .9, .7},  {1, .9, .8},  {1, 1, .9}}};
constexpr std::array<Row, 22> correction_2_7_8 = {
    {{1, 1, .9},   {1, 1, .9},   {1, 1, .9},   {1, 1, .9},   {.9, 1, .9},  {.8, .9, .9},
     {.7, .8, .9}, {.7, .8, .8}, {.7, .8, .7}, {.7, .7, .6}, {.6, .6, .6}, {.5, .6, .5},
     {.4, .6, .5}, {.4, .5, .5}, {.5, .6, .5}, {.6, .6, .5}, {.7, .7, .5}, {.8, .7, .6},
     {.9, .8, .6}, {1, .9, .7},  {1, .9, .8},  {1, 1, .9}}};
constexpr std::array<Row, 23> correction_2_12 = {
    {{1, 1, .9},   {1, 1, .9},   {1, 1, .9},   {1, 1, .9},   {.9, 1, .9},  {.8, .9, .9},
     {.7, .8, .9}, {.7, .8, .8}, {.7, .8, .7}, {.7, .7, .6}, {.6, .6, .6}, {.5, .6, .5},
     {.4, .6, .5}, {.4, .6, .5}, {.5, .6, .5}, {.6, .6, .6}, {.7, .8, .7}, {.8, .9, .8},
     {.9, .9, .7}, {1, .9, .7},  {1, .9, .8},  {1, 1, .9},   {1, 1, .9}}};

constexpr Tables tables_2_6 = {.base = {{4.4, 4.4, 0}, {3.6, 3.6, 8.4}},
                               .nvlink = {{.5, 1.9, 28}, {.4, 2.5, 5.7}},
                               .pcie = {{1, 1.9, 28}, {1, 2.5, 5.7}},
                               .network = {{5, 7.5, 50}, {.9, 2.5, 6.6}},
                               .tree_correction = correction_2_6};
constexpr Tables tables_2_7_8 = {.base = {{4.4, 4.4, 0}, {3.6, 10, 8.4}},
                                 .nvlink = {{.52, 1.2, 28}, {.47, 1.9, 3.4}},
                                 .pcie = {{1, 1.9, 28}, {1, 2.5, 5.7}},
                                 .network = {{5, 8.5, 50}, {2.7, 4, 9.6}},
                                 .tree_correction = correction_2_7_8};
constexpr Tables tables_2_12 = {.base = {{4.4, 4.4, 0}, {3.6, 10, 8.4}},
                                .nvlink = {{.52, 1.25, 28}, {.47, 1.9, 3.4}},
                                .pcie = {{1, 1.9, 28}, {1, 2.5, 5.7}},
                                .network = {{5, 8.5, 28}, {2.7, 4, 28}},
                                .tree_correction = correction_2_12};
constexpr Tables tables_2_30 = {.base = {{6.8, 14, 8.4}, {6.6, 14, 8.4}},
                                .nvlink = {{.6, 1.25, 4}, {.6, 1.9, 3.4}},
                                .pcie = {{1, 1.9, 4}, {1, 2.5, 5.7}},
                                .network = {{5, 8.5, 14}, {2.7, 4, 14}},
                                .tree_correction = correction_2_12};

// GB/s, since 2.12. Rows: Volta and older, Ampere, Hopper, Blackwell; for LL on several nodes: Intel, AMD.
constexpr ByGpu most_ll = {{{39, 39, 20.4}, {87.7, 22.5, 19}, {141, 45, 35}, {282, 90, 70}}};

/// Most of each channel, GB/s.
struct ChannelLimits {
  ByNodes ring_ll128, tree_ll128, tree;
};

/// Up to Hopper, the same since 2.12.
constexpr std::array<ChannelLimits, 3> limits_to_hopper = {
    {{.ring_ll128 = {20, 20, 20}, .tree_ll128 = {20, 20, 20}, .tree = {26.5, 18.5, 10}},
     {.ring_ll128 = {20, 20, 20}, .tree_ll128 = {20, 20, 20}, .tree = {24, 23.6, 17.8}},
     {.ring_ll128 = {36.7, 36.7, 36.7}, .tree_ll128 = {36.7, 36.7, 29}, .tree = {38.7, 41.4, 36}}}};
// On Blackwell. Until 2.27 twice those of Hopper; 2.28.3 still has 73.4 for two nodes.
constexpr ChannelLimits blackwell_2_27 = {
    .ring_ll128 = {73.4, 73.4, 73.4}, .tree_ll128 = {73.4, 73.4, 58}, .tree = {77.4, 82.8, 72}};
constexpr ChannelLimits blackwell_2_28 = {
    .ring_ll128 = {73.4, 34.6, 73.4}, .tree_ll128 = {55.6, 31.67, 20}, .tree = {70, 42.8, 24}};
constexpr ChannelLimits blackwell_2_29 = {
    .ring_ll128 = {34.5, 34.6, 34.5}, .tree_ll128 = {55.6, 31.67, 20}, .tree = {70, 42.8, 24}};
constexpr ChannelLimits blackwell_2_30 = {
    .ring_ll128 = {40, 40, 40}, .tree_ll128 = {55.6, 31.67, 20}, .tree = {70, 42.8, 24}};

const Tables& tables_of(NcclVersion version) {
  if (version == NcclVersion::v2_6) return tables_2_6;
  if (version == NcclVersion::v2_7_8) return tables_2_7_8;
  return version == NcclVersion::v2_12 ? tables_2_12 : tables_2_30;
}

constexpr std::size_t place(Protocol protocol) { return static_cast<std::size_t>(protocol); }

/// Row of the tables for the GPU generation. 2.12 knows Volta and Ampere.
std::size_t generation(const NcclShape& shape) {
  const std::size_t last = shape.version == NcclVersion::v2_12 ? 1 : 3;
  const int capability = shape.compute_capability;
  return std::min<std::size_t>(last, capability >= 100 ? 3 : capability >= 90 ? 2 : capability >= 80 ? 1 : 0);
}

std::size_t nodes_column(const NcclShape& shape) {
  return static_cast<std::size_t>(std::min(shape.nodes, 3) - 1);
}

/// 2.6 knows no A100: nothing is different on it.
bool is_a100(const NcclShape& shape) {
  return shape.compute_capability == 80 && shape.version != NcclVersion::v2_6;
}

/// Before 2.12, no limit depends on the GPU's generation.
bool is_before_2_12(const NcclShape& shape) {
  return shape.version == NcclVersion::v2_6 || shape.version == NcclVersion::v2_7_8;
}

/// The tables of times are the same since 2.23. 2.18 to 2.22 have them here too, though their trees with
/// Simple have the steps of 2.12, and LL lower limits until 2.20: no published row here states them.
bool is_today(const NcclShape& shape) { return shape.version >= NcclVersion::v2_27; }

const ChannelLimits& channel_limits(const NcclShape& shape) {
  const std::size_t row = generation(shape);
  if (row < limits_to_hopper.size()) return limits_to_hopper.at(row);
  switch (shape.version) {
    case NcclVersion::v2_27:
      return blackwell_2_27;
    case NcclVersion::v2_28:
      return blackwell_2_28;
    case NcclVersion::v2_29:
      return blackwell_2_29;
    default:
      return blackwell_2_30;
  }
}

/// Limit of LL: by GPU on one node, by CPU on several.
double most_of_ll(const NcclShape& shape) {
  const std::size_t row = shape.nodes == 1 ? generation(shape) : shape.cpu == CpuVendor::amd ? 1 : 0;
  return most_ll.at(row).at(nodes_column(shape));
}

bool ll128_is_safe(const NcclShape& shape) {
  const bool is_near_nic = shape.nodes == 1 || shape.worst_to_nic <= PathType::pxb;
  if (!is_nvlink(shape.worst_inside) || !is_near_nic) return false;
  if (is_today(shape)) return shape.compute_capability >= 70;
  return shape.compute_capability == 70 || is_a100(shape);
}

/// Bus bandwidth of a ring, GB/s.
double ring_bandwidth(const NcclShape& shape, Protocol protocol) {
  const Bandwidth channel = shape.nodes == 1 ? shape.inside : shape.between;
  const double per_node = static_cast<double>(shape.ranks) / shape.nodes;
  double all = shape.channels * channel.si() / gb_per_s;
  const bool is_old = !is_today(shape);
  if (is_old && is_a100(shape)) all = std::min(all, 235.0);
  if (protocol == Protocol::simple) return all;
  if (protocol == Protocol::ll) {
    const bool adds_up = shape.operation == Operation::all_reduce || shape.operation == Operation::reduce;
    const bool is_quarter = shape.version == NcclVersion::v2_6 || shape.nodes > 1 || adds_up;
    const double part = !is_old ? 1.0 / 2 : is_quarter ? 1.0 / 4 : 1.0 / 3;
    return is_before_2_12(shape) ? all * part : std::min(most_of_ll(shape), all * part);
  }
  // 2.6 limits all channels together, later versions each: 113 GB/s are six of 18.8.
  constexpr double channels_of_2_6 = 6;
  const bool is_2_6 = shape.version == NcclVersion::v2_6;
  const double flags = is_2_6 ? 120.0 / 128 : is_old && per_node < 2 ? 0.7 : 0.92;
  if (!is_before_2_12(shape)) {
    const double most = channel_limits(shape).ring_ll128.at(nodes_column(shape));
    return std::min(all * flags, shape.channels * most);
  }
  const auto most = [&] {
    switch (shape.operation) {
      case Operation::broadcast:
        return 18.8;
      case Operation::reduce:
        return 12.0;
      case Operation::all_gather:
        return 18.3;
      case Operation::reduce_scatter:
        return 15.2;
      default:
        return 16.7;
    }
  }();
  return std::min(all * flags, is_2_6 ? std::round(channels_of_2_6 * most) : shape.channels * most);
}

/// Bus bandwidth of the two trees, GB/s, before the correction by size.
double tree_bandwidth(const NcclShape& shape, Protocol protocol) {
  const Bandwidth channel = shape.nodes <= 2 ? shape.inside : shape.between;
  double all = shape.channels * channel.si() / gb_per_s;
  if (!is_today(shape) && is_a100(shape)) all = std::min(all, 235.0);
  const double in_chain = shape.nodes == 1 ? 7.0 / 9 : 1.0;
  if (shape.version == NcclVersion::v2_6) {
    all = std::min(all * 0.9, shape.nodes > 2 ? 80.0 : 110.0);
    return protocol == Protocol::ll ? all / 3 : protocol == Protocol::ll128 ? all * 7 / 9 : all;
  }
  if (shape.version == NcclVersion::v2_7_8) {
    const bool is_a100_ll128 = is_a100(shape) && protocol == Protocol::ll128;
    const double most = shape.nodes > 2 ? (is_a100_ll128 ? 105 : 80) : (is_a100_ll128 ? 130 : 110);
    all = std::min(all * 0.9, most);
    if (protocol == Protocol::ll) return all / 3.8;
    if (protocol == Protocol::simple) return all;
    return std::min(all * (shape.nodes == 1 ? in_chain : 0.915), 16.7 * shape.channels * 7 / 9);
  }
  const ChannelLimits& limits = channel_limits(shape);
  all = std::min(all * 0.92, shape.channels * limits.tree.at(nodes_column(shape)));
  // Hopper's search falls back to trees that enter and leave a node at one GPU (NCCL_TOPO_PATTERN_TREE), for
  // which ncclTopoTuneModel counts 85 %.
  constexpr double of_one_gpu = 0.85;
  const bool is_simpler = is_today(shape) && shape.nodes > 1 && shape.compute_capability >= 90;
  const double pattern = is_simpler ? of_one_gpu : 1;
  if (protocol == Protocol::ll) return std::min(all / 3.8, most_of_ll(shape)) * pattern;
  if (protocol == Protocol::simple) return all * pattern;
  return std::min(all * (shape.nodes == 1 ? in_chain : 120.0 / 128),
                  shape.channels * limits.tree_ll128.at(nodes_column(shape))) *
         pattern;
}

/// Microseconds.
double ring_latency(const NcclShape& shape, Protocol protocol) {
  const Tables& tables = tables_of(shape.version);
  const std::size_t p = place(protocol);
  const Latencies& inside = is_nvlink(shape.worst_inside) ? tables.nvlink : tables.pcie;
  const RingSteps steps = ring_steps(shape);
  const double base = tables.base.ring[p];
  if (has_root(shape.operation)) {
    const Latencies& all = shape.nodes == 1 ? inside : tables.network;
    if (shape.same_order) return base + all.ring[p];
    return base + steps.all * (protocol == Protocol::simple ? all.tree[p] : all.ring[p]);
  }
  double step = inside.ring[p];
  double between = tables.network.ring[p];
  // 2.6 counts every step as one between nodes if there are several.
  if (shape.version == NcclVersion::v2_6) return base + steps.all * (shape.nodes > 1 ? between : step);
  if (is_today(shape)) {
    if (shape.ranks == shape.nodes) between = tables.network.tree[p];
    const double overhead = (shape.cpu == CpuVendor::amd ? 2 : 1) * (protocol == Protocol::simple ? 3 : 1);
    if (shape.nodes > 1) step = std::max(step, overhead);
  } else if (shape.nodes > 1 && protocol == Protocol::ll) {
    step *= 1.8;
  }
  return base + (steps.all - steps.between) * step + steps.between * between;
}

int floor_log2(std::int64_t number) {
  int log = 0;
  while (number > 1) {
    number /= 2;
    ++log;
  }
  return log;
}

/// Microseconds.
double tree_latency(const NcclShape& shape, Protocol protocol) {
  const Tables& tables = tables_of(shape.version);
  const std::size_t p = place(protocol);
  const bool is_nvlinks = is_nvlink(shape.worst_inside);
  double step = (is_nvlinks ? tables.nvlink : tables.pcie).tree[p];
  const bool is_cheap_on_power = shape.cpu == CpuVendor::power && !is_before_2_12(shape);
  if (!is_nvlinks && protocol == Protocol::simple && is_cheap_on_power) step = tables.pcie.ring[p];
  const bool is_slower = shape.version == NcclVersion::v2_7_8 || shape.version == NcclVersion::v2_12;
  if (shape.nodes > 1 && protocol == Protocol::ll && is_slower) step *= 1.8;
  const int per_node = shape.ranks / shape.nodes;  // rounded down, as in NCCL
  return tables.base.tree[p] + 2 * ((per_node - 1) * step + floor_log2(shape.nodes) * tables.network.tree[p]);
}

/// "Plateau effect of ring", as NCCL calls it.
double plateau(const NcclShape& shape, Bytes size) {
  if (shape.nodes == 1 || shape.operation != Operation::all_reduce) return 1;
  if (shape.version == NcclVersion::v2_6) return 1;
  if (is_today(shape)) {
    if (size.si() < 64.0 * shape.channels * shape.ranks) return 1;
    return shape.compute_capability < 80 ? 1.9 : 1.4;
  }
  return size.si() >= shape.ranks / 16.0 * 65536 ? 1.9 : 1;
}

/// Bytes of an all-reduce by time in NVSwitches that add, GB/s; empty if NCCL would not use them. Every GPU
/// serves all heads and a head also writes, all at one speed: the highest of a list that the links allow.
/// Until 2.27 five sixths of the heads' speed counts. Since 2.28 data that crosses a switch twice counts
/// twice, up to the speed that NCCL finds between nodes: without any nodes to find it in, the first of the
/// list from twice the speed on.
std::optional<double> nvls_bandwidth(const NcclShape& shape) {
  if (!is_today(shape) || shape.compute_capability < 90 || shape.nodes > 1) return std::nullopt;
  const std::span<const double> speeds = searched_speeds(shape.compute_capability);
  const double heads = nvls_heads(shape.ranks);
  const double links = shape.switch_lanes * searched_lane(shape.compute_capability);
  const auto speed = std::ranges::find_if(speeds, [&](double each) { return each * (heads + 1) <= links; });
  if (speed == speeds.end()) return std::nullopt;
  if (shape.version == NcclVersion::v2_27) return heads * *speed * 5 / 6;
  auto most = speed;
  while (most != speeds.begin() && *most < 2 * *speed) --most;
  const double efficiency = is_blackwell(shape.compute_capability) ? 0.74 : 0.85;
  const double bus = std::min(*speed * efficiency * 2 * (heads - 1), *most * heads);
  return bus * shape.ranks / (2 * (shape.ranks - 1));
}

}  // namespace

std::optional<Seconds> nccl_time(const NcclShape& shape, NcclChoice choice, Bytes size) {
  if (shape.is_rccl) return rccl_time(shape, choice, size);
  if (shape.version == NcclVersion::v2_4) return std::nullopt;
  if (choice.algorithm == Algorithm::nvls) {
    constexpr double latency = 25;
    const std::optional<double> bandwidth = nvls_bandwidth(shape);
    const bool is_possible = shape.operation == Operation::all_reduce && choice.protocol == Protocol::simple;
    if (!is_possible || !bandwidth) return std::nullopt;
    return Seconds{latency * us} + size / Bandwidth{*bandwidth * gb_per_s};
  }
  const bool is_tree = choice.algorithm == Algorithm::tree;
  if (is_tree && shape.operation != Operation::all_reduce) return std::nullopt;
  if (choice.protocol == Protocol::ll128 && !ll128_is_safe(shape)) return std::nullopt;
  double bandwidth = 0;
  double latency = 0;
  if (is_tree) {
    const auto& correction = tables_of(shape.version).tree_correction;
    const auto power = static_cast<std::size_t>(floor_log2(static_cast<std::int64_t>(size.si()) / 64));
    bandwidth = tree_bandwidth(shape, choice.protocol) / 2;
    if (power < correction.size()) bandwidth *= correction[power][place(choice.protocol)];
    latency = tree_latency(shape, choice.protocol);
  } else {
    bandwidth = ring_bandwidth(shape, choice.protocol) * shape.ranks / ring_steps(shape).all;
    latency = ring_latency(shape, choice.protocol);
    if (choice.protocol == Protocol::simple) latency *= plateau(shape, size);
  }
  return Seconds{latency * us} + size / Bandwidth{bandwidth * gb_per_s};
}

}  // namespace trainyard
