#include "jobs/job.hpp"

#include <algorithm>
#include <filesystem>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <iterator>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace trainyard::jobs {
namespace {

/// "a, b, c and 4 more".
std::string some_of(const std::set<std::string>& names) {
  constexpr std::size_t most = 4;
  if (names.size() <= most) return fmt::format("{}", fmt::join(names, ", "));
  return fmt::format("{} and {} more", fmt::join(names.begin(), std::next(names.begin(), most - 1), ", "),
                     names.size() - most + 1);
}

}  // namespace

std::string note_on(const ImportedJob& job) {
  std::vector<std::pair<std::string, std::set<std::string>>> effects;
  std::string file;
  for (const Account& entry : job.account) {
    if (entry.fate != Fate::not_modelled) continue;
    if (file.empty()) file = std::filesystem::path(entry.setting.file).filename().string();
    auto found =
        std::ranges::find(effects, entry.text, &std::pair<std::string, std::set<std::string>>::first);
    if (found == effects.end()) found = effects.insert(effects.end(), {entry.text, {}});
    const std::string& key = entry.setting.key;
    found->second.insert(key.substr(key.rfind('.') + 1));
  }
  std::string assumed;
  for (const Assumption& one : job.assumptions)
    assumed +=
        fmt::format("{}{} {}", assumed.empty() ? "assumed, not in the job: " : ", ", one.key, one.value);
  if (effects.empty()) return assumed;
  std::string text;
  for (const auto& [effect, keys] : effects)
    text += fmt::format("{}{} ({})", text.empty() ? "" : "; ", effect, some_of(keys));
  return fmt::format("{}{}not modelled of {}: {}", assumed, assumed.empty() ? "" : "; ", file, text);
}

}  // namespace trainyard::jobs
