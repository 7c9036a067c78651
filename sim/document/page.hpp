#pragma once
// A summary's page: lines of a label, a value and a remark, headings, bars of shares.

#include "units/print_style.hpp"
#include "units/table.hpp"

#include <functional>
#include <string>
#include <string_view>
#include <utility>

namespace trainyard {

/// Writes lines of a label, a value and a remark; the remark is wrapped in its column, or on a narrow page
/// below the value.
class Page {
public:
  explicit Page(const PrintStyle& style) : style_(style) {}
  /// `in_words` changes every text: GPUs are processors on a platform whose ranks these hold.
  Page(const PrintStyle& style, std::function<std::string(std::string_view)> in_words)
      : style_(style), in_words_(std::move(in_words)) {}

  /// The remark stands on a line of its own if both do not fit on one. `is_close`: no blank line before.
  void heading(std::string_view text, std::string_view remark = {}, bool is_close = false);
  void paragraph(std::string_view text, std::size_t indent);
  void line(std::string_view text);
  /// A label and a text whose further lines are indented below its first.
  void note(std::string_view label, std::string_view text);
  /// A shell command after a label, in lines that can be pasted.
  void command(std::string_view label, std::string_view command);
  void table(const Table& table);
  /// A table whose heads are the heading.
  void headed_table(const Table& table);
  /// label, value, remark.
  void row(std::string_view label, std::string_view value, std::string_view remark, bool is_main = false);
  /// label, then text in the columns of values and remarks.
  void text_row(std::string_view label, std::string_view text);
  /// A label of this width at the margin, and the text in the columns after it.
  void labelled(std::string_view label, std::size_t width, std::string_view text);
  /// label, time, fraction of the whole, and a bar of that length.
  void share(std::string_view label, std::string_view time, double share, std::string_view colour);

  [[nodiscard]] std::string painted(std::string_view code, std::string_view text) const;
  [[nodiscard]] const std::string& text() const { return text_; }
  [[nodiscard]] std::size_t width() const { return style_.width; }
  /// Columns of a chart that follows a label of the usual width.
  [[nodiscard]] int chart_width() const;

private:
  void hang(std::string_view text, std::size_t at);
  [[nodiscard]] std::string in_words(std::string_view text) const;

  PrintStyle style_;
  std::function<std::string(std::string_view)> in_words_;
  std::string text_;
};

}  // namespace trainyard
