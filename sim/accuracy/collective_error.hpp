#pragma once
// The expected error of a collective's prediction, from the published curves most like it, as
// expected_error.hpp has it for runs: bandwidths measured / predicted - 1, for sizes from 1 MiB up and for
// smaller ones. `trainyard validate --errors` writes the table (workloads/published/errors/collectives.csv).

#include "units/known.hpp"
#include "units/quantity.hpp"

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace trainyard {

/// The properties that decide how alike two curves are.
struct CurveSubject {
  std::string operation = {};  ///< "all_reduce"
  std::string platform = {};
  std::string links = {};      ///< family of curves: "nvlink", "pcie", "several_nodes"
  int compute_capability = 0;  ///< of the GPUs; those of one tens' digit are a generation
  int gpus = 1, nodes = 1;
  friend bool operator==(const CurveSubject&, const CurveSubject&) = default;
};

/// One size of a published curve.
struct CollectivePoint {
  Bytes size;
  double ratio = 0;  ///< measured / predicted bandwidth
};

struct PublishedCurve {
  CurveSubject of = {};
  int series = 0;           ///< curves of one source, platform and operation have the same number
  bool is_fitted = false;   ///< the protocols' constants are fitted to it
  std::string place = {};   ///< of its first row: "nccl.csv:12"
  std::string source = {};  ///< who measured it
  std::vector<CollectivePoint> points = {};
};

/// Sizes from 1 MiB up, and below.
enum class SizeRange { large, small };
inline constexpr std::array size_ranges{SizeRange::large, SizeRange::small};

SizeRange range_of(Bytes size);

struct CollectiveErrors {
  /// By range: the factor on the local intervals with which 80 % of all points, each curve counting alike,
  /// lie in theirs, given by the other series.
  std::array<double, 2> widening = {1, 1};
  std::vector<PublishedCurve> curves = {};

  [[nodiscard]] double widening_of(SizeRange range) const {
    return widening[static_cast<std::size_t>(range)];
  }
};

struct CollectiveError {
  double low = 0, high = 0;  ///< of measured / predicted bandwidth - 1
  int curves = 0;            ///< number of curves it comes from
  int fitted = 0;            ///< and of those among them that constants are fitted to
  PublishedCurve nearest = {};
};

/// Errors of the larger and of the smaller sizes.
struct CollectiveErrorsBySize {
  std::optional<CollectiveError> large = {}, small = {};
};

/// 0 for the same use; another generation, operation or kind of links count the most.
double distance(const CurveSubject& a, const CurveSubject& b);

/// `without_series`: a series that is left out. Nothing if fewer curves have such sizes than an interval
/// needs.
std::optional<CollectiveError> collective_error(const CollectiveErrors& errors, const CurveSubject& of,
                                                SizeRange range,
                                                std::optional<int> without_series = std::nullopt);

/// Whether measured / predicted - 1 lies in the interval.
bool covers(const CollectiveError& interval, double error);

/// Sets both widenings.
void fit_widenings(CollectiveErrors& errors);

/// Throws InputError with every problem found.
CollectiveErrors read_collective_errors(const std::string& name, std::string_view text);

/// The errors as text: a line for each point.
std::string collective_errors_text(const CollectiveErrors& errors);

}  // namespace trainyard
