#include "experiment/overrides.hpp"

#include "config/write.hpp"

#include <algorithm>
#include <fmt/format.h>

namespace trainyard {

std::string_view file_named_by(std::string_view path) {
  constexpr std::string_view files[] = {"platform", "gpu", "processor", "model", "stack"};
  const std::string_view first = path.substr(0, path.find('.'));
  if (first.size() == path.size()) return {};
  const auto* const file = std::ranges::find(files, first);
  return file == std::ranges::end(files) ? std::string_view() : *file;
}

FileOverrides file_overrides(const config::Document& document, const Experiment& experiment,
                             const Overrides& command_line) {
  FileOverrides all;
  for (const auto& [key, value] : experiment.set) {
    const config::Node& node = document.nearest(config::join("set", key));
    all[key] = {value, config::diagnostic_at(document, node.mark, config::width_of(document, node))};
  }
  for (const auto& [key, value] : command_line) {
    if (!file_named_by(key).empty()) all[key] = {value, std::nullopt};
  }
  return all;
}

config::Document load_with(InputFiles& files, const std::filesystem::path& path, std::string_view kind,
                           const FileOverrides& overrides) {
  config::Document document = load_once(files, path);
  for (const auto& [key, item] : overrides) {
    if (file_named_by(key) != kind) continue;
    config::set(document, key.substr(kind.size() + 1), item.value, key.substr(0, kind.size() + 1),
                item.written_at ? &*item.written_at : nullptr);
  }
  return document;
}

std::string reading_of(const std::filesystem::path& path, std::string_view kind,
                       const FileOverrides& overrides) {
  std::string reading = path.string();
  for (const auto& [key, item] : overrides) {
    if (file_named_by(key) == kind) reading += fmt::format("\n{}={}", key, item.value);
  }
  return reading;
}

}  // namespace trainyard
