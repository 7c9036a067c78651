#include "sweep/goal_figures.hpp"

#include "config/suggest.hpp"
#include "run/figures.hpp"
#include "sweep/point_pattern.hpp"
#include "units/text.hpp"
#include "units/trimmed.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <vector>

namespace trainyard {

std::optional<WrongText> wrong_figure(const std::string& name) {
  const std::vector<std::string> known = sweep_columns(everything);
  if (std::ranges::find(known, name) != known.end()) return std::nullopt;
  const std::string meant = config::did_you_mean(name, known);
  return WrongText{fmt::format("'{}' is not a figure of sweeps", name),
                   meant.empty() ? "a column of sweep.csv, such as throughput_samples_per_s" : meant};
}

std::optional<WrongText> wrong_bound(const std::string& figure, std::string_view condition) {
  if (auto wrong = wrong_figure(figure)) return wrong;
  const std::string_view text = trimmed(condition);
  const std::size_t start = text.find_first_not_of("<>=");
  const std::string_view sign = text.substr(0, start);
  const bool is_bound = sign == "<" || sign == "<=" || sign == ">" || sign == ">=";
  if (is_bound && start != std::string_view::npos && parse_number(trimmed(text.substr(start))))
    return std::nullopt;
  return WrongText{fmt::format("'{}' is no bound of {}", condition, figure),
                   "\"<= 0.9\" or \">= 0.8\": a number in the unit of the figure's name, shares from 0 to 1"};
}

std::pair<std::string, std::string> figure_and_bound(std::string_view text) {
  const std::size_t sign = std::min(text.find_first_of("<>="), text.size());
  return {std::string(trimmed(text.substr(0, sign))), std::string(trimmed(text.substr(sign)))};
}

bool keeps_to_bounds(const SweepResult& result, const SweepRow& row) {
  return std::ranges::all_of(result.sweep.goal.figures, [&](const auto& bound) {
    const std::optional<double> value = figure_if_stored(result, row, bound.first);
    return value && meets(bound.second, shortest(*value));
  });
}

std::vector<std::string> unknown_bounds(const SweepResult& result) {
  std::vector<std::string> unknown;
  for (const auto& [figure, condition] : result.sweep.goal.figures) {
    const auto is_known = [&](const SweepRow& row) {
      return figure_if_stored(result, row, figure).has_value();
    };
    if (std::ranges::none_of(result.rows, is_known)) unknown.push_back(figure);
  }
  return unknown;
}

}  // namespace trainyard
