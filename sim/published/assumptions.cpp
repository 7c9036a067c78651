#include "published/assumptions.hpp"

#include "config/assumed_values.hpp"
#include "published/scores.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <set>
#include <string_view>
#include <utility>

namespace trainyard {
namespace {

/// A file that runs use: its kind and its name.
using File = std::pair<config::Kind, std::string>;

std::vector<File> files_of(const config::Catalogue& catalogue, const Case& run) {
  const std::string& platform = run.machine->platform;
  std::string gpu;
  const auto own = run.machine->set.find("node.gpus.profile");
  if (own != run.machine->set.end()) {
    gpu = own->second;
  } else {
    const config::Document document = config::load(config::find(catalogue, config::Kind::platform, platform));
    gpu = document.nearest("node.gpus.profile").scalar;
  }
  return {{config::Kind::platform, platform},
          {config::Kind::gpu, gpu},
          {config::Kind::stack, run.stack->stack},
          {config::Kind::model, run.model->model}};
}

/// The runs that use an assumption.
Validation runs_with(const Assumption& assumption, const Validation& validation,
                     const std::map<const ScoredCase*, std::vector<File>>& files) {
  std::set<File> changed;
  for (const FileChange& place : assumption.places) changed.emplace(place.kind, place.name);
  Validation part{.kind = validation.kind, .data = validation.data};
  for (const ScoredCase& scored : validation.cases) {
    const auto is_in = [&](const File& file) { return changed.contains(file); };
    if (std::ranges::any_of(files.at(&scored), is_in))
      part.cases.push_back(scored);  // families stay where they are
  }
  return part;
}

}  // namespace

std::vector<Assumption> assumptions_of(const config::Catalogue& catalogue, const Validation& validation) {
  std::set<File> files;
  for (const ScoredCase& scored : validation.cases) {
    for (File& file : files_of(catalogue, scored.of)) files.insert(std::move(file));
  }
  std::map<std::string, Assumption> found;  // by reason
  for (const auto& [kind, name] : files) {
    const config::Document document = config::load(config::find(catalogue, kind, name));
    for (config::AssumedValue& value : config::assumed_values(document.root)) {
      Assumption& assumption = found[value.reason];
      assumption.reason = std::move(value.reason);
      assumption.places.push_back({kind, name, std::move(value.path), std::move(value.value)});
    }
  }
  std::vector<Assumption> assumptions;
  for (auto& [reason, assumption] : found) assumptions.push_back(std::move(assumption));
  return assumptions;
}

std::vector<AssumptionEffect> assumption_effects(const config::Catalogue& catalogue,
                                                 const Validation& validation, int parallel, Fit fit,
                                                 const PredictionOptions& as_predicted) {
  // rows to fit to may be any of the validation
  PublishedData of_part = *validation.data;
  of_part.lookup.insert(of_part.lookup.begin(), of_part.rows.begin(), of_part.rows.end());
  std::map<const ScoredCase*, std::vector<File>> files;
  for (const ScoredCase& scored : validation.cases) files[&scored] = files_of(catalogue, scored.of);
  std::vector<AssumptionEffect> effects;
  for (Assumption& assumption : assumptions_of(catalogue, validation)) {
    const Validation part = runs_with(assumption, validation, files);
    const CaseErrors as_it_is = errors_of(part, fit, {.leave_out_implausible = false});
    if (as_it_is.rows == 0) continue;
    of_part.rows.clear();
    for (const ScoredCase& scored : part.cases) of_part.rows.push_back(*scored.of.row);
    const auto data = std::make_shared<const PublishedData>(of_part);
    const auto with = [&](double factor) {
      PredictionOptions options = as_predicted;
      options.fits = {fit};
      for (FileChange place : assumption.places) {
        place.value = *config::scaled_text(place.value, factor);
        options.changes.push_back(std::move(place));
      }
      return errors_of(validate_rows(catalogue, RowKind::training, data, parallel, options), fit,
                       {.leave_out_implausible = false});
    };
    const auto same_rows = [&](const CaseErrors& errors) {
      return errors.rows == as_it_is.rows ? errors.mape : std::optional<double>();
    };
    AssumptionEffect effect{.assumption = {},
                            .rows = as_it_is.rows,
                            .less = same_rows(with(0.7)),
                            .as_it_is = as_it_is.mape,
                            .more = same_rows(with(1.3))};
    effect.assumption = std::move(assumption);  // moved only after its last use
    effects.push_back(std::move(effect));
  }
  const auto weight = [](const AssumptionEffect& effect) {
    const auto change = [&](const std::optional<double>& other) {
      return other ? std::abs(*other - *effect.as_it_is) : 0.0;
    };
    return effect.rows * std::max(change(effect.less), change(effect.more));
  };
  std::ranges::stable_sort(effects, std::ranges::greater{}, weight);
  return effects;
}

}  // namespace trainyard
