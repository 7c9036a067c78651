#include "commands/fail_above.hpp"

#include "cli/values.hpp"
#include "commands/commands.hpp"
#include "commands/figure_names.hpp"
#include "config/suggest.hpp"
#include "report/figure_text.hpp"
#include "units/text_layout.hpp"
#include "units/trimmed.hpp"

#include <CLI/Error.hpp>
#include <algorithm>
#include <fmt/format.h>
#include <limits>

namespace trainyard {
namespace {

constexpr const char* fail_above = "--fail-above";

ChangeLimit limit_named(const std::string& name) {
  std::vector<std::string_view> names;
  for (const ShortName& known : short_names) {
    if (is_name_of(name, known.field))
      return {.name = known.name, .field = known.field, .is_worse_if_lower = known.is_worse_if_lower};
    names.push_back(known.name);
  }
  throw CLI::ValidationError(fail_above,
                             fmt::format("'{}' has no limit; {}", name, config::suggest(name, names)));
}

/// The share by which the figure is worse than A's; nothing if a run lacks it.
std::optional<double> worse_by(const ComparedFigure& figure, bool is_worse_if_lower) {
  if (!figure.a || !figure.b) return std::nullopt;
  const double worse = is_worse_if_lower ? *figure.a - *figure.b : *figure.b - *figure.a;
  if (*figure.a != 0) return worse / *figure.a;
  return worse > 0 ? std::numeric_limits<double>::infinity() : 0;
}

/// What is wrong; empty if the limit is met.
std::string problem_of(const Comparison& comparison, const ChangeLimit& limit) {
  const auto is_its = [&](const ComparedFigure& one) { return one.figure->field == limit.field; };
  const auto found = std::ranges::find_if(comparison.figures, is_its);
  const bool is_known = found != comparison.figures.end();
  const std::optional<double> worse = is_known ? worse_by(*found, limit.is_worse_if_lower) : std::nullopt;
  if (!worse) {
    const bool has_a = is_known && found->a;
    return fmt::format("{} cannot be compared: {} has no {}", limit.name, has_a ? comparison.letter : "A",
                       limit.field);
  }
  if (*worse <= limit.most) return {};
  const FigureUnit unit = found->figure->unit;
  if (*found->a == 0)
    return fmt::format("{}'s {} is {}, A's is 0, above the limit of {}", comparison.letter,
                       found->figure->label, in_unit(*found->b, unit), percent(limit.most));
  return fmt::format("{}'s {} is {} {} than A's ({}, was {}), above the limit of {}", comparison.letter,
                     found->figure->label, percent(*worse), limit.is_worse_if_lower ? "lower" : "higher",
                     in_unit(*found->b, unit), in_unit(*found->a, unit), percent(limit.most));
}

}  // namespace

std::string names_of_limits() {
  std::string names;
  for (const ShortName& known : short_names)
    names += fmt::format("{}{}", names.empty() ? "" : ", ", known.name);
  return names;
}

std::vector<ChangeLimit> read_limits(const std::vector<std::string>& texts) {
  std::vector<ChangeLimit> limits;
  for (const std::string& text : texts) {
    const std::size_t equals = text.find('=');
    const bool has_name = equals != std::string::npos;
    ChangeLimit limit = limit_named(has_name ? std::string(trimmed(text.substr(0, equals))) : "step");
    std::string number(trimmed(has_name ? text.substr(equals + 1) : text));
    if (number.ends_with('%')) number.pop_back();
    limit.most = percentage(fail_above, std::string(trimmed(number)));
    if (std::ranges::find(limits, limit.name, &ChangeLimit::name) != limits.end())
      throw CLI::ValidationError(fail_above, fmt::format("limits {} twice", limit.name));
    limits.push_back(limit);
  }
  return limits;
}

void check_limits(std::span<const Comparison> comparisons, const std::vector<ChangeLimit>& limits) {
  std::string problems;
  for (const Comparison& comparison : comparisons) {
    for (const ChangeLimit& limit : limits) {
      const std::string problem = problem_of(comparison, limit);
      if (!problem.empty()) problems += (problems.empty() ? "" : "\n  ") + problem;
    }
  }
  if (!problems.empty()) throw LimitMissed(problems);
}

}  // namespace trainyard
