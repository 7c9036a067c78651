#pragma once
// Selects the measured products that stay with a profile: op_time compares every product of a run with all of
// its type, so a table of many thousands would cost more time than it saves error.

#include "compute/kernel_table.hpp"

#include <cstddef>
#include <vector>

namespace trainyard {

/// At most this many products of each type stay by default: more than the 864 that a measurement of one's own
/// GPU has (measurement_plan.hpp).
inline constexpr std::size_t most_kept_products = 1000;

/// At most `keep` products of each type, spread evenly over the powers of two of their sizes: the first of
/// the table, then again and again the one farthest from all those chosen, in the distance that op_time uses
/// (nearest.hpp). Products that are stored differently do not correct one another, so each way of storing
/// starts with one of its own. In the order of `products`. Deterministic: of equally far ones the first.
std::vector<GemmKernel> spread(const std::vector<GemmKernel>& products, std::size_t keep);

}  // namespace trainyard
