#include "config/catalogue.hpp"

#include "config/diagnostic.hpp"
#include "config/file_paths.hpp"
#include "config/suggest.hpp"
#include "units/text.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <fmt/format.h>
#include <system_error>

namespace trainyard::config {

namespace fs = std::filesystem;

namespace {

constexpr std::string_view extension = ".yaml";

struct KindTexts {
  Kind kind;
  std::string_view word;
  std::string_view folder;
};

const KindTexts& texts_of(Kind kind) {
  static constexpr std::array<KindTexts, 11> all{{
      {Kind::platform, "platform", "platforms"},
      {Kind::gpu, "GPU profile", "platforms/gpus"},
      {Kind::processor, "processor profile", "platforms/processors"},
      {Kind::protocols, "protocol constants", "platforms/protocols"},
      {Kind::machines, "machine rules", "workloads/published/machines"},
      {Kind::model, "model", "workloads/models"},
      {Kind::stack, "stack", "workloads/stacks"},
      {Kind::software, "software", "workloads/software"},
      {Kind::experiment, "experiment", "workloads/experiments"},
      {Kind::sweep, "sweep", "workloads/sweeps"},
      {Kind::runs, "run rules", "workloads/published/runs"},
  }};
  return *std::ranges::find(all, kind, &KindTexts::kind);
}

bool is_root(const fs::path& folder) {
  std::error_code ignored;
  return fs::is_directory(folder / "platforms", ignored) && fs::is_directory(folder / "workloads", ignored);
}

bool is_file(const fs::path& path) {
  std::error_code ignored;
  return fs::exists(path, ignored) && !fs::is_directory(path, ignored);
}

/// "minsky is a platform: --platform minsky"; empty if the name is of no kind that an experiment names.
std::string named_elsewhere(const Catalogue& catalogue, Kind kind, std::string_view name) {
  if (kind != Kind::experiment && kind != Kind::sweep) return {};
  for (const Kind other : {Kind::platform, Kind::model, Kind::stack}) {
    const std::vector<std::string> its = names(catalogue, other);
    if (std::ranges::find(its, name) == its.end()) continue;
    return fmt::format("{0} is a {1}: {2}", name, word_of(other),
                       other == Kind::platform ? fmt::format("--platform {} --model resnet50", name)
                       : other == Kind::model
                           ? fmt::format("--model {} --platform dgx2", name)
                           : fmt::format("--stack {} --model resnet50 --platform dgx2", name));
  }
  return {};
}

/// Names for an error message: not more than a screen has room for.
std::string listed(Kind kind, const std::vector<std::string>& known) {
  constexpr std::size_t most = 12;
  if (known.size() <= most) return fmt::format("known: {}", fmt::join(known, ", "));
  return fmt::format("'trainyard list' shows all {} names of kind {}", known.size(), word_of(kind));
}

/// A suggestion, and the other names that begin like the word: "did you mean 'resnet18'? also: resnet34,
/// resnet50".
std::string with_namesakes(std::string suggestion, std::string_view word,
                           const std::vector<std::string>& known) {
  constexpr std::size_t most = 12;
  std::vector<std::string> others;
  for (const std::string& name : known) {
    const bool is_suggested = suggestion.find("'" + name + "'") != std::string::npos;
    if (!word.empty() && name.starts_with(word) && !is_suggested) others.push_back(name);
  }
  if (others.empty() || others.size() > most) return suggestion;
  return fmt::format("{}{}{}", suggestion,
                     suggestion.empty() ? "names that begin so: " : " also: ", fmt::join(others, ", "));
}

[[noreturn]] void unknown_name(const Catalogue& catalogue, Kind kind, std::string_view name) {
  const std::vector<std::string> known = names(catalogue, kind);
  const std::string local = std::string(name) + std::string(extension);
  std::string hint = named_elsewhere(catalogue, kind, name);
  if (hint.empty()) hint = with_namesakes(did_you_mean(name, known), name, known);
  if (is_file(local)) hint = "to use the file here, write ./" + local;
  if (catalogue.roots.empty())
    hint = "no platforms/ and workloads/ found: set TRAINYARD_DATA to their folder";
  if (!known.empty() && hint.empty()) hint = listed(kind, known);
  throw InputError("unknown " + std::string(word_of(kind)) + " " + in_quotes(name), hint);
}

fs::path find_path(Kind kind, std::string_view text, const fs::path& relative_to) {
  fs::path path(text);
  if (!relative_to.empty() && path.is_relative()) {
    const fs::path beside = relative_to.parent_path() / path;
    if (is_file(beside)) return beside.lexically_normal();
  }
  if (is_file(path)) return path;
  const std::string hint =
      text.find('/') == std::string_view::npos ? "write a shipped file's name without .yaml" : "";
  throw InputError("no " + std::string(word_of(kind)) + " file " + in_quotes(text), hint);
}

}  // namespace

bool is_path(std::string_view name_or_path) {
  return name_or_path.find('/') != std::string_view::npos || name_or_path.ends_with(extension);
}

std::string_view word_of(Kind kind) { return texts_of(kind).word; }

std::string_view folder_of(Kind kind) { return texts_of(kind).folder; }

Catalogue find_catalogue() {
  Catalogue catalogue;
  const char* const data = std::getenv("TRAINYARD_DATA");
  if (data != nullptr && *data != '\0') {
    if (!is_root(data)) {
      throw InputError("TRAINYARD_DATA is " + in_quotes(data) +
                       ", which does not hold platforms/ and workloads/");
    }
    catalogue.roots.emplace_back(data);
  }
  std::error_code error;
  const fs::path program = fs::read_symlink("/proc/self/exe", error);
  if (error) return catalogue;
  const fs::path folder = program.parent_path();
  for (const fs::path& root : {folder.parent_path() / "share/trainyard", folder.parent_path()}) {
    if (is_root(root)) catalogue.roots.push_back(root);
  }
  return catalogue;
}

fs::path shipped_file(const Catalogue& catalogue, std::string_view path) {
  for (const fs::path& root : catalogue.roots) {
    if (is_file(root / path)) return root / path;
  }
  return {};
}

std::vector<std::string> names(const Catalogue& catalogue, Kind kind) {
  std::vector<std::string> result;
  for (const fs::path& root : catalogue.roots) {
    std::error_code ignored;  // a root need not have every folder
    for (const fs::path& file : entries(root / folder_of(kind), ignored)) {
      if (file.extension() == extension && is_file(file)) result.push_back(file.stem().string());
    }
  }
  std::sort(result.begin(), result.end());
  result.erase(std::unique(result.begin(), result.end()), result.end());
  return result;
}

fs::path find(const Catalogue& catalogue, Kind kind, std::string_view name_or_path,
              const fs::path& relative_to) {
  if (is_path(name_or_path)) return find_path(kind, name_or_path, relative_to);
  for (const fs::path& root : catalogue.roots) {
    fs::path file = root / folder_of(kind) / (std::string(name_or_path) + std::string(extension));
    if (!name_or_path.empty() && is_file(file)) return file;
  }
  unknown_name(catalogue, kind, name_or_path);
}

}  // namespace trainyard::config
