#include "html/html.hpp"

#include "config/utf8.hpp"
#include "units/text.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <type_traits>

namespace trainyard {

namespace {

constexpr std::string_view replacement = "\xEF\xBF\xBD";  // U+FFFD

void append_escaped(std::string& markup, std::string_view text) {
  for (const char letter : text) {
    const auto code = static_cast<unsigned char>(letter);
    if (letter == '&')
      markup += "&amp;";
    else if (letter == '<')
      markup += "&lt;";
    else if (letter == '>')
      markup += "&gt;";
    else if (letter == '"')
      markup += "&quot;";
    else if (letter == '\'')
      markup += "&#39;";
    else if ((code < 0x20 && letter != '\n' && letter != '\t') || code == 0x7F)
      markup += replacement;
    else
      markup += letter;
  }
}

constexpr std::size_t most_leading = 8;  ///< the style sheet's .t1 to .t8

/// The number of columns of text before the first of numbers.
std::size_t leading_texts(const std::vector<HtmlColumn>& columns) {
  std::size_t count = 0;
  while (count < columns.size() && columns[count].is_text) ++count;
  return count;
}

/// The class that aligns a column's cells: empty for the first columns, which the table's class aligns, up to
/// most_leading; that of keys for further ones; that of remarks, which are wider, after numbers.
std::string_view class_of(const std::vector<HtmlColumn>& columns, std::size_t column) {
  if (!columns[column].is_text) return "";
  const std::size_t leading = leading_texts(columns);
  if (column >= leading) return " class=\"l\"";
  return column >= most_leading ? " class=\"k\"" : "";
}

}  // namespace

Html as_text(std::string_view text) {
  Html html;
  while (const auto invalid = config::find_invalid_utf8(text)) {
    append_escaped(html.markup, text.substr(0, *invalid));
    html.markup += replacement;
    text.remove_prefix(*invalid + 1);
  }
  append_escaped(html.markup, text);
  return html;
}

Html element(std::string_view tag, const Html& content, std::string_view attributes) {
  return {fmt::format("<{}{}>{}</{}>", tag, attributes, content.markup, tag)};
}

Html element(std::string_view tag, std::string_view text, std::string_view attributes) {
  return element(tag, as_text(text), attributes);
}

std::string attribute(std::string_view name, std::string_view value) {
  return fmt::format(" {}=\"{}\"", name, as_text(value).markup);
}

Html paragraph(std::string_view text) { return element("p", text) + Html{"\n"}; }

Html subheading(std::string_view text) { return element("h3", text) + Html{"\n"}; }

Html folded(std::string_view summary, const Html& content) {
  return element("details", element("summary", summary) + Html{"\n"} + content) + Html{"\n"};
}

HtmlTable::HtmlTable(std::string name, std::vector<HtmlColumn> columns)
    : name_(std::move(name)), columns_(std::move(columns)) {}

void HtmlTable::row(const std::vector<Html>& cells) { rows_.emplace_back(cells.begin(), cells.end()); }

void HtmlTable::row(const std::vector<std::string>& texts) {
  std::vector<HtmlCell>& cells = rows_.emplace_back();
  for (const std::string& text : texts) cells.emplace_back(as_text(text));
}

void HtmlTable::row_with_remark(std::vector<std::string> texts, const std::string& remark) {
  texts.push_back(remark);
  row(texts);
}

template <class Q>
Html HtmlTable::printed(Q quantity, std::size_t column) const {
  Q largest = quantity;
  for (const std::vector<HtmlCell>& cells : rows_) {
    if (column >= cells.size()) continue;
    const Q* const other = std::get_if<Q>(&cells[column]);
    if (other != nullptr && std::abs(other->si()) > std::abs(largest.si())) largest = *other;
  }
  return as_text(human_like(quantity, largest));
}

Html HtmlTable::html(bool is_tall) const {
  Html head;
  for (std::size_t i = 0; i < columns_.size(); ++i)
    head += element("th", columns_[i].head, class_of(columns_, i));
  std::string body;
  for (const std::vector<HtmlCell>& cells : rows_) {
    body += "<tr>";
    for (std::size_t i = 0; i < cells.size(); ++i) {
      const Html content = std::visit(
          [&](const auto& cell) {
            if constexpr (std::is_same_v<std::decay_t<decltype(cell)>, Html>)
              return cell;
            else
              return printed(cell, i);
          },
          cells[i]);
      const bool is_wider = i + 1 == cells.size() && cells.size() < columns_.size();
      const std::string attributes = is_wider
                                         ? fmt::format(" class=\"l\" colspan=\"{}\"", columns_.size() - i)
                                         : std::string(class_of(columns_, i));
      body += element("td", content, attributes).markup;
    }
    body += "</tr>\n";
  }
  return {
      fmt::format("<div class=\"scroll{}\" role=\"region\" tabindex=\"0\"{}>"
                  "<table class=\"t{}\"><thead><tr>{}</tr></thead><tbody>\n{}</tbody></table></div>\n",
                  is_tall ? " tall" : "", attribute("aria-label", name_),
                  std::min(leading_texts(columns_), most_leading), head.markup, body)};
}

}  // namespace trainyard
