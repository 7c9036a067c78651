#include "rules/rule_settings.hpp"

#include "compute/gpu_profile.hpp"
#include "experiment/experiment.hpp"
#include "experiment/resolve.hpp"
#include "platform/load.hpp"
#include "strategy/stack.hpp"
#include "units/text_pattern.hpp"
#include "workload/model_file.hpp"

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace trainyard {
namespace {

/// A valid experiment in which keys can be set.
constexpr std::string_view any_experiment =
    "platform: any\nmodel: any\nstack: any\nprecision: fp32\nbatch_per_gpu: 1\noptimizer: sgd\n";

/// A value with numbers of a row that has 1 of everything but hidden sizes, which must fit other sizes.
std::string with_any_numbers(std::string value) {
  constexpr std::string_view cpus = "{cpus}";
  for (std::size_t place = value.find(cpus); place != std::string::npos; place = value.find(cpus))
    value.replace(place, cpus.size(), "1");
  return with_numbers(std::move(value), [](const std::string& word, const std::string& otherwise) {
    if (word == "hidden") return std::string("6144");
    const bool is_in_text = word.starts_with("model ") || word.starts_with("notes ");
    return is_in_text && !otherwise.empty() ? otherwise : std::string("1");
  });
}

/// The first error of the document; nothing if it can be read.
template <class Read>
std::optional<Diagnostic> problem_of(config::Document document, const RowSettings& set, const Read& read) {
  try {
    for (const auto& [key, value] : set) config::set(document, key, with_any_numbers(value));
    read(document);
  } catch (const InputError& error) {
    return error.diagnostics().front();
  }
  return std::nullopt;
}

/// Reads a file of the kind with the keys set. If there are several names, one that accepts them is enough.
std::optional<Diagnostic> problem_in_files(const config::Catalogue& catalogue, config::Kind kind,
                                           const std::vector<std::string>& names, const RowSettings& set) {
  const auto read = [&](const config::Document& document) {
    if (kind == config::Kind::platform) load_platform(document);
    if (kind == config::Kind::gpu) load_gpu_profile(document);
    if (kind == config::Kind::model) load_model(document);
    if (kind == config::Kind::stack) load_stack(document);
  };
  std::optional<Diagnostic> first;
  for (const std::string& name : names) {
    std::optional<Diagnostic> problem =
        problem_of(config::load(config::find(catalogue, kind, name)), set, read);
    if (!problem) return std::nullopt;
    if (!first) first = std::move(problem);
  }
  return first;
}

}  // namespace

std::string with_numbers(
    std::string text,
    const std::function<std::string(const std::string& word, const std::string& otherwise)>& number_of) {
  static const TextPattern braces(
      "\\{(gpus|nodes|gpus_per_node|servers|layers|hidden|heads|vocabulary|sequence|replica_batch|"
      "model [^{}|]+|notes [^{}|]+)(?:\\|([0-9A-Za-z_]+))?\\}");
  if (text.find('{') == std::string::npos) return text;
  for (auto match = braces.first(text); match; match = braces.first(text)) {
    const std::string& whole = match->front();
    text.replace(text.find(whole), whole.size(), number_of(match->at(1), match->at(2)));
  }
  return text;
}

std::optional<std::filesystem::path> file_of_rule(const config::Catalogue& catalogue, config::Kind kind,
                                                  const std::string& name, const std::string& key,
                                                  config::Problems& problems) {
  if (!problems.readable(key)) return std::nullopt;
  try {
    return config::find(catalogue, kind, name);
  } catch (const InputError& error) {
    const Diagnostic& first = error.diagnostics().front();
    problems.error(key, first.message, first.hint);
    return std::nullopt;
  }
}

void check_settings(const RowSettings& set, const std::string& key_path, const std::string& model,
                    const std::string& stack, const config::Catalogue& catalogue,
                    config::Problems& problems) {
  std::map<std::string_view, RowSettings> by_file;  // keys without the file's word
  for (const auto& [key, value] : set) {
    const std::string_view file = file_named_by(key);
    by_file[file][file.empty() ? key : key.substr(file.size() + 1)] = value;
  }
  for (const auto& [file, settings] : by_file) {
    const auto problem = [&, word = file](const RowSettings& some) -> std::optional<Diagnostic> {
      if (word.empty()) {
        return problem_of(config::parse("experiment", any_experiment), some,
                          [](const config::Document& document) { load_experiment(document); });
      }
      const config::Kind kind = word == "platform" ? config::Kind::platform
                                : word == "gpu"    ? config::Kind::gpu
                                : word == "model"  ? config::Kind::model
                                                   : config::Kind::stack;
      const std::string& own = kind == config::Kind::model   ? model
                               : kind == config::Kind::stack ? stack
                                                             : std::string();
      return problem_in_files(catalogue, kind,
                              own.empty() ? config::names(catalogue, kind) : std::vector{own}, some);
    };
    const std::optional<Diagnostic> together = problem(settings);
    if (!together) continue;
    bool is_reported = false;
    for (const auto& one : settings) {
      const std::optional<Diagnostic> alone = problem({one});
      if (!alone) continue;
      is_reported = true;
      const std::string key = file.empty() ? one.first : std::string(file) + "." + one.first;
      problems.error(config::join(key_path, key), alone->message, alone->hint);
    }
    if (!is_reported) problems.error(key_path, together->message, together->hint);
  }
}

}  // namespace trainyard
