// A document as Markdown, for a comment on a pull request.

#include "document/parts.hpp"
#include "document/writers.hpp"
#include "units/text_layout.hpp"

#include <fmt/format.h>
#include <string>
#include <string_view>

namespace trainyard::doc {
namespace {

/// Characters that Markdown would read as markup are escaped; names with '_' inside stay as they are.
std::string escaped(std::string_view text) {
  constexpr std::string_view special = "\\`*|<[]~#&";
  std::string result;
  for (const char c : text) {
    if (special.find(c) != std::string_view::npos) result += '\\';
    result += c;
  }
  return result;
}

void add_table_row(std::string& text, const std::vector<std::string>& cells) {
  text += '|';
  for (const std::string& cell : cells) text += fmt::format(" {} |", cell);
  text += '\n';
}

/// In blocks: a blank line separates a paragraph, a list and a table from the part before.
struct MarkdownWriter {
  std::string& out;
  std::size_t& part_before;  ///< index of the variant

  void begin(std::size_t index) const {
    if (part_before != index && !out.empty()) out += '\n';
    part_before = index;
  }

  void operator()(const Sentence& part) const {
    if (!out.empty()) out += '\n';
    out += part.is_main ? fmt::format("**{}**\n", escaped(part.text)) : escaped(part.text) + "\n";
  }

  void operator()(const Fact& part) const {
    const std::string separator = part.value.text.empty() || part.remark.empty() ? "" : "; ";
    out +=
        fmt::format("- {}\n", escaped(in_one_line({part.label, part.value.text + separator + part.remark})));
  }

  void operator()(const Share& part) const {
    out += fmt::format("- {}: {} ({})\n", escaped(part.label), part.text, percent(part.part / part.whole));
  }

  void operator()(const List& part) const {
    for (const Labelled& item : part.items)
      out += part.is_ordered ? fmt::format("{} {}\n", item.label, escaped(item.text))
                             : fmt::format("- {}\n", escaped(in_one_line(item)));
  }

  void operator()(const Heading& part) const {
    out += fmt::format("##### {}\n", capitalised(escaped(part.title)));
  }

  void operator()(const Table& part) const {
    std::vector<std::string> heads;
    std::vector<std::string> rule;
    for (const Column& column : part.columns) {
      if (!is_on_pages(column.shown)) continue;
      const bool is_title = part.is_heading && heads.empty();
      heads.push_back(is_title ? std::string() : escaped(column.head));
      rule.emplace_back(column.layout.is_number ? "---:" : "---");
    }
    add_table_row(out, heads);
    add_table_row(out, rule);
    for (const Row& row : part.rows)
      if (is_on_pages(row.shown) && !row.is_rule) add_row(part, row, heads.size());
  }

  void operator()(const Bars&) const {}
  void operator()(const Chart&) const {}
  void operator()(const Drawing&) const {}
  void operator()(const Command& part) const { out += fmt::format("    {}\n", part.text); }

  void operator()(const Listing& part) const {
    std::string indented = "    ";
    for (const char c : part.text) indented += c == '\n' ? std::string("\n    ") : std::string(1, c);
    out += indented + '\n';
  }

private:
  void add_row(const Table& part, const Row& row, std::size_t columns) const {
    std::vector<std::string> cells;
    for (std::size_t i = 0; i < row.cells.size(); ++i) {
      if (!is_on_pages(part.columns[i].shown)) continue;
      std::string text = escaped(row.cells[i].value.text);
      for (const std::string& code : row.cells[i].code) text += (text.empty() ? "`" : " `") + code + "`";
      cells.push_back(std::move(text));
    }
    if (!row.rest.empty()) cells.push_back(escaped(row.rest));
    cells.resize(columns);
    std::string indent;
    for (int i = 0; i < row.depth; ++i) indent += "&nbsp;&nbsp;";
    cells.front().insert(0, indent);
    add_table_row(out, cells);
  }
};

}  // namespace

std::string markdown(const Document& document) {
  std::string out;
  for (const Section* const section : sections_of_page(document)) {
    if (section->shown == Shown::browser) continue;
    if (!section->is_answer || !section->is_untitled_in_text)
      out += fmt::format("{}#### {}\n", out.empty() ? "" : "\n", capitalised(escaped(section->title)));
    std::size_t part_before = std::variant_npos;
    for (const Part* const part : parts_of_page(*section)) {
      if (shown_of(*part) == Shown::browser) continue;
      const MarkdownWriter writer{out, part_before};
      if (!std::holds_alternative<Sentence>(*part)) writer.begin(part->index());
      std::visit(writer, *part);
    }
  }
  return out;
}

}  // namespace trainyard::doc
