#include "config/assumed_values.hpp"

#include "config/path.hpp"
#include "units/text.hpp"

#include <algorithm>

namespace trainyard::config {
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

void gather(const Node& node, const std::string& path, std::vector<AssumedValue>& found) {
  const Node* const value = node.find("value");
  const Node* const reason = node.find("assumed");
  if (value != nullptr && reason != nullptr && is_about_time(path) && scaled_text(value->scalar, 1)) {
    AssumedValue& one = found.emplace_back(
        AssumedValue{.path = join(path, "value"), .value = value->scalar, .reason = reason->scalar});
    if (const Node* const range = node.find(assumed_range_key)) one.range = range->scalar;
    return;
  }
  for (const Node::Entry& entry : node.entries)
    gather(entry.value, path.empty() ? entry.key : join(path, entry.key), found);
  for (std::size_t i = 0; i < node.items.size(); ++i) gather(node.items[i], join(path, i), found);
}

}  // namespace

std::vector<AssumedValue> assumed_values(const Node& root) {
  std::vector<AssumedValue> found;
  gather(root, {}, found);
  return found;
}

std::optional<std::string> scaled_text(const std::string& text, double factor) {
  const std::size_t end = text.find_first_not_of("0123456789.+-eE");
  std::string number = text.substr(0, end);
  // the "e" of an adjacent unit is not part of the number
  while (!number.empty() && (number.back() == 'e' || number.back() == 'E')) number.pop_back();
  const Parsed<double> value = parse_number(number);
  if (value.value_or(0) == 0) return std::nullopt;
  return shortest(*value * factor) + text.substr(number.size());
}

}  // namespace trainyard::config
