#include "document/html.hpp"

#include "config/utf8.hpp"
#include "units/text.hpp"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <fmt/format.h>
#include <iterator>
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

/// "6.9", "(33.5", "+3.1", "39.4-39.8".
bool is_number(std::string_view word) {
  const bool has_digit = word.find_first_of("0123456789") != std::string_view::npos;
  return has_digit && word.find_first_not_of("(+-<0123456789.,") == std::string_view::npos;
}

/// A short word that may be a unit, also with punctuation.
bool is_unit(std::string_view word) {
  constexpr std::size_t longest = 9;  // "samples/s"
  word = word.substr(0, word.find_last_not_of(".,;:)") + 1);
  const bool is_letter = !word.empty() && (std::isalpha(static_cast<unsigned char>(word.front())) != 0);
  return word.size() <= longest && (is_letter || word.starts_with('%'));
}

/// The end of the word that begins at `at`.
std::size_t end_of_word(std::string_view text, std::size_t at) {
  return std::min(text.find_first_of(" \n", at), text.size());
}

/// The end of the number with its units that begins at `at`: that of the word where none does.
std::size_t end_of_quantity(std::string_view text, std::size_t at) {
  std::size_t end = end_of_word(text, at);
  if (!is_number(text.substr(at, end - at))) return end;
  while (end < text.size()) {
    const std::size_t unit_end = end_of_word(text, end + 1);
    const std::string_view unit = text.substr(end + 1, unit_end - end - 1);
    if (!is_unit(unit)) break;
    end = unit_end;
    if ((unit != "h" && unit != "min") || end == text.size()) break;
    const std::size_t next_end = end_of_word(text, end + 1);  // "2 min 10 s"
    if (!is_number(text.substr(end + 1, next_end - end - 1))) break;
    end = next_end;
  }
  return end;
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

/// "algorithm /protocol", which the terminal breaks at the blank, breaks after the slash; "B / A" stays.
Html head_html(std::string_view head) {
  const std::size_t slash = head.find(" /");
  if (slash == std::string_view::npos || head.substr(slash).starts_with(" / ")) return as_text(head);
  return as_text(head.substr(0, slash)) + Html{"/<wbr/>"} + as_text(head.substr(slash + 2));
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

namespace {

/// Prose without commands.
Html words_of(std::string_view text) {
  Html html;
  for (std::size_t at = 0; at < text.size();) {
    std::size_t begin = std::min(text.find_first_not_of(" \n", at), text.size());
    // "platform.fabric.nic=10 Gbps" may break before the "=", but not between the number and its unit.
    const std::size_t equals = text.substr(0, end_of_word(text, begin)).rfind('=');
    if (equals != std::string_view::npos && equals > begin) begin = equals + 1;
    html += as_text(text.substr(at, begin - at));
    const std::size_t end = end_of_quantity(text, begin);
    const std::string_view words = text.substr(begin, end - begin);
    html +=
        words.find(' ') == std::string_view::npos ? as_text(words) : element("span", words, " class=\"n\"");
    at = end;
  }
  return html;
}

}  // namespace

Html prose(std::string_view text) {
  Html html;
  for (std::size_t begin = text.find('`'); begin != std::string_view::npos; begin = text.find('`')) {
    const std::size_t end = text.find('`', begin + 1);
    if (end == std::string_view::npos) break;
    html += words_of(text.substr(0, begin)) + element("code", text.substr(begin + 1, end - begin - 1));
    text.remove_prefix(end + 1);
  }
  return html + words_of(text);
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

Html paragraph(std::string_view text) { return element("p", prose(text)) + Html{"\n"}; }

Html subheading(std::string_view text) { return element("h3", text) + Html{"\n"}; }

Html folded(std::string_view summary, const Html& content) {
  return element("details", element("summary", summary) + Html{"\n"} + content) + Html{"\n"};
}

HtmlTable::HtmlTable(std::string name, std::vector<HtmlColumn> columns)
    : name_(std::move(name)), columns_(std::move(columns)) {}

Html HtmlTable::html(bool is_tall, std::string_view attributes) const {
  Html heads;
  for (std::size_t i = 0; i < columns_.size(); ++i)
    heads += element("th", head_html(columns_[i].head), class_of(columns_, i));
  const auto has_head = [](const HtmlColumn& column) { return !column.head.empty(); };
  const bool has_heads = std::ranges::any_of(columns_, has_head);
  const Html head = has_heads ? element("thead", element("tr", heads)) : Html{};
  std::string body;
  for (const std::vector<Html>& cells : rows_) {
    body += "<tr>";
    for (std::size_t i = 0; i < cells.size(); ++i) {
      const bool is_wider = i + 1 == cells.size() && cells.size() < columns_.size();
      const std::string its = is_wider ? fmt::format(" class=\"l\" colspan=\"{}\"", columns_.size() - i)
                                       : std::string(class_of(columns_, i));
      body += element("td", cells[i], its).markup;
    }
    body += "</tr>\n";
  }
  return {
      fmt::format("<div class=\"scroll{}\" role=\"region\" tabindex=\"0\"{}>"
                  "<table class=\"t{}\"{}>{}<tbody>\n{}</tbody></table></div>\n",
                  is_tall ? " tall" : "", attribute("aria-label", name_),
                  std::min(leading_texts(columns_), most_leading), attributes, head.markup, body)};
}

}  // namespace trainyard
