#pragma once
// Published figures of a finished sweep, compared with predicted ones.

#include "sweep/sweep_result.hpp"

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace trainyard {

/// A published figure and the prediction for the same point. `row` and `reference_row` are indices of the
/// result's rows.
struct PublishedComparison {
  std::size_t row = 0;
  std::optional<std::size_t> reference_row;  ///< the figures are ratios to that of this row
  std::string figure;
  double published = 0;
  std::optional<double> predicted;  ///< nothing if a point failed or its figure is unknown
  /// Measured over predicted figure, less 1, of 80 % of comparable runs; nothing where unknown.
  std::optional<ErrorBounds> expected;
  std::string source;
};

/// The comparisons in the order of the file, without points that have not run.
std::vector<PublishedComparison> published_comparisons(const SweepResult& result);

/// Predicted minus published, in the figure's unit.
std::optional<double> difference(const PublishedComparison& comparison);

/// Predicted over published, minus 1.
std::optional<double> relative_difference(const PublishedComparison& comparison);

/// Whether the published figure lies in the interval in which it was expected.
bool is_as_expected(const PublishedComparison& comparison);

/// A row's figure as the comparison states it: relative to that of the reference, if there is one. Nothing if
/// one of both is unknown.
std::optional<double> figure_like(const SweepResult& result, std::size_t row,
                                  const PublishedComparison& comparison);

/// "ranks=8": the keys in which the reference differs from the row; empty without reference.
std::string reference_in_words(const SweepResult& result, const PublishedComparison& comparison);

}  // namespace trainyard
