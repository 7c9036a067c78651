#pragma once
// Rows that no experiment could be made of, scored by linear scaling alone: a row's series and its figure are
// enough for that, whatever the machine, the model and the software.

#include "published/predict_series.hpp"
#include "published/published_rows.hpp"
#include "published/training_rows.hpp"

#include <array>
#include <optional>
#include <vector>

namespace trainyard {

/// |linear / measured - 1| of scaling what a protocol fits to, by FitProtocol; nothing where the series has
/// no such row.
using LinearErrors = std::array<std::optional<double>, protocol_count>;

/// `rows`, and after them `lookup`, are where a series' rows on one GPU and on one full node are sought. Of
/// several the geometric mean counts.
std::vector<LinearErrors> linear_errors(const std::vector<const PublishedRow*>& targets,
                                        const std::vector<PublishedRow>& rows,
                                        const std::vector<PublishedRow>& lookup, const SeriesWords& words);

}  // namespace trainyard
