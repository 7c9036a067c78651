#pragma once
// What is kept of a finished point, and of one that failed.

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace trainyard {

/// How a point ended: with figures; wrong whatever the hardware (3 for a single run); or valid and not
/// possible on its machine (4).
enum class PointStatus { done, wrong, impossible };

struct SweepRow {
  std::size_t point = 0;
  PointStatus status = PointStatus::done;
  std::string reason;                          ///< of a failure, on one line
  std::vector<std::optional<double>> figures;  ///< of a point that is done, in the order of their names
};

}  // namespace trainyard
