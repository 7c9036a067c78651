#pragma once
// Published collectives: rows about one operation on one machine gathered into curves over size, each with
// the platform and software that the rules assign to it. Omitted rows are counted by reason.

#include "collectives/algorithm.hpp"
#include "collectives/operation.hpp"
#include "collectives/protocol_overheads.hpp"
#include "published/published_rows.hpp"

#include <compare>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace trainyard {

/// The figure that a row reports: the time at one size, or the bus bandwidth at the last of several sizes,
/// their largest or their mean.
enum class CollectiveFigure { time, last_busbw, peak_busbw, mean_busbw };

struct CurvePoint {
  const PublishedRow* row = nullptr;
  CollectiveFigure figure{};
  std::vector<Bytes> sizes;  ///< at least one, ascending
  double measured = 0;       ///< seconds, or bytes per second

  /// The largest of its sizes.
  [[nodiscard]] Bytes size() const { return sizes.back(); }
};

/// The properties of rows that identify their curve. Rows that differ in any of them belong to different
/// curves.
struct CurveKey {
  std::string source, system, gpu, framework, precision, split;
  int gpus_per_node = 1, nodes = 1, gpus = 1;
  const MachineRule* machine = nullptr;  ///< of one list: their order is the same in every run
  Operation operation{};
  bool in_place = false;
  NcclVersion nccl{};
  Algorithm algorithm = Algorithm::automatic;  ///< other than auto: the rows say so
  std::optional<Protocol> protocol;            ///< likewise; none: NCCL's choice
  int gpus_per_process = 1;
  Seconds call = {};  ///< of the framework, in every time

  friend auto operator<=>(const CurveKey&, const CurveKey&) = default;
};

struct CollectiveCurve : CurveKey {
  std::shared_ptr<const PublishedData> data;  ///< holds the rows and the rules
  std::string name;  ///< "8 A100-SXM4, all_reduce: source", plus a property that distinguishes it from others
                     ///< of that name
  const OutlierRule* outlier = nullptr;  ///< the suspected cause if the error is large; null: none
  std::vector<CurvePoint> points;        ///< by size
};

struct CollectiveCurves {
  std::vector<CollectiveCurve> curves;
  std::map<std::string, int> excluded;  ///< rows by reason
  /// Excluded rows that lower coverage: complete measurements of a collective (column clean) that are not
  /// scored under another place of the result.
  std::vector<PublishedRow> missed;
};

/// Sorts the data's rows into curves.
CollectiveCurves collective_curves(const std::shared_ptr<const PublishedData>& data);

}  // namespace trainyard
