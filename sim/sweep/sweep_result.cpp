#include "sweep/sweep_result.hpp"

#include <algorithm>
#include <stdexcept>

namespace trainyard {

std::optional<double> figure(const SweepResult& result, const SweepRow& row, std::string_view name) {
  const auto found = std::ranges::find(result.figures, name);
  if (found == result.figures.end()) throw std::out_of_range("no figure " + std::string(name));
  if (row.status != PointStatus::done) return std::nullopt;
  return row.figures.at(static_cast<std::size_t>(found - result.figures.begin()));
}

bool has_figure(const SweepResult& result, std::string_view name) {
  return std::ranges::find(result.figures, name) != result.figures.end();
}

std::optional<double> figure_if_stored(const SweepResult& result, const SweepRow& row,
                                       std::string_view name) {
  return has_figure(result, name) ? figure(result, row, name) : std::nullopt;
}

std::size_t failures(const SweepResult& result) {
  return static_cast<std::size_t>(std::ranges::count_if(
      result.rows, [](const SweepRow& row) { return row.status != PointStatus::done; }));
}

}  // namespace trainyard
