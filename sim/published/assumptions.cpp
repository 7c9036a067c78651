#include "published/assumptions.hpp"

#include "config/document.hpp"
#include "published/scores.hpp"
#include "units/text.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <set>
#include <string_view>
#include <utility>

namespace trainyard {
namespace {

// Top-level keys of files that do not affect any throughput.
constexpr std::string_view not_about_time[] = {"power",   "price",    "tdp",
                                               "context", "capacity", "fragmentation"};

bool is_about_time(const std::string& path) {
  const std::string all = "." + path + ".";
  return std::ranges::none_of(not_about_time, [&](std::string_view key) {
    return all.find("." + std::string(key) + ".") != std::string::npos;
  });
}

using Found = std::map<std::string, Assumption>;  // by reason

void gather(const config::Node& node, const std::string& path, config::Kind kind, const std::string& name,
            Found& found) {
  const config::Node* value = node.find("value");
  const config::Node* reason = node.find("assumed");
  if (value != nullptr && reason != nullptr && is_about_time(path) && scaled_text(value->scalar, 1)) {
    Assumption& its = found[reason->scalar];
    its.reason = reason->scalar;
    its.places.push_back({kind, name, config::join(path, "value"), value->scalar});
    return;
  }
  for (const config::Node::Entry& entry : node.entries)
    gather(entry.value, path.empty() ? entry.key : config::join(path, entry.key), kind, name, found);
  for (std::size_t i = 0; i < node.items.size(); ++i)
    gather(node.items[i], config::join(path, i), kind, name, found);
}

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
  std::set<File> its;
  for (const FileChange& place : assumption.places) its.emplace(place.kind, place.name);
  Validation part{.kind = validation.kind, .data = validation.data};
  for (const ScoredCase& scored : validation.cases) {
    const auto is_in = [&](const File& file) { return its.contains(file); };
    if (std::ranges::any_of(files.at(&scored), is_in))
      part.cases.push_back(scored);  // families stay where they are
  }
  return part;
}

}  // namespace

std::optional<std::string> scaled_text(const std::string& text, double factor) {
  const std::size_t end = text.find_first_not_of("0123456789.+-eE");
  std::string number = text.substr(0, end);
  // the "e" of an adjacent unit is not part of the number
  while (!number.empty() && (number.back() == 'e' || number.back() == 'E')) number.pop_back();
  const Parsed<double> value = parse_number(number);
  if (value.value_or(0) == 0) return std::nullopt;
  return shortest(*value * factor) + text.substr(number.size());
}

std::vector<Assumption> assumptions_of(const config::Catalogue& catalogue, const Validation& validation) {
  std::set<File> files;
  for (const ScoredCase& scored : validation.cases) {
    for (File& file : files_of(catalogue, scored.of)) files.insert(std::move(file));
  }
  Found found;
  for (const auto& [kind, name] : files)
    gather(config::load(config::find(catalogue, kind, name)).root, {}, kind, name, found);
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
        place.value = *scaled_text(place.value, factor);
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
