#include "units/table.hpp"

#include "units/lines.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace trainyard {

namespace {

std::string aligned(const std::string& cell, std::size_t width, bool is_number) {
  const std::string blanks(width - std::min(width, columns(cell)), ' ');
  return is_number ? blanks + cell : cell + blanks;
}

void drop_blanks_at_end(std::string& line) { line.erase(line.find_last_not_of(' ') + 1); }

/// A cell's lines; blanks at its beginning show the depth of a layer and stay.
std::vector<std::string> cell_lines(const std::string& cell, std::size_t width) {
  if (columns(cell) <= width) return {cell};
  const std::size_t indent = std::min(cell.find_first_not_of(' '), width / 2);
  std::vector<std::string> lines = wrap(cell, width - indent);
  for (std::string& line : lines) line.insert(0, indent, ' ');
  return lines;
}

}  // namespace

Table::Table(std::vector<TableColumn> columns, TableShape shape)
    : columns_(std::move(columns)), shape_(shape) {}

void Table::add(std::vector<std::string> cells) {
  rows_.push_back({.kind = RowKind::cells, .cells = std::move(cells), .rest = {}, .has_rest = false});
}

void Table::add_and_rest(std::vector<std::string> cells, std::string rest) {
  rows_.push_back(
      {.kind = RowKind::cells, .cells = std::move(cells), .rest = std::move(rest), .has_rest = true});
}

void Table::rule() { rows_.push_back({.kind = RowKind::rule, .cells = {}, .rest = {}, .has_rest = false}); }

void Table::line(std::string text) {
  rows_.push_back({.kind = RowKind::line, .cells = {}, .rest = std::move(text), .has_rest = false});
}

std::size_t Table::widest_cell(std::size_t column) const {
  std::size_t widest = 0;
  for (const Row& row : rows_) {
    if (column < row.cells.size()) widest = std::max(widest, trainyard::columns(row.cells[column]));
  }
  return widest;
}

std::size_t Table::total(const Block& block) const {
  std::size_t sum = shape_.indent;
  for (std::size_t i = 0; i < block.columns.size(); ++i) {
    // nothing pads the text of the last column
    const bool is_last_text = i + 1 == block.columns.size() && !columns_[block.columns[i]].is_number;
    const std::size_t cell = widest_cell(block.columns[i]);
    sum += is_last_text ? std::min(block.widths[i], cell) : block.widths[i];
    sum += i == 0 ? 0 : shape_.gap;
  }
  return sum;
}

bool Table::fits(Block& block, std::size_t width) const {
  if (total(block) <= width) return true;
  for (std::size_t i = 0; i < block.columns.size(); ++i) block.widths[i] = widest_cell(block.columns[i]);
  // words stay whole as long as a column can be left out
  const auto longest_word = [&](std::size_t column) {
    std::size_t longest = 0;
    for (const Row& row : rows_) {
      if (column >= row.cells.size() || row.cells[column].empty()) continue;
      const std::string& cell = row.cells[column];
      const std::size_t indent = std::min(cell.find_first_not_of(' '), cell.size());
      for (const std::string& word : wrap_whole(cell, 1))
        longest = std::max(longest, indent + trainyard::columns(word));
    }
    return longest;
  };
  std::vector<std::size_t> narrowest;
  for (const std::size_t column : block.columns)
    narrowest.push_back(columns_[column].least == 0 ? most_page_width
                                                    : std::max(columns_[column].least, longest_word(column)));
  while (total(block) > width) {
    std::size_t* widest = nullptr;
    for (std::size_t i = 0; i < block.columns.size(); ++i) {
      const bool can_wrap = block.widths[i] > narrowest[i];
      if (can_wrap && (widest == nullptr || block.widths[i] > *widest)) widest = &block.widths[i];
    }
    if (widest == nullptr) return false;
    --*widest;
  }
  return true;
}

Table::Block Table::block_of(std::vector<std::size_t> shown) const {
  Block block{.columns = std::move(shown), .widths = {}};
  for (const std::size_t column : block.columns)
    block.widths.push_back(std::max(columns_[column].width, widest_cell(column)));
  return block;
}

std::vector<Table::Block> Table::blocks_below(const std::vector<std::size_t>& shown,
                                              std::size_t width) const {
  std::vector<Block> all;
  for (std::size_t next = 1; next < shown.size();) {
    Block block = block_of({shown.front(), shown[next++]});
    while (next < shown.size()) {
      std::vector<std::size_t> more = block.columns;
      more.push_back(shown[next]);
      Block wider = block_of(std::move(more));
      if (total(wider) > width) break;
      block = std::move(wider);
      ++next;
    }
    all.push_back(std::move(block));
  }
  return all;
}

void Table::narrow(Block& block, std::size_t width) const {
  constexpr std::size_t least_cell = 5;
  while (total(block) > width) {
    std::size_t* widest = nullptr;
    for (const bool may_be_cut : {true, false}) {
      for (std::size_t i = 0; i < block.columns.size(); ++i) {
        const std::size_t least = columns_[block.columns[i]].least;
        const bool is_wide = block.widths[i] > (may_be_cut ? std::max(least, least_cell) : least_cell);
        if (is_wide && (!may_be_cut || least > 0) && (widest == nullptr || block.widths[i] > *widest))
          widest = &block.widths[i];
      }
      if (widest != nullptr) break;
    }
    if (widest == nullptr) break;
    --*widest;
  }
}

