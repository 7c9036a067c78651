// A document for the terminal.

#include "document/page.hpp"
#include "document/parts.hpp"
#include "document/writers.hpp"
#include "units/lines.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>

namespace trainyard::doc {
namespace {

/// The terminal's colour for a fill.
std::string_view colour_of(std::string_view fill) {
  constexpr std::pair<std::string_view, std::string_view> colours[] = {
      {"host", "35"},    {"input", "35"},          {"communication", "33"}, {"framework", "33"},
      {"waiting", "31"}, {"wasted-compute", "31"}, {"bubble", "31"},        {"data-parallel", "33"}};
  const auto* const found = std::ranges::find(colours, fill, [](const auto& one) { return one.first; });
  return found == std::end(colours) ? "36" : found->second;
}

std::string spaced(const Column& column, const std::string& text) {
  return column.is_apart && !text.empty() ? ' ' + text : text;
}

/// Adds the first line of a row, and one for each further text that is to be copied.
void add_row(trainyard::Table& table, const Table& part, const Row& row) {
  if (row.is_rule) {
    table.rule();
    return;
  }
  std::size_t lines = 1;
  for (const Cell& cell : row.cells) lines = std::max(lines, cell.code.size());
  for (std::size_t line = 0; line < lines; ++line) {
    std::vector<std::string> cells;
    for (std::size_t i = 0; i < row.cells.size(); ++i) {
      const Column& column = part.columns[i];
      if (!is_in_text(column.shown)) continue;
      const Cell& cell = row.cells[i];
      std::string text = line < cell.code.size() ? cell.code[line] : std::string();
      if (line == 0 && cell.code.empty()) text = cell.value.text;
      if (i == 0) text.insert(0, 2 * static_cast<std::size_t>(row.depth), ' ');
      cells.push_back(spaced(column, column.most > 0 ? elide(text, column.most) : text));
    }
    if (row.rest.empty())
      table.add(std::move(cells));
    else
      table.add_and_rest(std::move(cells), row.rest);
  }
}

trainyard::Table table_of(const Table& part) {
  std::vector<TableColumn> layouts;
  std::vector<std::string> heads;
  for (const Column& column : part.columns) {
    if (!is_in_text(column.shown)) continue;
    layouts.push_back(column.layout);
    heads.push_back(spaced(column, column.head));
  }
  trainyard::Table table(std::move(layouts), part.shape);
  if (part.has_heads) table.add(std::move(heads));
  for (const Row& row : part.rows)
    if (is_in_text(row.shown)) add_row(table, part, row);
  return table;
}

struct TextWriter {
  Page& out;
  std::size_t label_width = 0;  ///< of facts at the margin; 0: they are indented

  void operator()(const Sentence& part) const { out.paragraph(part.text, part.indent); }

  void operator()(const Fact& part) const {
    if (label_width > 0)
      out.labelled(part.label, label_width, part.remark);
    else if (part.value.text.empty())
      out.text_row(part.label, part.remark);
    else
      out.row(part.label, part.value.text, part.remark, part.is_main);
  }

  void operator()(const Share& part) const {
    out.share(part.label, part.text, part.whole > 0 ? part.part / part.whole : 0, colour_of(part.fill));
  }

  void operator()(const List& part) const {
    const std::string indent(part.indent, ' ');
    for (const Labelled& item : part.items) {
      switch (part.kind) {
        case List::Kind::plain:
          out.paragraph(in_one_line(item), part.indent);
          break;
        case List::Kind::ordered:
          out.paragraph(item.label + ' ' + item.text, part.indent);
          break;
        case List::Kind::notes:
          out.note(indent + item.label + ' ', item.text);
          break;
        case List::Kind::lines:
          out.line(indent + item.text);
      }
    }
  }

  void operator()(const Heading& part) const { out.heading(part.title, part.remark, part.is_close); }

  void operator()(const Table& part) const {
    if (part.is_heading)
      out.headed_table(table_of(part));
    else
      out.table(table_of(part));
  }

  void operator()(const Bars&) const {}
  void operator()(const Chart&) const {}
  void operator()(const Points&) const {}
  void operator()(const Lanes&) const {}

  void operator()(const Letters& part) const {
    const int width = out.chart_width();
    for (const Letters::Line& line : part.lines)
      out.line(line.letters ? fmt::format("  {:<15} |{}|", line.label,
                                          out.painted(colour_of(line.fill), line.letters(width)))
                            : "  ...");
    out.line(fmt::format("{:18} 0{:>{}}", "", part.end, width - 1));
  }

  void operator()(const Drawing&) const {}
  void operator()(const Command& part) const { out.command(part.label, part.text); }
  void operator()(const Listing& part) const { out.line(part.text); }
};

bool begins_with_heads(const Part& part) {
  const Table* const table = std::get_if<Table>(&part);
  return table != nullptr && table->is_heading;
}

void write_section(Page& out, const Section& section) {
  const auto is_printed = [](const Part& part) { return is_in_text(shown_of(part)); };
  const auto first = std::ranges::find_if(section.parts, is_printed);
  if (!is_in_text(section.shown) || (first == section.parts.end() && !section.is_answer)) return;
  if (!section.is_untitled_in_text)
    out.heading(section.title, section.remark);
  else if (!out.text().empty() && (first == section.parts.end() || !begins_with_heads(*first)))
    out.line("");
  for (const Part& part : section.parts)
    if (is_printed(part)) std::visit(TextWriter{out, section.label_width}, part);
}

}  // namespace

bool has_room(const Table& table, std::size_t width) { return table_of(table).has_room(width); }

std::string text(const Document& document, const PrintStyle& style) {
  Page out(style, document.in_words);
  for (const Section& section : document.sections) write_section(out, section);
  return out.text();
}

}  // namespace trainyard::doc
