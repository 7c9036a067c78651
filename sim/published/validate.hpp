#pragma once
// `trainyard validate` for collectives: compares published rows with the predictions of everything the
// simulator ships, without fitting to these rows. Training: validation.hpp.

#include "accuracy/collective_error.hpp"
#include "collectives/protocols.hpp"
#include "config/catalogue.hpp"
#include "experiment/collective_errors.hpp"
#include "published/collective_curves.hpp"
#include "published/curve_errors.hpp"

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace trainyard {

struct ScoredPoint {
  CurvePoint point;
  double predicted = 0;  ///< seconds, or bytes per second, as measured
  double error = 0;      ///< error of the time: predicted / measured - 1; for a bandwidth the inverse ratio
  std::string algorithm, protocol;
};

struct ScoredCurve {
  CollectiveCurve curve;
  CurveFamily family{};
  int compute_capability = 0;  ///< of the platform's GPUs
  std::vector<ScoredPoint> points;
  std::optional<double> large, small;  ///< mean absolute error from 1 MiB on, and below
};

/// Errors of several curves; sizes half an octave apart or more have equal weights (curve_errors.hpp).
struct ErrorSummary {
  int rows = 0, curves = 0;
  std::optional<double> mape;         ///< mean over curves of each curve's mean
  std::optional<double> worst;        ///< the worst curve's mean
  std::optional<double> median, p90;  ///< over points
};

struct SplitSummary {
  ErrorSummary all, large, small;
};

struct CollectiveValidation {
  std::vector<ScoredCurve> curves;
  std::map<std::string, int> excluded;  ///< rows by reason
  std::map<CurveFamily, int> missed;    ///< rows that lower coverage (CollectiveCurves::missed)
  int scored = 0;                       ///< rows
  /// The errors from which `collective` takes its intervals; null where none are installed.
  std::shared_ptr<const CollectiveErrors> shipped_errors = {};
};

/// The curves and their errors, and the widening of their intervals.
CollectiveErrors collective_errors(const CollectiveValidation& validation);

CurveSubject subject_of(const ScoredCurve& curve);

/// How many points of scored curves lie in the interval that `collective` prints, each curve counting alike,
/// and in the one without its series.
struct PointCoverage {
  int curves = 0;
  double covered = 0, half_width = 0;  ///< the latter is a median over curves
  double held_out_covered = 0, held_out_half_width = 0;
};

/// Coverage of one family, or of all. Empty if no errors are shipped or no curve has such sizes.
std::optional<PointCoverage> point_coverage(const CollectiveValidation& validation, SizeRange range,
                                            std::optional<CurveFamily> family = {});

/// The number of the curve's series in the shipped errors; nothing if it is not among them.
std::optional<int> shipped_series_of(const CollectiveErrors& shipped, const ScoredCurve& curve);

/// Predicts every curve. `excluded` counts curves that their platform cannot run.
CollectiveValidation validate_collectives(const config::Catalogue& catalogue, const CollectiveCurves& curves,
                                          const Protocols& constants);

/// Scored rows relative to those that should be scored: complete measurements of collectives, counting
/// in-place and out-of-place figures of one measurement once. Empty if the family, or the whole set, has no
/// rows.
std::optional<double> coverage_of(const CollectiveValidation& validation,
                                  std::optional<CurveFamily> family = {});

/// Curves with a larger mean error are named with the suspected cause.
inline constexpr double far_off = 0.2;

/// The larger of the curve's two mean errors, as a ratio.
double worst_mean(const ScoredCurve& curve);

/// Whether constants may have been fitted to the curve: its rows have the split calibrate.
bool is_fitted(const CollectiveCurve& curve);

/// Whether reports name the curve: it is far off, or always named by a rule.
bool is_named(const ScoredCurve& curve);

/// Summary of one family, or of all; `unseen`: only curves that no fit may use (split other than calibrate).
SplitSummary summary_of(const CollectiveValidation& validation, std::optional<CurveFamily> family = {},
                        bool unseen = false);

}  // namespace trainyard
