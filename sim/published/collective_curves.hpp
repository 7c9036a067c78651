#pragma once
// Published collectives: rows about one operation on one machine gathered into curves over size, each with
// the platform and software that the rules say it ran on. What is left out is counted with its reason.

#include "collectives/algorithm.hpp"
#include "collectives/costs.hpp"
#include "collectives/operation.hpp"
#include "published/machine_rules.hpp"
#include "published/published_rows.hpp"

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
  std::string name;  ///< "8 A100-SXM4, all_reduce: source", and what tells it from others of that name
  Operation operation{};
  const MachineRule* machine = nullptr;
  NcclVersion nccl{};
  Algorithm algorithm = Algorithm::automatic;  ///< other than auto: the rows say so
  std::optional<Protocol> protocol;            ///< the same; none: as NCCL chooses
  int nodes = 1, gpus_per_node = 1, gpus = 1;
  int gpus_per_process = 1;
  std::string split;
  const OutlierRule* outlier = nullptr;  ///< what is suspected should it be far off; null: nothing
  std::vector<CurvePoint> points;        ///< by size
};

struct CollectiveCurves {
  std::vector<CollectiveCurve> curves;
  std::map<std::string, int> excluded;  ///< rows by reason
  /// Those of the excluded rows that are measurements of a collective, complete (column clean) and not
  /// scored under another place of the result: what coverage is short of.
  std::vector<const PublishedRow*> missed;
};

/// Sorts rows into curves. Keeps pointers to both arguments.
CollectiveCurves collective_curves(const std::vector<PublishedRow>& rows, const MachineRules& rules);

}  // namespace trainyard
