#pragma once
// An experiment while its files are read: the steps of resolve.cpp fill it in one after the other.

#include "config/catalogue.hpp"
#include "config/document.hpp"
#include "config/file_paths.hpp"
#include "experiment/error_collector.hpp"
#include "experiment/input_files.hpp"
#include "experiment/overrides.hpp"
#include "experiment/resolved_experiment.hpp"

#include <filesystem>
#include <string>
#include <string_view>

namespace trainyard {

struct ExperimentReading {
  const config::Catalogue& catalogue;
  const config::Document& document;
  std::filesystem::path file;  ///< paths in the document are relative to its folder
  InputFiles& files;
  FileOverrides set = {};
  ErrorCollector errors = {};
  ResolvedExperiment resolved = {};

  /// A path is written into the resolved experiment so that it names the same file from any folder.
  std::filesystem::path find(config::Kind kind, std::string& name) {
    const std::filesystem::path found = find_once(files, catalogue, kind, name, file);
    const bool is_file = config::is_path(name) && !config::is_public_name(name, found);
    name = is_file ? config::real_path(found).string() : found.stem().string();
    return found;
  }

  /// A file of a kind that is read once for all experiments with the same overrides.
  template <class Cache, class Load>
  auto read(Cache& cache, const std::filesystem::path& path, std::string_view kind, Load load) {
    return cache.get(reading_of(path, kind, set), &resolved.warnings,
                     [&](auto* warnings) { return load(load_with(files, path, kind, set), warnings); });
  }

  [[nodiscard]] bool is_given(std::string_view key) const {
    const config::Node* const node = document.root.find(key);
    return node != nullptr && !config::is_unset(*node);
  }
};

}  // namespace trainyard
