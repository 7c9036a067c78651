#include "published/report_columns.hpp"

#include "units/trimmed.hpp"

#include <algorithm>
#include <fmt/format.h>

namespace trainyard {

tl::expected<std::vector<ReportRange>, std::string> ranges_of(std::string_view cell) {
  std::vector<ReportRange> ranges;
  while (!trimmed(cell).empty()) {
    const std::string_view part = cell.substr(0, cell.find(';'));
    cell.remove_prefix(std::min(cell.size(), part.size() + 1));
    const std::size_t equals = part.find('=');
    const std::size_t dots = part.find("..", std::min(equals, part.size()));
    if (equals == std::string_view::npos || dots == std::string_view::npos)
      return tl::unexpected(fmt::format("a range is KEY=LOW..HIGH, not '{}'", trimmed(part)));
    ReportRange& range = ranges.emplace_back();
    range.key = trimmed(part.substr(0, equals));
    range.low = trimmed(part.substr(equals + 1, dots - equals - 1));
    range.high = trimmed(part.substr(dots + 2));
    if (range.key.empty() || range.low.empty() || range.high.empty())
      return tl::unexpected(fmt::format("a range is KEY=LOW..HIGH, not '{}'", trimmed(part)));
    if (std::ranges::count(ranges, range.key, &ReportRange::key) > 1)
      return tl::unexpected(fmt::format("the key '{}' has two ranges", range.key));
  }
  return ranges;
}

}  // namespace trainyard
