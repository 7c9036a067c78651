#pragma once
// Limits on the changes of figures from the first run of a comparison to the others: `compare --fail-above`.

#include "explain/comparison.hpp"

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace trainyard {

/// A figure, and by what share of A's value it may be worse.
struct ChangeLimit {
  std::string_view name;   ///< "memory"
  std::string_view field;  ///< of the figure
  bool is_worse_if_lower = false;
  double most = 0;
};

/// The names of these figures: "step, memory, ...".
std::string names_of_limits();

/// The texts of --fail-above: PERCENT (of the step time) or NAME=PERCENT, each name once. Throws
/// CLI::ValidationError.
std::vector<ChangeLimit> read_limits(const std::vector<std::string>& texts);

/// Throws LimitMissed, which names every limit that a run misses. A figure that a run lacks misses its limit.
void check_limits(std::span<const Comparison> comparisons, const std::vector<ChangeLimit>& limits);

}  // namespace trainyard
