#include "run/figures.hpp"

#include "config/keys.hpp"
#include "run/figure_groups.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <stdexcept>

namespace trainyard {

namespace figure_groups {
namespace {

std::vector<Figure> all_figures() {
  std::vector<Figure> all;
  for (auto& some : {figures_of_the_job(), figures_of_speed(), figures_of_the_time(), figures_of_use(),
                     figures_of_input_data(), figures_of_many_updates(), figures_of_learning(),
                     figures_of_needs(), figures_of_the_whole_job(), figures_of_the_target(),
                     figures_of_the_time_to_target(), figures_of_fixed_epochs()})
    all.insert(all.end(), some.begin(), some.end());
  return all;
}

}  // namespace
}  // namespace figure_groups

namespace {

constexpr const auto& ranges = config::Names<BatchRange>::table;

bool is_column(const Figure& figure, SweepOf points) {
  const Shown& shown = figure.shown;
  if (shown.is_of_jobs && !points.has_jobs) return false;
  if (shown.is_of_accuracy && !points.has_accuracy) return false;
  const bool is_of_a_goal = shown.is_of_targets || shown.is_of_learning;
  const bool has_goal =
      (shown.is_of_targets && points.has_targets) || (shown.is_of_learning && points.has_learning);
  if (is_of_a_goal && !has_goal) return false;
  return shown.in_sweeps && figure.unit != FigureUnit::text;
}

/// A number, or the place of a name in its table.
double as_number(const FigureValue& value) {
  if (const auto* const name = std::get_if<std::string>(&value))
    return static_cast<double>(std::ranges::find(ranges, *name, &config::Name<BatchRange>::text) -
                               ranges.begin());
  return std::get<double>(value);
}

}  // namespace

std::span<const Figure> figures() {
  static const std::vector<Figure> table = figure_groups::all_figures();
  return table;
}

std::vector<std::string> sweep_columns(SweepOf points, std::span<const Figure> all) {
  std::vector<std::string> fields;
  for (const Figure& figure : all) {
    if (is_column(figure, points)) fields.emplace_back(figure.field);
  }
  return fields;
}

std::vector<std::optional<double>> sweep_row(const Run& run, SweepOf points, std::span<const Figure> all) {
  std::vector<std::optional<double>> row;
  for (const Figure& figure : all) {
    if (!is_column(figure, points)) continue;
    const Known<FigureValue> value = figure.of(run);
    row.push_back(value ? std::optional(as_number(*value)) : std::nullopt);
  }
  return row;
}

std::string_view sweep_name(std::string_view field, double value, std::span<const Figure> all) {
  const auto found = std::ranges::find(all, field, &Figure::field);
  if (found == all.end() || found->unit != FigureUnit::batch_range) return {};
  const auto place = static_cast<std::size_t>(value);
  return value >= 0 && place < ranges.size() ? ranges[place].text : std::string_view();
}

std::map<std::string, std::string> unmodelled(const Run& run, std::span<const Figure> all) {
  std::map<std::string, std::string> reasons;
  for (const Figure& figure : all) {
    const Known<FigureValue> value = figure.of(run);
    if (!value && !value.error().empty()) reasons[std::string(figure.field)] = value.error();
  }
  return reasons;
}

std::vector<std::string> unmodelled_topics(const Run& run, std::span<const Figure> all) {
  const auto reasons = unmodelled(run, all);
  std::vector<std::string> topics;
  for (const auto& [field, reason] : reasons) {
    const std::string topic(all[index_of(field, all)].topic);
    if (!topic.empty() && std::ranges::find(topics, topic) == topics.end()) topics.push_back(topic);
  }
  return topics;
}

std::size_t index_of(std::string_view field, std::span<const Figure> all) {
  const auto found = std::ranges::find(all, field, &Figure::field);
  if (found == all.end()) throw std::out_of_range(fmt::format("no figure {}", field));
  return static_cast<std::size_t>(found - all.begin());
}

}  // namespace trainyard
