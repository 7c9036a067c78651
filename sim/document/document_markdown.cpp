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

struct MarkdownWriter {
  std::string& out;

  void operator()(const Sentence& part) const {
    out += part.is_main ? fmt::format("**{}**\n", escaped(part.text)) : escaped(part.text) + "\n";
  }

  void operator()(const Fact& part) const {
    const std::string separator = part.value.text.empty() || part.remark.empty() ? "" : "; ";
    out +=
        fmt::format("- {}\n", escaped(in_one_line({part.label, part.value.text + separator + part.remark})));
  }

  void operator()(const Share& part) const {
    const double share = part.whole > 0 ? part.part / part.whole : 0;
    out += fmt::format("- {}: {} ({})\n", escaped(part.label), escaped(part.text), percent(share));
  }

  void operator()(const List& part) const {
    for (const Labelled& item : part.items)
      if (part.kind == List::Kind::notes)
        out += fmt::format("- {} {}\n", escaped(item.label), escaped(item.text));
      else
        out += part.kind == List::Kind::ordered ? fmt::format("{} {}\n", item.label, escaped(item.text))
                                                : fmt::format("- {}\n", escaped(in_one_line(item)));
  }

  void operator()(const Heading& part) const {
    out += fmt::format("##### {}\n", capitalised(escaped(part.title)));
    if (!part.remark.empty()) out += fmt::format("\n{}\n", escaped(part.remark));
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
  void operator()(const Points&) const {}
  void operator()(const Lanes&) const {}
  void operator()(const Letters&) const {}
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

/// Lines of one list when they follow each other.
bool is_line(const Part& part) {
  return std::holds_alternative<Fact>(part) || std::holds_alternative<Share>(part);
}

/// A blank line separates blocks.
void begin_block(std::string& out) {
  if (!out.empty()) out += '\n';
}

void add_section(std::string& out, const Section& section) {
  if (!section.is_answer || !section.is_untitled_in_text) {
    begin_block(out);
    out += fmt::format("#### {}\n", capitalised(escaped(section.title)));
  }
  if (!section.remark.empty()) out += fmt::format("\n{}\n", escaped(section.remark));
  const Part* before = nullptr;
  for (const Part* const part : parts_of_page(section)) {
    if (shown_of(*part) == Shown::browser) continue;
    if (before == nullptr || !is_line(*before) || !is_line(*part)) begin_block(out);
    std::visit(MarkdownWriter{out}, *part);
    before = part;
  }
}

}  // namespace

std::string markdown(const Document& document) {
  std::string out = document.title.empty() ? "" : fmt::format("### {}\n", escaped(document.title));
  for (const std::string& text : document.lead) {
    begin_block(out);
    out += escaped(text) + '\n';
  }
  for (const std::string& warning : document.warnings) {
    begin_block(out);
    out += escaped(warning) + '\n';
  }
  for (const Section* const section : sections_of_page(document))
    if (section->shown != Shown::browser) add_section(out, *section);
  return document.in_words ? document.in_words(out) : out;
}

}  // namespace trainyard::doc
