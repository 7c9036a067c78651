#pragma once
// Published figures of a sweep beside those predicted: cells for its table and its page, CSV and JSON.

#include "document/document.hpp"
#include "sweep/published_comparison.hpp"

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <utility>

namespace trainyard {

/// Whether a difference is in points of a percentage: the figure is a share, or relative to another point.
bool is_in_percent(const PublishedComparison& comparison);

/// "step time", "step time, relative to ranks=8".
std::string published_figure_in_words(const SweepResult& result, const PublishedComparison& comparison);

/// A value of the comparison's figure in its unit: "12.5 ms"; "112.0 %" if it is relative to another point.
std::string published_value(double value, const PublishedComparison& comparison);

/// "-3.1 points", "+2.4 %"; "-" without a prediction.
std::string published_difference(const PublishedComparison& comparison);

/// "-9 to +6 %", "-4 to +3 points": the expected error of the prediction; "-" where it is unknown.
std::string published_expected_error(const PublishedComparison& comparison);

/// Where the table has the keys of its points: on a narrow page behind the figure.
enum class PublishedKeys { in_columns, behind_figure };

/// Figures, the keys that identify their points, predictions with their expected errors and differences; and
/// the sources as notes:
/// "[1]".
std::pair<doc::Table, doc::List> published_table(const SweepResult& result, PublishedKeys place);

/// published.csv: for each published figure its point, the point it is relative to, figure, prediction and
/// the ends of its expected interval, published value, differences (absolute, relative) and source; empty if
/// there is none.
std::string published_csv(const SweepResult& result);

/// [{point, relative_to, figure, predicted, predicted_low, predicted_high, published, difference,
/// relative_difference, source}]; all but the published are null where the point failed, and the interval
/// where the error is unknown.
nlohmann::ordered_json published_json(const SweepResult& result);

}  // namespace trainyard
