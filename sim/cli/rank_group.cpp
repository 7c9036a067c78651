#include "cli/rank_group.hpp"

#include "cli/values.hpp"
#include "units/text.hpp"

#include <CLI/Error.hpp>
#include <algorithm>
#include <fmt/format.h>
#include <ranges>

namespace trainyard {

namespace {

/// More ranks than any cluster here has: certainly a mistake, and a list too long for memory.
constexpr int most_ranks = 10'000'000;

[[noreturn]] void wrong(const std::string& message) { throw CLI::ValidationError("--group", message); }

void add_range(std::string_view item, std::vector<Rank>& ranks) {
  const std::size_t dash = item.find('-');
  const auto number = [](std::string_view text) {
    return whole_number("--group", std::string(text), 0, most_ranks);
  };
  const int first = number(item.substr(0, dash));
  const int last = dash == std::string_view::npos ? first : number(item.substr(dash + 1));
  if (last < first) wrong(fmt::format("'{}' counts down; write the smaller rank first", item));
  for (int rank = first; rank <= last; ++rank) ranks.push_back(Rank{rank});
}

}  // namespace

CollectiveGroup rank_group(const std::string& text) {
  CollectiveGroup group;
  const std::size_t at_sign = text.find('@');
  const std::string_view list = std::string_view(text).substr(0, at_sign);
  for (const auto part : std::views::split(list, ',')) add_range({part.begin(), part.end()}, group.ranks);
  std::ranges::sort(group.ranks);
  if (const auto twice = std::ranges::adjacent_find(group.ranks); twice != group.ranks.end())
    wrong(fmt::format("'{}' names rank {} twice", text, index(*twice)));
  if (at_sign == std::string::npos) return group;
  const Parsed<Seconds> start = parse_quantity<Seconds>(std::string_view(text).substr(at_sign + 1));
  if (const auto* error = std::get_if<UnitError>(&start))
    wrong(fmt::format("'{}': {}; {}", text, error->message, error->hint));
  group.start = std::get<Seconds>(start);
  if (group.start < Seconds{}) wrong(fmt::format("'{}' has a negative start time", text));
  return group;
}

}  // namespace trainyard
