#include "sweep/sweep_file.hpp"

#include "config/read.hpp"
#include "sweep/goal_figures.hpp"
#include "sweep/point_pattern.hpp"
#include "sweep/published_points.hpp"
#include "sweep/sweep.hpp"
#include "sweep/value_range.hpp"
#include "units/plural.hpp"
#include "units/text.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <map>
#include <set>
#include <utility>

namespace trainyard {
namespace {

using config::join;

/// Reports lists that are empty, texts that look like ranges but are not and groups without a name. The
/// number of values of each list; 0 if it is wrong.
std::vector<std::size_t> check_lists(const KeyValues& lists, const std::string& path,
                                     config::Problems& problems) {
  std::vector<std::size_t> counts;
  for (const auto& [key, texts] : lists) {
    const std::string at = join(path, key);
    std::size_t count = 0;
    bool is_right = !texts.empty();
    if (texts.empty()) problems.error(at, "the list is empty", "at least one value");
    for (std::size_t i = 0; i < texts.size(); ++i) {
      if (key == group_key && texts[i].empty())
        problems.error(join(at, i), "the group has no name", "a name, such as small");
      try {
        count += values_of_range(texts[i]).size();
      } catch (const InputError& error) {
        const Diagnostic& first = error.diagnostics().front();
        problems.error(join(at, i), first.message, first.hint);
        is_right = false;
      }
    }
    counts.push_back(is_right ? count : 0);
  }
  return counts;
}

/// The values of a list, with those of ranges; none if a range is wrong, which check_lists() reports.
std::vector<std::string> values_listed(const std::vector<std::string>& texts) {
  try {
    return with_ranges(texts);
  } catch (const InputError&) {
    return {};
  }
}

/// Lists of an entry of zip.
void check_zip(const KeyValues& lists, const std::string& path, config::Problems& problems) {
  if (lists.empty()) problems.error(path, "the entry has no key", "{platform: [dgx2, ac922], gpus: [16, 8]}");
  if (lists.size() == 1 && lists.front().first == group_key) problems.error(path, group_alone, group_hint);
  const std::vector<std::size_t> counts = check_lists(lists, path, problems);
  for (std::size_t i = 1; i < counts.size(); ++i) {
    if (counts[i] == counts[0] || counts[i] == 0 || counts[0] == 0) continue;
    problems.error(join(path, lists[i].first),
                   fmt::format("{} has {}, but {} has {}", lists[i].first,
                               plural(static_cast<long long>(counts[i]), "value"), lists[0].first, counts[0]),
                   "lists under zip need equal lengths");
  }
}

/// The values of each key that is varied. Empty for a key that is set, which the command line may vary, and
/// for a list that is wrong.
using ValuesOfKeys = std::map<std::string, std::vector<std::string>>;

/// A condition that names values, of which the key has none: then the pattern selects no point. Bounds
/// ("> 64") may lie outside the values, so that lists can change without them.
void check_named_values(const std::string& at, const std::string& condition,
                        const std::vector<std::string>& values, config::Problems& problems) {
  const auto is_met = [&](const std::string& value) { return meets(condition, value); };
  if (values.empty() || is_bound(condition) || std::ranges::any_of(values, is_met)) return;
  problems.error(at, fmt::format("no point has {}", in_quotes(condition)),
                 fmt::format("{}", fmt::join(values, ", ")));
}

void check_pattern(const PointPattern& pattern, const std::string& path, const ValuesOfKeys& keys,
                   config::Problems& problems) {
  for (const auto& [key, condition] : pattern) {
    const std::string at = join(path, key);
    const auto values = keys.find(key);
    if (values == keys.end()) {
      problems.error(at, fmt::format("{} is neither varied nor set", key), "a key of vary, zip or set");
    } else if (const std::string wrong = wrong_condition(condition); !wrong.empty()) {
      problems.error(at, wrong, "\"fp32 | amp\" or \"<= 64\"");
    } else {
      check_named_values(at, condition, values->second, problems);
    }
  }
}

void check_patterns(const std::vector<PointPattern>& patterns, const std::string& path,
                    const ValuesOfKeys& keys, config::Problems& problems) {
  for (std::size_t i = 0; i < patterns.size(); ++i) check_pattern(patterns[i], join(path, i), keys, problems);
}

/// Keys of the patterns first: a point cannot be looked for by others.
void check_published(const SweepFile& file, const ValuesOfKeys& keys, config::Problems& problems) {
  ValuesOfKeys names;  // check_published_points() looks for the values
  for (const auto& [key, values] : keys) names[key];
  const auto is_known = [&](const auto& condition) { return keys.contains(condition.first); };
  bool are_known = true;
  const auto check = [&](const PointPattern& pattern, const std::string& at) {
    check_pattern(pattern, at, names, problems);
    are_known = are_known && std::ranges::all_of(pattern, is_known);
  };
  for (std::size_t i = 0; i < file.published.size(); ++i) {
    const PublishedFigure& group = file.published[i];
    const std::string at = join("published", i);
    check(group.relative_to, join(at, "relative_to"));
    if (group.rows.empty()) problems.error(join(at, "rows"), "the list is empty", "at least one value");
    for (std::size_t k = 0; k < group.rows.size(); ++k)
      check(group.rows[k].at, join(join(join(at, "rows"), k), "at"));
  }
  if (are_known) check_published_points(file, problems);
}

void check_report(const ReportTables& report, const SweepFile& file, config::Problems& problems) {
  std::set<std::string> known;
  for (const auto& [name, key] : {std::pair("section", &report.section), std::pair("rows", &report.rows),
                                  std::pair("columns", &report.columns)}) {
    const std::string at = join("report", name);
    if (!is_varied(file, *key))
      problems.error(at, fmt::format("{} is not varied", *key), "a key of vary or zip");
    else if (!known.insert(*key).second)
      problems.error(at, fmt::format("{} stands here twice", *key), "three different keys");
  }
  for (const auto& [name, figures] :
       {std::pair("compared", &report.compared), std::pair("figures", &report.figures)}) {
    for (std::size_t i = 0; i < figures->size(); ++i)
      check_sweep_figure((*figures)[i], join(join("report", name), i), problems);
  }
}

void validate(const SweepFile& file, config::Problems& problems) {
  check_lists(file.vary, "vary", problems);
  for (std::size_t i = 0; i < file.zip.size(); ++i) check_zip(file.zip[i], join("zip", i), problems);
  ValuesOfKeys keys;
  const auto add = [&](const std::string& key, const std::vector<std::string>& values,
                       const std::string& at) {
    if (!keys.emplace(key, values).second) problems.error(at, fmt::format("{} is set or varied twice", key));
  };
  const auto add_alone = [&](const std::string& key, const std::vector<std::string>& values,
                             const std::string& at) {
    add(key, values, at);
    if (key == group_key) problems.error(at, group_alone, group_hint);
  };
  for (const auto& [key, value] : file.set) add_alone(key, {}, join("set", key));
  for (const auto& [key, texts] : file.vary) add_alone(key, values_listed(texts), join("vary", key));
  for (std::size_t i = 0; i < file.zip.size(); ++i) {
    for (const auto& [key, texts] : file.zip[i]) add(key, values_listed(texts), join(join("zip", i), key));
  }
  if (file.report) check_report(*file.report, file, problems);
  if (file.goal.epochs && file.goal.target)
    problems.error("goal.target", "'target' is in place of 'epochs'", "keep one of them");
  for (const auto& [figure, condition] : file.goal.figures) {
    if (const auto wrong = wrong_bound(figure, condition))
      problems.error(join("goal.figures", figure), wrong->message, wrong->hint);
  }
  check_patterns(file.only, "only", keys, problems);
  check_patterns(file.exclude, "exclude", keys, problems);
  for (std::size_t i = 0; i < file.left_out.size(); ++i)
    check_pattern(file.left_out[i].at, join(join("left_out", i), "at"), keys, problems);
  check_published(file, keys, problems);
}

}  // namespace

bool is_varied(const SweepFile& file, const std::string& key) {
  const auto has = [&](const KeyValues& lists) {
    return std::ranges::find(lists, key, &KeyValues::value_type::first) != lists.end();
  };
  return has(file.vary) || std::ranges::any_of(file.zip, has);
}

SweepFile load_sweep(const config::Document& document) { return config::read<SweepFile>(document, validate); }

}  // namespace trainyard