std::vector<Table::Block> Table::blocks(std::size_t width, std::vector<std::size_t>& left_out) const {
  std::vector<std::size_t> shown;
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    if (widest_cell(i) > 0) shown.push_back(i);  // a column that is empty everywhere is no column
  }
  Block whole = block_of(shown);
  if (fits(whole, width)) return {whole};
  if (shape_.goes_on_below && shown.size() > 1) return blocks_below(shown, width);
  // Cells that go below their rows need no room in them.
  if (std::erase_if(shown, [&](std::size_t column) { return columns_[column].dropped < 0; }) > 0) {
    whole = block_of(shown);
    if (fits(whole, width)) return {whole};
  }
  while (true) {
    const auto order = [&](std::size_t column) {
      return columns_[column].dropped == 0 ? most_page_width
                                           : static_cast<std::size_t>(columns_[column].dropped);
    };
    const auto first = std::ranges::min_element(shown, {}, order);
    if (first == shown.end() || columns_[*first].dropped == 0) break;
    left_out.push_back(*first);
    shown.erase(first);
    whole = block_of(shown);
    if (fits(whole, width)) break;
  }
  std::ranges::sort(left_out);
  narrow(whole, width);
  return {whole};
}

bool Table::has_room(std::size_t width) const {
  Block block;
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    if (columns_[i].dropped != 0 || widest_cell(i) == 0) continue;
    block.columns.push_back(i);
    block.widths.push_back(std::max(columns_[i].width, widest_cell(i)));
  }
  return fits(block, width);
}

std::size_t Table::end_of_numbers(const Block& block) const {
  std::size_t end = shape_.indent;
  std::size_t last = 0;
  for (std::size_t i = 0; i < block.columns.size(); ++i) {
    end += block.widths[i] + (i == 0 ? 0 : shape_.gap);
    if (columns_[block.columns[i]].is_number) last = end;
  }
  return last;
}

void Table::print(std::vector<std::string>& out, const Block& block, const Row& row,
                  std::size_t width) const {
  if (row.kind == RowKind::rule) {
    out.emplace_back(end_of_numbers(block) - shape_.indent, '-');
    out.back().insert(0, shape_.indent, ' ');
    return;
  }
  if (row.kind == RowKind::line) {
    for (std::string& line :
         row.rest.empty() ? std::vector<std::string>{""} : wrap(row.rest, width - shape_.indent))
      out.push_back(std::string(line.empty() ? 0 : shape_.indent, ' ') + line);
    return;
  }
  std::vector<std::vector<std::string>> cells;
  std::size_t height = 1;
  std::size_t end = shape_.indent;  // of the cells before a rest
  for (std::size_t i = 0; i < block.columns.size(); ++i) {
    const std::size_t column = block.columns[i];
    if (row.has_rest && column >= row.cells.size()) break;
    cells.push_back(column < row.cells.size() ? cell_lines(row.cells[column], block.widths[i])
                                              : std::vector<std::string>{""});
    height = std::max(height, cells.back().size());
    end += block.widths[i] + (i == 0 ? 0 : shape_.gap);
  }
  const std::size_t first_line = out.size();
  for (std::size_t part = 0; part < height; ++part) {
    const bool hangs = shape_.head_hangs && part == 0 && &row == &rows_.front();
    std::string line(hangs ? 0 : shape_.indent, ' ');
    for (std::size_t i = 0; i < cells.size(); ++i) {
      const std::string cell = part < cells[i].size() ? cells[i][part] : std::string();
      line += std::string(i == 0 ? 0 : shape_.gap, ' ');
      const std::size_t more = hangs && i == 0 ? shape_.indent : 0;
      line += aligned(cell, block.widths[i] + more, columns_[block.columns[i]].is_number);
    }
    if (!row.has_rest || part > 0) drop_blanks_at_end(line);
    out.push_back(std::move(line));
  }
  constexpr std::size_t deeper = 4;
  for (std::size_t column = 0; column < std::min(columns_.size(), row.cells.size()); ++column) {
    const bool is_beside = std::ranges::find(block.columns, column) != block.columns.end();
    if (columns_[column].dropped >= 0 || is_beside || row.cells[column].empty()) continue;
    for (const std::string& line : wrap_whole(row.cells[column], width - shape_.indent - deeper))
      out.push_back(std::string(shape_.indent + deeper, ' ') + line);
  }
  if (!row.has_rest) return;
  std::string& first = out[first_line];
  if (end + shape_.gap + trainyard::columns(row.rest) <= width) {
    first += std::string(shape_.gap, ' ') + row.rest;
    return;
  }
  drop_blanks_at_end(first);
  for (const std::string& line : wrap(row.rest, width - shape_.indent - deeper))
    out.push_back(std::string(shape_.indent + deeper, ' ') + line);
}

std::string Table::left_out_in_words(const std::vector<std::size_t>& left_out) const {
  std::string names;
  for (const std::size_t column : left_out) {
    std::string name = columns_[column].name;
    if (name.empty() && column < rows_.front().cells.size()) name = rows_.front().cells[column];
    names += (names.empty() ? "" : ", ") + name;
  }
  return fmt::format("left out: {} (in {}a wider terminal)", names,
                     shape_.elsewhere.empty() ? "" : fmt::format("{} or ", shape_.elsewhere));
}

std::vector<std::string> Table::lines(std::size_t width) const {
  if (rows_.empty()) return {};
  std::vector<std::size_t> left_out;
  std::vector<std::string> out;
  for (const Block& block : blocks(width, left_out)) {
    if (!out.empty()) out.emplace_back();
    for (const Row& row : rows_) print(out, block, row, width);
  }
  if (left_out.empty()) return out;
  for (const std::string& line : wrap(left_out_in_words(left_out), width - shape_.indent))
    out.push_back(std::string(shape_.indent, ' ') + line);
  return out;
}

std::string Table::text(std::size_t width) const {
  std::string all;
  for (const std::string& line : lines(width)) all += line + '\n';
  return all;
}

}  // namespace trainyard
