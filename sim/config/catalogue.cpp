#include "config/catalogue.hpp"

#include "config/command_with.hpp"
#include "config/diagnostic.hpp"
#include "config/file_paths.hpp"
#include "config/model_names.hpp"
#include "config/other_names.hpp"
#include "config/same_gpu.hpp"
#include "config/suggest.hpp"
#include "units/text.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <system_error>

namespace trainyard::config {

namespace fs = std::filesystem;

namespace {

constexpr std::string_view extension = ".yaml";

/// Extensions of users' files; JSON is YAML.
constexpr std::array<std::string_view, 7> extensions{extension, ".yml",   ".json",  ".toml",
                                                     ".sh",     ".slurm", ".sbatch"};

struct KindTexts {
  Kind kind;
  std::string_view word;
  std::string_view folder;
};

const KindTexts& texts_of(Kind kind) {
  static constexpr std::array<KindTexts, 12> all{{
      {Kind::platform, "platform", "platforms"},
      {Kind::gpu, "GPU profile", "platforms/gpus"},
      {Kind::processor, "processor profile", "platforms/processors"},
      {Kind::protocols, "protocol constants", "platforms/protocols"},
      {Kind::machines, "machine rules", "workloads/published/machines"},
      {Kind::model, "model", "workloads/models"},
      {Kind::stack, "stack", "workloads/stacks"},
      {Kind::lowering, "lowering", "workloads/lowering"},
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

/// The first names of a list, as many as a line has room for.
std::string first_of(const std::vector<std::string>& all) {
  constexpr std::size_t most = 6;
  const std::size_t shown = std::min(all.size(), most);
  return fmt::format("{}{}", fmt::join(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(shown), ", "),
                     shown < all.size() ? " ..." : "");
}

/// A GPU in place of a platform, or of an experiment, which needs a model too.
std::string platform_of_gpu_in_words(const Catalogue& catalogue, Kind kind, std::string_view text) {
  std::vector<std::string> gpus = names_possible(catalogue, Kind::gpu, text);
  if (const std::string meant = name_meant(catalogue, Kind::gpu, text); !meant.empty()) gpus = {meant};
  if (gpus.empty()) return {};
  std::vector<std::string> platforms;
  for (const std::string& gpu : gpus) {
    for (std::string& name : platforms_with_gpu(catalogue, gpu)) platforms.push_back(std::move(name));
  }
  const std::string_view model = kind == Kind::platform ? "" : " --model resnet50";
  if (platforms.empty())
    return fmt::format(
        "{} is a GPU that no shipped platform has: 'trainyard init platform --gpus 8 --gpu {}' makes one",
        text, gpus.front());
  return fmt::format("{} is a GPU: --platform {}{}{}", text, platforms.front(), model,
                     platforms.size() == 1
                         ? ""
                         : fmt::format(" (also {})", first_of({platforms.begin() + 1, platforms.end()})));
}

/// "minsky is a platform: --platform minsky"; empty if the name is of no other kind that options name.
/// `is_spelt_so`: only names as files have them.
std::string named_elsewhere(const Catalogue& catalogue, Kind kind, std::string_view name, bool is_spelt_so) {
  const bool is_whole = kind == Kind::experiment || kind == Kind::sweep;
  for (const Kind other : {Kind::platform, Kind::model, Kind::stack, Kind::sweep, Kind::experiment}) {
    if (other == kind) continue;
    const std::vector<std::string> known = names(catalogue, other);
    std::string meant(name);
    if (std::ranges::find(known, name) == known.end())
      meant = is_spelt_so ? std::string() : name_meant(catalogue, other, name);
    if (!meant.empty())
      return fmt::format("{} is a {}: {}", name, word_of(other), command_with(other, meant, is_whole));
  }
  if (is_spelt_so || (kind != Kind::platform && !is_whole)) return {};
  return platform_of_gpu_in_words(catalogue, kind, name);
}

/// Names of a GPU or platform that the text may mean: "one of h100_measured, h100_pcie_80gb".
std::string several_possible(const Catalogue& catalogue, Kind kind, std::string_view name) {
  const std::vector<std::string> possible = names_possible(catalogue, kind, name);
  return possible.empty() ? std::string() : "one of " + first_of(possible);
}

/// The reason why an existing path cannot stand for a name: it is a folder. Empty if there is none.
std::string refused_path(std::string_view text) {
  std::error_code ignored;
  if (fs::is_directory(fs::path(text), ignored)) return "it is a folder: write the name of a file in it";
  return {};
}

/// Names for an error message: not more than a screen has room for.
std::string listed(Kind kind, const std::vector<std::string>& known) {
  constexpr std::size_t most = 12;
  if (known.size() <= most) return fmt::format("known: {}", fmt::join(known, ", "));
  if (kind == Kind::gpu)
    return "'trainyard list gpus' shows all; 'trainyard init platform' takes one without a profile by "
           "--gpu-memory and --gpu-peak";
  return fmt::format("'trainyard list' shows all {} names of kind {}", known.size(), word_of(kind));
}

/// A suggestion, and the other names that begin like the word: "did you mean 'resnet18'? also: resnet34,
/// resnet50".
std::string with_namesakes(std::string suggestion, std::string_view word,
                           const std::vector<std::string>& known) {
  constexpr std::size_t most = 12;
  std::vector<std::string> namesakes;
  for (const std::string& name : known) {
    const bool is_suggested = suggestion.find("'" + name + "'") != std::string::npos;
    if (!word.empty() && name.starts_with(word) && !is_suggested) namesakes.push_back(name);
  }
  if (namesakes.empty() || namesakes.size() > most) return suggestion;
  return fmt::format("{}{}{}", suggestion,
                     suggestion.empty() ? "names that begin so: " : " also: ", fmt::join(namesakes, ", "));
}

[[noreturn]] void unknown_name(const Catalogue& catalogue, Kind kind, std::string_view name) {
  const std::vector<std::string> known = names(catalogue, kind);
  const std::string local = std::string(name) + std::string(extension);
  const std::string close = did_you_mean(name, known);
  std::string hint(advice_on(kind, name));
  if (hint.empty()) hint = several_possible(catalogue, kind, name);
  if (hint.empty()) hint = named_elsewhere(catalogue, kind, name, !close.empty() && kind != Kind::platform);
  if (hint.empty()) hint = with_namesakes(close, name, known);
  if (is_file(local)) hint = "to use the file here, write ./" + local;
  if (is_file(fs::path(name))) hint = "to use the file here, write ./" + std::string(name);
  if (catalogue.roots.empty())
    hint = "no platforms/ and workloads/ found: set TRAINYARD_DATA to their folder";
  if (!known.empty() && hint.empty()) hint = listed(kind, known);
  throw InputError("unknown " + std::string(word_of(kind)) + " " + in_quotes(name), hint);
}

bool ends_as_file(std::string_view text) {
  return std::ranges::any_of(extensions, [&](std::string_view with) { return text.ends_with(with); });
}

/// Whether a text without a file has the form of a public repository, "Qwen/Qwen3-8B". With a folder of the
/// first part it is a path that is wrong.
bool is_repository(std::string_view text, const fs::path& relative_to) {
  const std::size_t slash = text.find('/');
  if (slash == 0 || slash != text.rfind('/') || text.starts_with('.') || ends_as_file(text)) return false;
  const fs::path owner(text.substr(0, slash));
  std::error_code ignored;
  return !fs::is_directory(owner, ignored) &&
         (relative_to.empty() || !fs::is_directory(relative_to.parent_path() / owner, ignored));
}

fs::path find_path(const Catalogue& catalogue, Kind kind, std::string_view text,
                   const fs::path& relative_to) {
  fs::path path(text);
  if (!relative_to.empty() && path.is_relative()) {
    const fs::path beside = relative_to.parent_path() / path;
    if (is_file(beside)) return beside.lexically_normal();
  }
  if (is_file(path)) return path;
  std::string hint = refused_path(text);
  const std::string model = kind == Kind::model ? model_meant(catalogue, text) : std::string();
  if (!model.empty()) {
    if (is_repository(text, relative_to)) return find(catalogue, kind, model);
    hint = "the shipped model of this name is " + model;
  }
  if (hint.empty() && text.find('/') == std::string_view::npos)
    hint = "write a shipped file's name without .yaml";
  throw InputError("no " + std::string(word_of(kind)) + " file " + in_quotes(text), hint);
}

}  // namespace

bool is_path(std::string_view name_or_path) {
  return name_or_path.find('/') != std::string_view::npos || ends_as_file(name_or_path);
}

bool is_public_name(std::string_view text, const fs::path& found) {
  return is_path(text) && !ends_as_file(text) && found.extension() == extension;
}

std::string seen_from(const fs::path& out, const std::string& name_or_path) {
  if (!is_path(name_or_path) || fs::path(name_or_path).is_absolute()) return name_or_path;
  const fs::path folder = out.parent_path();
  std::error_code error;
  const fs::path seen = fs::relative(name_or_path, folder.empty() ? fs::path(".") : folder, error);
  return error || seen.empty() ? name_or_path : seen.string();
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
  if (is_path(name_or_path)) return find_path(catalogue, kind, name_or_path, relative_to);
  for (const fs::path& root : catalogue.roots) {
    fs::path file = root / folder_of(kind) / (std::string(name_or_path) + std::string(extension));
    if (!name_or_path.empty() && is_file(file)) return file;
  }
  if (const std::string meant = name_meant(catalogue, kind, name_or_path); !meant.empty())
    return find(catalogue, kind, meant);
  unknown_name(catalogue, kind, name_or_path);
}

}  // namespace trainyard::config
