#pragma once
// Scores rows for which no experiment could be made by linear scaling alone, which needs only a row's series
// and figure, whatever the machine, the model and the software.

#include "published/fit.hpp"
#include "published/published_rows.hpp"

#include <array>
#include <optional>
#include <vector>

namespace trainyard {

/// |linear / measured - 1|, where linear scales a fit's reference; nothing if the series has none.
using LinearErrors = ByFit<std::optional<double>>;

/// A series' rows on one GPU and on one full node are looked up in the data's rows, then in its lookup. If
/// there are several, their geometric mean counts.
std::vector<LinearErrors> linear_errors(const std::vector<const PublishedRow*>& targets,
                                        const PublishedData& data);

}  // namespace trainyard
