#pragma once
// Elements of report.html. Texts become part of a page only through as_text, which escapes them, so that no
// user's name is ever read as markup. The output is also well-formed XML.

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace trainyard {

/// Markup: elements, escaped texts.
struct Html {
  std::string markup;

  Html& operator+=(const Html& more) {
    markup += more.markup;
    return *this;
  }
};

inline Html operator+(Html first, const Html& second) { return first += second; }

/// The text with special characters of markup escaped; control characters and bytes that are not UTF-8 become
/// U+FFFD.
Html as_text(std::string_view text);

/// The same for sentences and remarks: a number and its unit stay on one line ("6.9 ms", "2 min 10 s", "80
/// %"), and what stands between backticks is a command. Text copied from the page has ordinary blanks.
Html prose(std::string_view text);

/// <tag attributes>content</tag>; `attributes` in their written form: see attribute().
Html element(std::string_view tag, const Html& content, std::string_view attributes = {});
Html element(std::string_view tag, std::string_view text, std::string_view attributes = {});

/// name="value", the value escaped, with a blank before it.
std::string attribute(std::string_view name, std::string_view value);

/// <p>: prose; <h3>.
Html paragraph(std::string_view text);
Html subheading(std::string_view text);

/// Content that is hidden until the reader opens it.
Html folded(std::string_view summary, const Html& content);

struct HtmlColumn {
  std::string head;
  bool is_text = false;  ///< left-aligned; numbers are right-aligned
};

/// A table that scrolls sideways if it is too wide. `name` describes the content for readers who cannot see
/// it.
class HtmlTable {
public:
  HtmlTable(std::string name, std::vector<HtmlColumn> columns);

  void row(std::vector<Html> cells) { rows_.push_back(std::move(cells)); }

  [[nodiscard]] std::size_t rows() const { return rows_.size(); }
  /// `is_tall`: it also scrolls downwards, below its head.
  /// `attributes` of the table.
  [[nodiscard]] Html html(bool is_tall = false, std::string_view attributes = {}) const;

private:
  std::string name_;
  std::vector<HtmlColumn> columns_;
  std::vector<std::vector<Html>> rows_;  ///< the last cell of a row that has fewer than columns is wider
};

}  // namespace trainyard
