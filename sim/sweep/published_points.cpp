#include "sweep/published_points.hpp"

#include "sweep/goal_figures.hpp"
#include "sweep/point_pattern.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <string>
#include <utility>

namespace trainyard {
namespace {

using config::join;

using PointNumbers = std::vector<std::size_t>;

PointNumbers points_meeting(const Sweep& sweep, const PointPattern& pattern) {
  PointNumbers points;
  for (std::size_t point = 0; point < sweep.points.size(); ++point) {
    const auto value_of = [&](const std::string& key) { return value_at(sweep, sweep.points[point], key); };
    if (meets(pattern, value_of)) points.push_back(point);
  }
  return points;
}

/// Points that meet the pattern and agree with `point` in all keys that it does not name.
PointNumbers references_of(const Sweep& sweep, std::size_t point, const PointPattern& pattern) {
  PointNumbers references = points_meeting(sweep, pattern);
  std::erase_if(references, [&](std::size_t other) {
    for (std::size_t key = 0; key < sweep.keys.size(); ++key) {
      if (!pattern.contains(sweep.keys[key]) && sweep.points[other][key] != sweep.points[point][key])
        return true;
    }
    return false;
  });
  return references;
}

/// "name also precision": the keys in which points differ and that the pattern does not name.
std::string hint_for_several(const Sweep& sweep, const PointNumbers& points, const PointPattern& pattern) {
  std::vector<std::string> keys;
  for (std::size_t key = 0; key < sweep.keys.size(); ++key) {
    const auto is_other = [&](std::size_t point) {
      return sweep.points[point][key] != sweep.points[points.front()][key];
    };
    if (!pattern.contains(sweep.keys[key]) && std::ranges::any_of(points, is_other))
      keys.push_back(sweep.keys[key]);
  }
  return keys.empty() ? "a single value for each key" : fmt::format("name also {}", fmt::join(keys, ", "));
}

/// Reports unless the pattern, at this place of the file, meets exactly one point. Returns whether it does.
bool check_is_one(const Sweep& sweep, const PointNumbers& points, const PointPattern& pattern,
                  const std::string& at, config::Problems& problems) {
  if (points.empty()) {
    problems.error(at, "no point of the sweep matches", "values that the varied keys take together");
  } else if (points.size() > 1) {
    problems.error(at, fmt::format("{} points of the sweep match", points.size()),
                   hint_for_several(sweep, points, pattern));
  }
  return points.size() == 1;
}

void check_group(const Sweep& sweep, const PublishedFigure& group, const std::string& at,
                 config::Problems& problems) {
  for (std::size_t i = 0; i < group.rows.size(); ++i) {
    const std::string at_row = join(join(join(at, "rows"), i), "at");
    const PointPattern& pattern = group.rows[i].at;
    const PointNumbers points = points_meeting(sweep, pattern);
    if (!check_is_one(sweep, points, pattern, at_row, problems) || group.relative_to.empty()) continue;
    const PointNumbers references = references_of(sweep, points.front(), group.relative_to);
    const std::string at_reference = join(at, "relative_to");
    if (references == points) {
      problems.error(at_row, "the point is the one that the value is relative to", "another point");
    } else if (!check_is_one(sweep, references, group.relative_to, at_reference, problems)) {
      return;  // likely the same for all rows
    }
  }
}

std::vector<std::string> keys_of(const PointPattern& pattern) {
  std::vector<std::string> keys;
  for (const auto& [key, condition] : pattern) keys.push_back(key);
  return keys;
}

/// The points at which a value is shown, each with the one it is relative to.
std::vector<std::pair<std::size_t, std::optional<std::size_t>>> places_of(const Sweep& sweep,
                                                                          const PublishedFigure& group,
                                                                          const PublishedValue& row) {
  std::vector<std::pair<std::size_t, std::optional<std::size_t>>> places;
  for (const std::size_t point : points_meeting(sweep, row.at)) {
    if (group.relative_to.empty()) {
      places.emplace_back(point, std::nullopt);
      continue;
    }
    const PointNumbers references = references_of(sweep, point, group.relative_to);
    if (references.size() == 1) places.emplace_back(point, references.front());
  }
  return places;
}

}  // namespace

void check_sweep_figure(const std::string& figure, const std::string& at, config::Problems& problems) {
  if (const auto wrong = wrong_figure(figure)) problems.error(at, wrong->message, wrong->hint);
}

std::vector<PublishedPoint> published_points(const SweepFile& file, const Sweep& sweep) {
  std::vector<PublishedPoint> published;
  for (const PublishedFigure& group : file.published) {
    for (const PublishedValue& row : group.rows) {
      for (const auto& [point, reference] : places_of(sweep, group, row)) {
        published.push_back({.point = point,
                             .reference = reference,
                             .figure = group.figure,
                             .value = row.value,
                             .source = group.source,
                             .keys = keys_of(row.at)});
      }
    }
  }
  return published;
}

void check_published_points(const SweepFile& file, config::Problems& problems) {
  if (file.published.empty()) return;
  for (std::size_t i = 0; i < file.published.size(); ++i)
    check_sweep_figure(file.published[i].figure, join(join("published", i), "figure"), problems);
  Sweep sweep;
  try {
    sweep = make_sweep({}, file);
  } catch (const InputError&) {
    return;  // the errors of the points themselves come first
  }
  for (std::size_t i = 0; i < file.published.size(); ++i)
    check_group(sweep, file.published[i], join("published", i), problems);
}

void keep_published_points(SweepFile& file) {
  const Sweep sweep = make_sweep({}, file);
  for (PublishedFigure& group : file.published)
    std::erase_if(group.rows,
                  [&](const PublishedValue& row) { return places_of(sweep, group, row).size() != 1; });
  std::erase_if(file.published, [](const PublishedFigure& group) { return group.rows.empty(); });
}

}  // namespace trainyard
