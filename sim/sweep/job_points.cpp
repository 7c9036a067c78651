#include "sweep/job_points.hpp"

#include "units/text.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <set>
#include <string>
#include <utility>

namespace trainyard {

namespace {

constexpr const char* epochs_key = "job.epochs";

bool is_of(const std::string& part, const std::string& key) {
  return key == part || key.starts_with(part + ".");
}

/// The names of all experiments that points use.
std::set<std::string> experiments_of(const Sweep& sweep) {
  std::set<std::string> names{sweep.experiment};
  for (const auto& [key, value] : sweep.set) {
    if (key == experiment_key) names = {value};
  }
  const auto key = std::ranges::find(sweep.keys, experiment_key);
  if (key == sweep.keys.end()) return names;
  for (const PointValues& values : sweep.points)
    names.insert(values[static_cast<std::size_t>(key - sweep.keys.begin())]);
  names.erase(default_value);
  return names;
}

bool has_part(const config::Catalogue& catalogue, const std::string& experiment, const std::string& part,
              InputFiles& files) {
  try {
    return experiment_document(catalogue, experiment, files).root.find(part) != nullptr;
  } catch (const InputError&) {
    return false;
  } catch (const FileError&) {
    return false;
  }
}

/// Whether points have this part of an experiment: it is set or varied, or stands in a file.
bool have_part(const config::Catalogue& catalogue, const Sweep& sweep, const std::string& part,
               InputFiles& files) {
  const auto sets_it = [&](const auto& entry) { return is_of(part, entry.first); };
  return std::ranges::any_of(sweep.set, sets_it) ||
         std::ranges::any_of(sweep.keys, [&](const std::string& key) { return is_of(part, key); }) ||
         std::ranges::any_of(experiments_of(sweep), [&](const std::string& experiment) {
           return has_part(catalogue, experiment, part, files);
         });
}

}  // namespace

Sweep with_jobs(const config::Catalogue& catalogue, Sweep sweep, InputFiles& files) {
  sweep.is_of_jobs = have_part(catalogue, sweep, "job", files);
  sweep.has_learning = have_part(catalogue, sweep, "learn", files);
  if (!sweep.is_of_jobs || !sweep.goal.epochs) return sweep;
  for (const char* const key : {epochs_key, "job.steps"}) {
    const auto sets_key = [&](const auto& entry) { return entry.first == key; };
    if (std::ranges::none_of(sweep.set, sets_key) && std::ranges::find(sweep.keys, key) == sweep.keys.end())
      continue;
    throw InputError(fmt::format("the epochs of the goal and {} are both given", key),
                     fmt::format("leave out --epochs and goal.epochs, or {}", key));
  }
  sweep.set.emplace_back(epochs_key, shortest(*sweep.goal.epochs));
  return sweep;
}

}  // namespace trainyard
