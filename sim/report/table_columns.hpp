#pragma once
// Tables of a document column by column: each says how a row becomes a cell.

#include "document/document.hpp"
#include "units/text.hpp"
#include "units/text_layout.hpp"

#include <cmath>
#include <concepts>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace trainyard {

/// A cell of a column of percentages.
struct Percent {
  double share = 0;
};

/// Adds a column; `of(row)` is a text, a count, a Percent, a cell, or a quantity or nothing: all quantities
/// of a column have one unit and the same decimals.
template <class Rows, class Of>
void add_column(doc::Table& table, std::string head, const Rows& rows, const Of& of) {
  using Content = std::remove_cvref_t<decltype(of(*rows.begin()))>;
  constexpr bool is_text = std::convertible_to<Content, std::string_view> || std::same_as<Content, doc::Cell>;
  table.columns.push_back({.head = std::move(head), .layout = is_text ? text_column() : number_column()});
  table.rows.resize(rows.size());
  auto row = table.rows.begin();
  const auto add = [&](doc::Cell cell) { (row++)->cells.push_back(std::move(cell)); };
  if constexpr (std::same_as<Content, doc::Cell>) {
    for (const auto& one : rows) add(of(one));
  } else if constexpr (is_text) {
    for (const auto& one : rows) add(std::string(of(one)));
  } else if constexpr (std::integral<Content>) {
    for (const auto& one : rows) add(doc::Value(grouped(of(one)), static_cast<double>(of(one))));
  } else if constexpr (std::same_as<Content, Percent>) {
    for (const auto& one : rows) add(doc::Value(percent(of(one).share), of(one).share));
  } else {
    const auto content = [&](const auto& one) { return std::optional(of(one)); };
    typename decltype(content(*rows.begin()))::value_type largest{};
    for (const auto& one : rows)
      if (const auto quantity = content(one); quantity && std::abs(quantity->si()) > std::abs(largest.si()))
        largest = *quantity;
    for (const auto& one : rows) {
      const auto quantity = content(one);
      add(quantity ? doc::Value(human_like(*quantity, largest), *quantity) : doc::Value());
    }
  }
}

/// A small bar for a cell.
inline doc::Cell bar_cell(std::string fill, std::string name, double share) {
  doc::Cell cell;
  cell.bar = {{std::move(fill), std::move(name), share, percent(share)}};
  return cell;
}

}  // namespace trainyard
