#include "collectives/rccl_tuning.hpp"

#include "collectives/nccl_steps.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cassert>
#include <cstdint>

namespace trainyard {
namespace {

/// LL and Simple.
struct RcclRow {
  double ll = 0, simple = 0;
  [[nodiscard]] double of(Protocol protocol) const { return protocol == Protocol::ll ? ll : simple; }
};

/// Microseconds, or parts of the rings' bandwidth.
struct RcclFigures {
  RcclRow tree, ring;
  [[nodiscard]] double of(NcclChoice choice) const {
    return (choice.algorithm == Algorithm::tree ? tree : ring).of(choice.protocol);
  }
};

struct RcclTables {
  RcclFigures base, xgmi, pcie, network;       ///< times
  RcclFigures up_to_two_nodes, on_more_nodes;  ///< parts
};

constexpr RcclTables rccl_tables{.base = {{12, 17}, {12, 17}},
                                 .xgmi = {{0.9, 2.3}, {0.8, 2.1}},
                                 .pcie = {{2.2, 5.7}, {2.2, 5.7}},
                                 .network = {{10.5, 25}, {9.5, 320}},
                                 .up_to_two_nodes = {{0.06, 0.11}, {0.08, 1}},
                                 .on_more_nodes = {{0.06, 0.59}, {0.08, 1}}};

// Factors on the bandwidth by powers of two from 64 bytes on; the last stands for all larger sizes.
using RcclFactors = std::array<double, 27>;
constexpr RcclFactors tree_ll_factors{.1, .1, .1, .1, .1, .1, 1,  1,  1,  1,  1,  .6, 1, .9,
                                      1,  1,  .1, .1, .1, .1, .1, .1, .1, .1, .1, .1, .1};
constexpr RcclFactors tree_simple_factors{.1, .1, .1, .1, .1, .1, .1, .1, .1, .1, .1, .1, .1, .1,
                                          .1, .7, 1,  1,  1,  1,  1,  1,  1,  1,  1,  1,  .8};
constexpr RcclFactors ring_ll_factors{.1, .1, .1, .1, .1, .1, .1, .1, .1, .1, .1, 1,  .2, 1,
                                      .4, .4, .1, .2, .2, .1, .1, .1, .1, .1, .1, .1, .1};
constexpr RcclFactors ring_simple_factors{.1, .1, .1, .1, .1, .1, .1, .1, .1, .1, .1, .1, .1, .1,
                                          .1, .1, .1, .1, .1, .1, .1, .1, .1, .8, 1,  1,  1};

double rccl_factor(const NcclShape& shape, NcclChoice choice, Bytes size) {
  const bool is_ll = choice.protocol == Protocol::ll;
  const bool is_tree = choice.algorithm == Algorithm::tree;
  if (!is_tree && shape.nodes == 1) return 1;
  const RcclFactors& factors = is_tree ? (is_ll ? tree_ll_factors : tree_simple_factors)
                                       : (is_ll ? ring_ll_factors : ring_simple_factors);
  const auto units = static_cast<std::uint64_t>(size.si()) / 64;
  const std::size_t power = units == 0 ? 0 : static_cast<std::size_t>(std::bit_width(units) - 1);
  return factors[std::min(power, factors.size() - 1)];
}

/// Microseconds.
double rccl_latency(const NcclShape& shape, NcclChoice choice) {
  const RcclFigures& inside = is_nvlink(shape.worst_inside) ? rccl_tables.xgmi : rccl_tables.pcie;
  const double start = rccl_tables.base.of(choice);
  double step = inside.of(choice);
  const double between = rccl_tables.network.of(choice);
  if (choice.algorithm == Algorithm::tree) {
    const int per_node = shape.ranks / shape.nodes;
    const int levels = std::bit_width(static_cast<unsigned>(shape.nodes)) - 1;
    return start + 2 * ((per_node - 1) * step + levels * between);
  }
  const RingSteps steps = ring_steps(shape);
  if (has_root(shape.operation)) {
    const RcclFigures& all = shape.nodes == 1 ? inside : rccl_tables.network;
    if (shape.same_order) return start + all.of(choice);
    return start + steps.all * (choice.protocol == Protocol::simple ? all.tree.simple : all.ring.ll);
  }
  // the host of a node posts every step between nodes: 2 us on AMD's, 1 us on others
  const double post = (shape.cpu == CpuVendor::amd ? 2 : 1) * (choice.protocol == Protocol::simple ? 3 : 1);
  if (shape.nodes > 1) step = std::max(step, post);
  return start + (steps.all - steps.between) * step + steps.between * between;
}

/// The sizes that the files of MSCCL's programs for eight GPUs name; empty beyond them, and for groups that
/// they do not fit.
std::optional<NcclChoice> all_pairs_choice(const NcclShape& shape, Bytes size) {
  constexpr int gpus = 8;
  constexpr Bytes most_of_ll{512.0 * 1024 - 1};
  constexpr Bytes most{16.0 * 1024 * 1024};
  const bool fits = shape.operation == Operation::all_reduce && shape.nodes == 1 && shape.ranks == gpus &&
                    shape.worst_inside == PathType::xgmi;
  if (!fits || size > most) return std::nullopt;
  return NcclChoice{.algorithm = Algorithm::direct,
                    .protocol = size <= most_of_ll ? Protocol::ll : Protocol::simple};
}

}  // namespace

std::optional<Seconds> rccl_time(const NcclShape& shape, NcclChoice choice, Bytes size) {
  const bool is_tree = choice.algorithm == Algorithm::tree;
  if (choice.algorithm != Algorithm::ring && !is_tree) return std::nullopt;
  if (choice.protocol == Protocol::ll128) return std::nullopt;
  const bool has_trees =
      shape.operation == Operation::all_reduce && (choice.protocol != Protocol::simple || shape.nodes > 1);
  if (is_tree && !has_trees) return std::nullopt;
  const Bandwidth channel = shape.nodes <= 2 ? shape.inside : shape.between;
  const double part = (shape.nodes <= 2 ? rccl_tables.up_to_two_nodes : rccl_tables.on_more_nodes).of(choice);
  double bandwidth = shape.channels * channel.si() / gb_per_s * part;
  if (is_tree) {
    bandwidth /= 2;
  } else {
    // LL of all GPUs of a node carries more where data has one direction
    constexpr double one_way = 1.65;
    if (choice.protocol == Protocol::ll && has_root(shape.operation) && shape.nodes == 1)
      bandwidth *= one_way;
    bandwidth *= static_cast<double>(shape.ranks) / ring_steps(shape).all;
  }
  bandwidth *= rccl_factor(shape, choice, size);
  return Seconds{rccl_latency(shape, choice) * us} + size / Bandwidth{bandwidth * gb_per_s};
}

NcclChoice rccl_choice(const NcclShape& shape, Bytes size, std::optional<Algorithm> demanded) {
  assert(shape.ranks >= 2 && shape.channels >= 1);
  if (!demanded) {
    if (const auto choice = all_pairs_choice(shape, size)) return *choice;
  }
  std::optional<Seconds> least;
  NcclChoice best{.algorithm = demanded.value_or(Algorithm::ring), .protocol = Protocol::simple};
  for (const Algorithm algorithm : {Algorithm::tree, Algorithm::ring}) {
    if (demanded && *demanded != algorithm) continue;
    for (const Protocol protocol : {Protocol::ll, Protocol::simple}) {
      const NcclChoice choice{.algorithm = algorithm, .protocol = protocol};
      const std::optional<Seconds> time = rccl_time(shape, choice, size);
      if (!time || (least && *time >= *least)) continue;
      least = time;
      best = choice;
    }
  }
  return best;
}

}  // namespace trainyard
