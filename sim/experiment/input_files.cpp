#include "experiment/input_files.hpp"

#include "config/read_file.hpp"

#include <fmt/format.h>

namespace trainyard {

const config::Document& load_once(InputFiles& files, const std::filesystem::path& path) {
  files.paths.insert(path.string());
  return files.documents.get(path.string(), nullptr, [&](auto*) { return config::load(path); });
}

std::filesystem::path find_once(InputFiles& files, const config::Catalogue& catalogue, config::Kind kind,
                                const std::string& name, const std::filesystem::path& relative_to) {
  const std::string key = fmt::format("{}\n{}\n{}", config::word_of(kind), name,
                                      config::is_path(name) ? relative_to.string() : std::string());
  return files.found.get(key, [&] { return config::find(catalogue, kind, name, relative_to); });
}

}  // namespace trainyard
