#pragma once
// `trainyard validate`: published rows against what the simulator predicts for them with everything it ships
// and nothing fitted to them here. First part: collectives; training runs are counted as not predicted yet.

#include "collectives/protocols.hpp"
#include "config/catalogue.hpp"
#include "published/collective_curves.hpp"
#include "published/curve_errors.hpp"

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace trainyard {

/// Families of curves whose errors are averaged together.
enum class CurveFamily { nvlink, pcie, several_nodes };

struct ScoredPoint {
  const CurvePoint* point = nullptr;
  double predicted = 0;  ///< seconds, or bytes per second, as measured
  double error = 0;      ///< of the time: predicted / measured - 1; of a bandwidth the inverse
  std::string algorithm, protocol;
};

struct ScoredCurve {
  const CollectiveCurve* curve = nullptr;
  CurveFamily family{};
  std::vector<ScoredPoint> points;
  std::optional<double> large, small;  ///< mean absolute error from 1 MiB on, and below
};

/// Of curves together; sizes half an octave apart or more weigh alike (curve_errors.hpp).
struct ErrorSummary {
  int rows = 0, curves = 0;
  std::optional<double> mape;         ///< mean over curves of their mean
  std::optional<double> worst;        ///< the worst curve's mean
  std::optional<double> median, p90;  ///< over points
};

struct SplitSummary {
  ErrorSummary all, large, small;
};

struct Validation {
  std::vector<ScoredCurve> curves;
  std::map<std::string, int> excluded;  ///< rows by reason
  std::map<CurveFamily, int> missed;    ///< rows that count against coverage (CollectiveCurves::missed)
  int scored = 0;                       ///< rows
};

/// Predicts every curve. Those whose platform cannot run them are counted in `excluded`.
Validation validate_collectives(const config::Catalogue& catalogue, const CollectiveCurves& curves,
                                const Protocols& constants);

/// Rows scored as a ratio of those that should be: clean measurements of collectives, once where a figure in
/// place and one out of place stand side by side. Nothing where there is none of the family, or of any.
std::optional<double> coverage_of(const Validation& validation, std::optional<CurveFamily> family = {});

/// Curves beyond this mean error are named with what is suspected.
inline constexpr double far_off = 0.2;

/// The larger of the curve's two mean errors, as a ratio.
double worst_mean(const ScoredCurve& curve);

/// Whether constants may have been fitted to the curve: its rows have the split calibrate.
bool is_fitted(const CollectiveCurve& curve);

/// Whether reports name the curve: it is far off, or excepted by a rule.
bool is_named(const ScoredCurve& curve);

/// Of one family, or of all; with `unseen` of curves alone that no fit may use (split other than calibrate).
SplitSummary summary_of(const Validation& validation, std::optional<CurveFamily> family = {},
                        bool unseen = false);

}  // namespace trainyard

namespace trainyard::config {

template <>
struct Names<CurveFamily> {
  static constexpr std::string_view what = "family of curves";
  static constexpr std::array table{Name{"nvlink", CurveFamily::nvlink, "one node, all NVLink"},
                                    Name{"pcie", CurveFamily::pcie, "one node, over PCIe"},
                                    Name{"several_nodes", CurveFamily::several_nodes, "several nodes"}};
};

}  // namespace trainyard::config
