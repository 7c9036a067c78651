#pragma once
// Goals of a sweep that are bounds of figures: "cpu_utilization <= 0.9" for the best points.

#include "sweep/sweep_file.hpp"
#include "sweep/sweep_result.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace trainyard {

/// The fault of a text, and the text to write instead.
struct WrongText {
  std::string message, hint;
};

/// The error in the name of a figure: nothing if sweep.csv has such a column.
std::optional<WrongText> wrong_figure(const std::string& name);

/// The error in a bound of a figure, its name or the condition "<= 0.9"; nothing if there is none.
std::optional<WrongText> wrong_bound(const std::string& figure, std::string_view condition);

/// The figure and the condition of "cpu_utilization <= 0.9"; the condition is empty if there is no sign.
std::pair<std::string, std::string> figure_and_bound(std::string_view text);

/// Whether the figures of a row are within all bounds of the goal; an unknown figure is not.
bool keeps_to_bounds(const SweepResult& result, const SweepRow& row);

/// Figures with a bound that are unknown at every point: those of hosts without real data, for example.
std::vector<std::string> unknown_bounds(const SweepResult& result);

}  // namespace trainyard
