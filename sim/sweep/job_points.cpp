#include "sweep/job_points.hpp"

#include "units/text.hpp"
#include "workload/hugging_face.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <set>
#include <string>
#include <string_view>
#include <utility>

namespace trainyard {

namespace {

constexpr const char* epochs_key = "job.epochs";
constexpr const char* steps_key = "job.steps";
constexpr const char* tokens_key = "job.tokens";
constexpr const char* target_key = "job.target";
constexpr const char* model_key = "model";

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

/// Whether the experiment's file has this part, "job", or this key of it.
bool has_part(const config::Catalogue& catalogue, const std::string& experiment, const std::string& part,
              InputFiles& files, std::string_view key = {}) {
  try {
    const config::Node* const node = experiment_document(catalogue, experiment, files).root.find(part);
    return node != nullptr && (key.empty() || node->find(key) != nullptr);
  } catch (const InputError&) {
    return false;
  } catch (const FileError&) {
    return false;
  }
}

bool sets_or_varies(const Sweep& sweep, std::string_view key) {
  return std::ranges::any_of(sweep.set, [&](const auto& entry) { return entry.first == key; }) ||
         std::ranges::find(sweep.keys, key) != sweep.keys.end();
}

bool any_experiment_has(const config::Catalogue& catalogue, const Sweep& sweep, const std::string& part,
                        InputFiles& files, std::string_view key = {}) {
  return std::ranges::any_of(experiments_of(sweep), [&](const std::string& experiment) {
    return has_part(catalogue, experiment, part, files, key);
  });
}

/// Whether points have this part of an experiment: it is set or varied, or stands in a file.
bool have_part(const config::Catalogue& catalogue, const Sweep& sweep, const std::string& part,
               InputFiles& files) {
  const auto sets_it = [&](const auto& entry) { return is_of(part, entry.first); };
  return std::ranges::any_of(sweep.set, sets_it) ||
         std::ranges::any_of(sweep.keys, [&](const std::string& key) { return is_of(part, key); }) ||
         any_experiment_has(catalogue, sweep, part, files);
}

/// The models that points have, by name.
std::set<std::string> models_of(const config::Catalogue& catalogue, const Sweep& sweep, InputFiles& files) {
  std::set<std::string> models;
  const auto at_file = [&](const std::string& experiment) {
    if (!has_part(catalogue, experiment, model_key, files)) return;
    const config::Node* const node = experiment_document(catalogue, experiment, files).root.find(model_key);
    models.insert(node->scalar);
  };
  for (const auto& [key, value] : sweep.set) {
    if (key == model_key) models = {value};
  }
  if (models.empty()) {
    for (const std::string& experiment : experiments_of(sweep)) at_file(experiment);
  }
  const auto key = std::ranges::find(sweep.keys, model_key);
  for (const PointValues& values : sweep.points) {
    if (key == sweep.keys.end()) break;
    models.insert(values[static_cast<std::size_t>(key - sweep.keys.begin())]);
  }
  models.erase(default_value);
  return models;
}

bool any_model_has_fixed_epochs(const config::Catalogue& catalogue, const Sweep& sweep, InputFiles& files) {
  return std::ranges::any_of(models_of(catalogue, sweep, files), [&](const std::string& model) {
    try {
      return load_document(config::find(catalogue, config::Kind::model, model)).root.find("fixed_epochs") !=
             nullptr;
    } catch (const InputError&) {
      return false;
    } catch (const FileError&) {
      return false;
    }
  });
}

}  // namespace

Sweep with_jobs(const config::Catalogue& catalogue, Sweep sweep, InputFiles& files) {
  const Goal& goal = sweep.goal;
  sweep.has_learning = have_part(catalogue, sweep, "learn", files);
  sweep.is_of_jobs = goal.target || have_part(catalogue, sweep, "job", files);
  const bool has_other_length = goal.epochs || sets_or_varies(sweep, epochs_key) ||
                                sets_or_varies(sweep, steps_key) || sets_or_varies(sweep, tokens_key);
  sweep.is_of_targets = goal.target || sets_or_varies(sweep, target_key) ||
                        (!has_other_length && any_experiment_has(catalogue, sweep, "job", files, "target"));
  sweep.has_accuracy =
      sweep.is_of_jobs && !sweep.is_of_targets && any_model_has_fixed_epochs(catalogue, sweep, files);
  if (goal.accuracy_min && !sweep.has_accuracy)
    throw InputError("goal.accuracy_min: no point has an accuracy",
                     "points need a 'job' of a fixed length and a model whose file has 'fixed_epochs'");
  if (!sweep.is_of_jobs || (!goal.epochs && !goal.target)) return sweep;
  const char* const what = goal.target ? "target" : "epochs";
  for (const char* const key : {epochs_key, steps_key, tokens_key, target_key}) {
    if (!sets_or_varies(sweep, key)) continue;
    throw InputError(fmt::format("the {} of the goal and {} are both given", what, key),
                     fmt::format("leave out --{} and goal.{}, or {}", what, what, key));
  }
  if (goal.target)
    sweep.set.emplace_back(target_key, *goal.target);
  else
    sweep.set.emplace_back(epochs_key, shortest(*goal.epochs));
  return sweep;
}

}  // namespace trainyard
