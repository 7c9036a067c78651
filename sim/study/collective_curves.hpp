#pragma once
// Published collectives: rows about one operation on one machine gathered into curves over size, each with
// the platform and software that the rules say it ran on. What is left out is counted with its reason.

#include "collectives/operation.hpp"
#include "study/machine_rules.hpp"
#include "study/published_rows.hpp"

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace trainyard {

/// What a row gives: the time at one size, or the bus bandwidth at the last of several sizes, the largest or
/// the mean of theirs.
enum class CollectiveFigure { time, last_busbw, peak_busbw, mean_busbw };

struct CurvePoint {
  const PublishedRow* row = nullptr;
  CollectiveFigure figure{};
  std::vector<Bytes> sizes;  ///< at least one, ascending
  double measured = 0;       ///< seconds, or bytes per second

  /// The largest of its sizes.
  [[nodiscard]] Bytes size() const { return sizes.back(); }
};

struct CollectiveCurve {
  std::string name;  ///< "8x A100-SXM4, all_reduce (source)"
  Operation operation{};
  const MachineRule* machine = nullptr;
  NcclVersion nccl{};
  bool demands_ring = false;  ///< the row says that trees were off
  int nodes = 1, gpus_per_node = 1, gpus = 1;
  int gpus_per_process = 1;
  std::string split;
  std::vector<CurvePoint> points;  ///< by size
};

struct CollectiveCurves {
  std::vector<CollectiveCurve> curves;
  std::map<std::string, int> excluded;  ///< rows by reason
};

/// Sorts rows into curves. Keeps pointers to both arguments.
CollectiveCurves collective_curves(const std::vector<PublishedRow>& rows, const MachineRules& rules);

}  // namespace trainyard
