#pragma once
// Tables of text for a page of any width. Columns align; text that does not fit is wrapped inside its column,
// printed further down, or left out by importance, and then a line below the table says so.

#include "units/print_style.hpp"

#include <cstddef>
#include <fmt/format.h>
#include <string>
#include <string_view>
#include <vector>

namespace trainyard {

/// Text on the left, numbers on the right of their column.
struct TableColumn {
  bool is_number = false;
  std::size_t width = 0;  ///< at least, on a page that has the room
  std::size_t least = 0;  ///< text wraps, and words are cut with "...", down to this width; 0: never
  int dropped = 0;        ///< order in which a narrow page leaves it out; 0: never; -1: stands below
  std::string name = {};  ///< in the line that names what is left out; default: its head

  [[nodiscard]] TableColumn wraps(std::size_t to) && {
    least = to;
    return std::move(*this);
  }
  [[nodiscard]] TableColumn drops(int order) && {
    dropped = order;
    return std::move(*this);
  }
  [[nodiscard]] TableColumn named(std::string_view json_name) && {
    name = json_name;
    return std::move(*this);
  }
};

inline TableColumn text_column(std::size_t width = 0) { return {.is_number = false, .width = width}; }
inline TableColumn number_column(std::size_t width = 0) { return {.is_number = true, .width = width}; }

struct TableShape {
  std::size_t indent = 0;
  std::size_t gap = 2;  ///< blanks between columns
  /// Columns that do not fit stand in further blocks below, each with the first column: of a matrix.
  bool goes_on_below = false;
  bool head_hangs = false;          ///< the heads begin at column 0, whatever the indent: a heading
  std::string_view elsewhere = {};  ///< where the columns left out are: "--json"; besides a wider terminal
};

class Table {
public:
  explicit Table(std::vector<TableColumn> columns, TableShape shape = {});

  /// Cells in the order of the columns; missing ones are empty. The first row of a table holds the heads.
  template <class... Cells>
  void row(const Cells&... cells) {
    add({fmt::format("{}", cells)...});
  }
  void add(std::vector<std::string> cells);
  /// Cells of the first columns, and a text in place of all others, which wraps.
  void add_and_rest(std::vector<std::string> cells, std::string rest);
  /// A line of dashes, up to the last column of numbers.
  void rule();
  /// A line that is printed as it is, and wrapped.
  void line(std::string text);

  /// Whether the columns that are never left out have room for whole words.
  [[nodiscard]] bool has_room(std::size_t width) const;

  /// All lines, each with a line break; at most `width` columns wide.
  [[nodiscard]] std::string text(std::size_t width) const;
  /// The lines without line breaks.
  [[nodiscard]] std::vector<std::string> lines(std::size_t width) const;
  [[nodiscard]] bool empty() const { return rows_.empty(); }

private:
  enum class RowKind { cells, rule, line };
  struct Row {
    RowKind kind = RowKind::cells;
    std::vector<std::string> cells;
    std::string rest;
    bool has_rest = false;
  };
  /// The columns printed in one block and the width of each.
  struct Block {
    std::vector<std::size_t> columns, widths;
  };

  [[nodiscard]] std::size_t widest_cell(std::size_t column) const;
  [[nodiscard]] std::size_t total(const Block& block) const;
  /// Narrows the widths until the block fits, if it can.
  [[nodiscard]] bool fits(Block& block, std::size_t width) const;
  [[nodiscard]] Block block_of(std::vector<std::size_t> shown) const;
  /// Each as wide as it fits, with the first column.
  [[nodiscard]] std::vector<Block> blocks_below(const std::vector<std::size_t>& shown,
                                                std::size_t width) const;
  /// The last resort, so that lines need not break: makes the widest columns narrower than their words, which
  /// are cut in print; first those that may be cut, then any.
  void narrow(Block& block, std::size_t width) const;
  [[nodiscard]] std::vector<Block> blocks(std::size_t width, std::vector<std::size_t>& left_out) const;
  [[nodiscard]] std::size_t end_of_numbers(const Block& block) const;
  void print(std::vector<std::string>& out, const Block& block, const Row& row, std::size_t width) const;
  [[nodiscard]] std::string left_out_in_words(const std::vector<std::size_t>& left_out) const;

  std::vector<TableColumn> columns_;
  TableShape shape_;
  std::vector<Row> rows_;
};

}  // namespace trainyard
