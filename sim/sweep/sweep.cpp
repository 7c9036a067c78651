#include "sweep/sweep.hpp"

#include "config/catalogue.hpp"
#include "sweep/point_pattern.hpp"
#include "sweep/published_points.hpp"
#include "sweep/value_range.hpp"
#include "units/plural.hpp"
#include "units/text.hpp"

#include <algorithm>
#include <filesystem>
#include <fmt/format.h>

namespace trainyard {
namespace {

constexpr std::size_t most_points = 1'000'000;
constexpr std::size_t most_keys = 1000;  // each is a column of the store, and SQLite has 2,000 of them

/// Keys that change together.
struct SweepAxis {
  KeyValues keys;
  [[nodiscard]] std::size_t size() const { return keys.front().second.size(); }
};

std::vector<SweepAxis> axes_of(const SweepFile& file) {
  std::vector<SweepAxis> axes;
  for (const auto& [key, texts] : file.vary) axes.push_back({{{key, with_ranges(texts)}}});
  for (const KeyValues& lists : file.zip) {
    SweepAxis axis;
    for (const auto& [key, texts] : lists) axis.keys.emplace_back(key, with_ranges(texts));
    axes.push_back(std::move(axis));
  }
  return axes;
}

void check_axes(const std::vector<SweepAxis>& axes, const std::vector<std::string>& keys) {
  if (keys.size() > most_keys)
    throw InputError(fmt::format("the sweep varies {} keys", keys.size()),
                     fmt::format("at most {}; several sweeps, or experiments of their own", most_keys));
  for (std::size_t i = 0; i < keys.size(); ++i) {
    if (std::ranges::count(keys, keys[i]) > 1) throw InputError(fmt::format("{} is varied twice", keys[i]));
  }
  for (const SweepAxis& axis : axes) {
    if (axis.keys.size() == 1 && axis.keys.front().first == group_key)
      throw InputError(group_alone, group_hint);
    for (const auto& [key, values] : axis.keys) {
      if (values.empty()) throw InputError(fmt::format("{} has no values", key));
      if (values.size() == axis.size()) continue;
      throw InputError(fmt::format("{} has {}, but {} has {}", key, plural(std::ssize(values), "value"),
                                   axis.keys.front().first, axis.size()),
                       "lists under zip need equal lengths");
    }
  }
  std::size_t points = 1;
  for (const SweepAxis& axis : axes) {
    points *= axis.size();
    if (points > most_points)
      throw InputError(fmt::format("the sweep has more than {} points", most_points),
                       "fewer values, or several sweeps");
  }
}

/// The values of a point of the full product; the last axis changes fastest.
PointValues values_at(const std::vector<SweepAxis>& axes, std::size_t index) {
  std::vector<std::size_t> chosen(axes.size());
  for (std::size_t i = axes.size(); i-- > 0;) {
    chosen[i] = index % axes[i].size();
    index /= axes[i].size();
  }
  PointValues values;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    for (const auto& [key, texts] : axes[i].keys) values.push_back(texts[chosen[i]]);
  }
  return values;
}

/// `only` and `exclude` of a file.
bool is_chosen(const SweepFile& file, const Sweep& sweep, const PointValues& values) {
  const auto is_met = [&](const PointPattern& pattern) {
    return meets(pattern, [&](const std::string& key) { return value_at(sweep, values, key); });
  };
  if (!file.only.empty() && std::ranges::none_of(file.only, is_met)) return false;
  return std::ranges::none_of(file.exclude, is_met);
}

/// The first entry that the point matches; null without one.
const LeftOutPattern* left_out_by(const SweepFile& file, const Sweep& sweep, const PointValues& values) {
  const auto found = std::ranges::find_if(file.left_out, [&](const LeftOutPattern& one) {
    return meets(one.at, [&](const std::string& key) { return value_at(sweep, values, key); });
  });
  return found == file.left_out.end() ? nullptr : &*found;
}

}  // namespace

