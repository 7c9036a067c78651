#include "report/links_with_same_load.hpp"

#include <algorithm>
#include <map>
#include <utility>

namespace trainyard {

namespace {

/// The name with every number replaced by "#".
std::string without_numbers(std::string_view name) {
  std::string kind;
  for (const char letter : name) {
    const bool is_digit = letter >= '0' && letter <= '9';
    if (!is_digit)
      kind += letter;
    else if (!kind.ends_with('#'))
      kind += '#';
  }
  return kind;
}

}  // namespace

std::vector<LinksWithSameLoad> links_with_same_load(std::span<const LinkRow> links) {
  std::vector<LinksWithSameLoad> groups;
  std::map<std::pair<std::string, double>, std::size_t> known;
  for (const LinkRow& row : links) {
    std::string kind = without_numbers(row.name);
    const auto [found, is_new] = known.try_emplace({kind, row.capacity.si()}, groups.size());
    if (is_new) {
      groups.push_back(
          {.kind = std::move(kind), .busiest = &row, .links = 1, .least = row.bytes, .most = row.bytes});
      continue;
    }
    LinksWithSameLoad& group = groups[found->second];
    ++group.links;
    group.least = std::min(group.least, row.bytes);
    group.most = std::max(group.most, row.bytes);
    if (row.utilization > group.busiest->utilization) group.busiest = &row;
  }
  std::ranges::stable_sort(groups, std::greater{},
                           [](const LinksWithSameLoad& group) { return group.busiest->utilization; });
  return groups;
}

}  // namespace trainyard
