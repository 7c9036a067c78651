#include "commands/saved_run.hpp"

#include "config/diagnostic.hpp"
#include "config/read_file.hpp"
#include "report/summary_json.hpp"

#include <algorithm>
#include <cstdint>
#include <fmt/format.h>
#include <system_error>
#include <vector>

namespace trainyard {

namespace fs = std::filesystem;

std::optional<fs::path> summary_file(const config::Catalogue& catalogue, const std::string& text) {
  if (text.ends_with(".json")) return text;
  const std::vector<std::string> shipped = config::names(catalogue, config::Kind::experiment);
  std::error_code ignored;
  if (std::ranges::find(shipped, text) != shipped.end() || !fs::is_directory(text, ignored))
    return std::nullopt;
  const fs::path file = fs::path(text) / "summary.json";
  if (!fs::exists(file, ignored)) {
    throw FileError(fmt::format(
        "the folder '{}' has no summary.json; 'trainyard run EXPERIMENT --out DIR' writes one", text));
  }
  return file;
}

RunSummary read_run(const fs::path& file) {
  constexpr std::uintmax_t largest = std::uintmax_t{64} << 20U;
  const std::string text = config::read_file(file, largest);
  if (text.size() > largest) throw FileError("cannot read '" + file.string() + "': it is larger than 64 MiB");
  return read_summary(file.string(), text);
}

}  // namespace trainyard