SweepFile with_overrides(SweepFile file, const SweepOverrides& overrides) {
  const auto replaces = [](KeyValues& lists, const std::string& key, const std::vector<std::string>& texts) {
    const auto found = std::ranges::find(lists, key, &KeyValues::value_type::first);
    if (found == lists.end()) return false;
    found->second = texts;
    return true;
  };
  bool has_other_settings = false;
  for (const auto& [key, texts] : overrides) {
    const auto in_list = [&](KeyValues& lists) { return replaces(lists, key, texts); };
    if (in_list(file.vary) || std::ranges::any_of(file.zip, in_list)) continue;
    has_other_settings = true;
    if (key == "experiment" && texts.size() == 1) {
      file.experiment = texts.front();
    } else if (with_ranges(texts).size() == 1) {
      file.set[key] = texts.front();
    } else {
      file.set.erase(key);
      file.vary.emplace_back(key, texts);
    }
  }
  if (has_other_settings) file.published.clear();  // they are of the file's settings
  if (!overrides.empty() && !file.published.empty()) keep_published_points(file);
  return file;
}

Sweep make_sweep(std::string name, const SweepFile& file) {
  Sweep sweep;
  sweep.name = std::move(name);
  sweep.title = file.title;
  sweep.experiment = file.experiment;
  sweep.set.assign(file.set.begin(), file.set.end());
  sweep.report = file.report;
  sweep.goal = file.goal;
  if (file.set.contains(group_key)) throw InputError(group_alone, group_hint);
  const std::vector<SweepAxis> axes = axes_of(file);
  for (const SweepAxis& axis : axes) {
    for (const auto& [key, values] : axis.keys) {
      sweep.keys.push_back(key);
      sweep.lists.push_back(values);
    }
  }
  check_axes(axes, sweep.keys);
  std::size_t count = 1;
  for (const SweepAxis& axis : axes) count *= axis.size();
  for (std::size_t i = 0; i < count; ++i) {
    PointValues values = values_at(axes, i);
    if (!is_chosen(file, sweep, values)) continue;
    if (const LeftOutPattern* const known = left_out_by(file, sweep, values))
      sweep.left_out.push_back({std::move(values), known->reason});
    else
      sweep.points.push_back(std::move(values));
  }
  if (sweep.points.empty()) {
    std::string hint = "only, exclude and left_out leave out all points";
    for (const auto& [reason, points] : left_out_by_reason(sweep))
      hint += fmt::format("; {}: {}", plural(static_cast<long long>(points), "point"), reason);
    throw InputError("no point of the sweep is left", hint);
  }
  sweep.published = published_points(file, sweep);
  return sweep;
}

std::string_view value_at(const Sweep& sweep, const PointValues& values, std::string_view key) {
  const auto found = std::ranges::find(sweep.keys, key);
  if (found != sweep.keys.end()) return values[static_cast<std::size_t>(found - sweep.keys.begin())];
  const auto set = std::ranges::find(sweep.set, key, &Overrides::value_type::first);
  return set == sweep.set.end() ? std::string_view() : std::string_view(set->second);
}

std::vector<std::pair<std::string, std::size_t>> left_out_by_reason(const Sweep& sweep) {
  std::vector<std::pair<std::string, std::size_t>> reasons;
  for (const LeftOutPoint& point : sweep.left_out) {
    auto known = std::ranges::find(reasons, point.reason, &std::pair<std::string, std::size_t>::first);
    if (known == reasons.end()) known = reasons.insert(known, {point.reason, 0});
    ++known->second;
  }
  return reasons;
}

std::string experiment_name(const Sweep& sweep) {
  if (sweep.experiment == no_file) return "of the command line";
  return config::is_path(sweep.experiment) ? std::filesystem::path(sweep.experiment).stem().string()
                                           : sweep.experiment;
}

bool is_in_shard(std::size_t point, int shard, int shards) {
  return point % static_cast<std::size_t>(shards) == static_cast<std::size_t>(shard - 1);
}

}  // namespace trainyard
