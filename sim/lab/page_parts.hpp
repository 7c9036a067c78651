#pragma once
// Parts that the pages of `trainyard validate` and `trainyard calibrate` share.

#include "document/document.hpp"

#include <concepts>
#include <fmt/format.h>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace trainyard {

/// A section whose title is on pages alone; they leave out a first paragraph that repeats it.
doc::Section& add_part(doc::Document& page, std::string_view title);
doc::Section& add_part(doc::Document& page, std::string_view title, std::string words);

/// A table at the margin, with the heads of these columns.
doc::Table table_of(std::string title, std::vector<std::string> heads, std::vector<TableColumn> columns,
                    std::size_t gap = 1);

/// Ratios in percent, with one decimal.
doc::Value percent_value(std::optional<double> ratio);
doc::Value signed_value(std::optional<double> ratio);

/// A text, a value, or a number as its own text.
template <class T>
doc::Cell cell_of(const T& content) {
  if constexpr (std::integral<T>)
    return doc::Value(fmt::format("{}", content), static_cast<double>(content));
  else if constexpr (std::constructible_from<doc::Cell, const T&>)
    return content;
  else
    return std::string(content);
}

template <class... Cells>
void add_row(doc::Table& table, const Cells&... cells) {
  table.rows.push_back({.cells = {cell_of(cells)...}});
}

/// Adds a line for each reason and its number of rows.
void add_reasons(doc::Section& section, const std::map<std::string, int>& reasons);

}  // namespace trainyard
