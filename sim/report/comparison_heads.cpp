#include "report/comparison_heads.hpp"

#include "document/page.hpp"
#include "units/text.hpp"
#include "units/text_layout.hpp"

#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <map>
#include <optional>
#include <string_view>

namespace trainyard {
namespace {

/// A key in which at least one run differs from the first, and the values of all runs.
struct KeyOfRuns {
  std::string path;
  std::vector<std::optional<std::string>> values;
};

/// Keys that say most about a run, the others come after them.
constexpr std::array<std::string_view, 9> most_telling{
    "model", "trace",     "platform",     "platform.node.gpus.profile", "nodes", "stack",
    "gpus",  "precision", "batch_per_gpu"};

/// Follows from others: the number of GPUs from nodes or the platform, the spread of GPUs from the update
/// rule.
bool says_nothing_new(std::string_view path, const std::vector<KeyOfRuns>& shown) {
  if (path == "random.gpus") return true;
  if (path != "gpus" && path != "gpus_per_node") return false;
  return std::ranges::any_of(shown, [](const KeyOfRuns& key) { return key.path == "nodes"; });
}

std::vector<KeyOfRuns> keys_of_runs(std::span<const Comparison> comparisons) {
  std::map<std::string, KeyOfRuns> keys;
  for (std::size_t i = 0; i < comparisons.size(); ++i) {
    for (const ComparedKey& key : comparisons[i].keys) {
      KeyOfRuns& all = keys[key.path];
      // runs that do not differ from the first have its value
      if (all.path.empty()) all = {key.path, std::vector(comparisons.size() + 1, key.a)};
      all.values[i + 1] = key.b;
    }
  }
  std::vector<KeyOfRuns> sorted;
  for (auto& [path, key] : keys) sorted.push_back(std::move(key));
  std::ranges::stable_sort(sorted, {}, [](const KeyOfRuns& key) {
    return std::ranges::find(most_telling, key.path) - most_telling.begin();
  });
  return sorted;
}

/// Whether values need the key's name to say something: numbers, yes and no, "none".
bool need_name(const KeyOfRuns& key) {
  return std::ranges::any_of(key.values, [](const std::optional<std::string>& value) {
    return parse_number(*value) || *value == "true" || *value == "false" || *value == "none" ||
           *value == "auto";
  });
}

/// "25 Gbps", "4 nodes", "bound 2".
std::string in_head(const KeyOfRuns& key, const std::string& value) {
  if (!need_name(key)) {
    const std::size_t slash = value.rfind('/');  // of a file's path
    return slash == std::string::npos ? value : value.substr(slash + 1);
  }
  const std::string name = key.path.substr(key.path.rfind('.') + 1);
  const Parsed<double> number = parse_number(value);
  if ((name == "nodes" || name == "gpus") && number) {
    const std::string_view noun = name == "nodes" ? "node" : "GPU";
    return fmt::format("{} {}{}", count_text(*number), noun, *number == 1 ? "" : "s");
  }
  if (name == "batch_per_gpu") return "batch " + value;
  return fmt::format("{} {}", name, value);
}

}  // namespace

std::vector<std::string> run_heads(std::span<const Comparison> comparisons, std::size_t width) {
  std::vector<std::string> heads;
  for (std::size_t i = 0; i <= comparisons.size(); ++i) heads.push_back(letter_of(i));
  std::vector<KeyOfRuns> shown;
  for (const KeyOfRuns& key : keys_of_runs(comparisons)) {
    const bool is_set = std::ranges::all_of(key.values, [](const auto& value) { return value.has_value(); });
    if (!is_set || says_nothing_new(key.path, shown)) continue;
    std::vector<std::string> longer = heads;
    for (std::size_t i = 0; i < heads.size(); ++i)
      longer[i] += (shown.empty() ? ": " : ", ") + in_head(key, *key.values[i]);
    const auto fits = [&](const std::string& head) { return columns(head) <= width; };
    if (!std::ranges::all_of(longer, fits)) {
      // A name of a model or machine tells runs apart even where it is cut.
      if (!shown.empty() || std::ranges::find(most_telling, key.path) == most_telling.end()) continue;
      for (std::string& head : longer) head = elide(head, width);
    }
    heads = std::move(longer);
    shown.push_back(key);
  }
  return heads;
}

}  // namespace trainyard
