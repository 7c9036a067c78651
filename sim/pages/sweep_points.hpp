#pragma once
// The points of a sweep's page, of which the reader chooses axes, colour, filter and order.

#include "document/document.hpp"
#include "sweep/sweep_result.hpp"

#include <cstddef>
#include <optional>
#include <string>

namespace trainyard {

/// Further points are in sweep.csv alone: a page of these has 2.5 MB.
inline constexpr std::size_t most_points_on_page = 5000;

/// The first points with their keys and figures, numbers with six digits. The first view is over the number
/// of GPUs, coloured by `by`, a varied key, if it has few enough values. Figures without values are left out.
doc::Points points_chart(const SweepResult& result, const std::optional<std::string>& by = {});

}  // namespace trainyard
