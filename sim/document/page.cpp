#include "document/page.hpp"

#include "units/text.hpp"
#include "units/text_layout.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <utility>
#include <vector>

namespace trainyard {

namespace {

constexpr std::size_t label_width = 18;  ///< including the indent of 2
constexpr std::size_t value_width = 18;
constexpr std::size_t beside_bar = 44;    ///< columns that a line with a bar has besides it
constexpr std::size_t beside_chart = 24;  ///< the same for a chart
/// A remark with less room than this begins on the next line.
constexpr std::size_t least_room = 32;

std::string padded(std::string_view text, std::size_t width) {
  const std::size_t used = columns(text);
  return std::string(text) + std::string(used < width ? width - used : 0, ' ');
}

/// A label that fills its column is still followed by a blank.
std::string label_cell(std::string_view label) {
  return "  " + padded(label, std::max(label_width - 2, columns(label) + 1));
}

std::string bar(double share, std::size_t width) {
  const double filled = std::clamp(share, 0.0, 1.0) * static_cast<double>(width);
  return std::string(static_cast<std::size_t>(std::lround(filled)), '#');
}

}  // namespace

std::string Page::in_words(std::string_view text) const {
  return in_words_ ? in_words_(text) : std::string(text);
}

void Page::heading(std::string_view text, std::string_view remark, bool is_close) {
  const std::string head = in_words(text);
  const std::string about = in_words(remark);
  const bool fits = columns(head) + 2 + columns(about) <= style_.width;
  if (!is_close) text_ += '\n';
  text_ += painted("1", fits || remark.empty() ? fitted_lines(head, style_.width) : head);
  if (!remark.empty() && fits) text_ += "  " + painted("2", about);
  text_ += '\n';
  if (remark.empty() || fits) return;
  for (const std::string& line : wrap(about, style_.width - 2)) text_ += "  " + painted("2", line) + '\n';
}

void Page::line(std::string_view text) {
  const std::string its = in_words(text);
  const bool has_escapes = its.find('\x1b') != std::string::npos;
  text_ += (has_escapes ? its : fitted_lines(its, style_.width)) + '\n';
}

void Page::note(std::string_view label, std::string_view text) {
  text_ += hanging(label, in_words(text), style_.width);
}

void Page::command(std::string_view label, std::string_view command) {
  const bool fits = columns(label) + columns(command) <= style_.width;
  text_ += label.substr(0, fits ? label.size() : label.find_last_not_of(' ') + 1);
  if (!fits) text_ += "\n    ";
  text_ += command_lines(command, fits ? columns(label) : 4, style_.width) + '\n';
}

void Page::table(const Table& table) {
  for (const std::string& its : table.lines(style_.width)) line(its);
}

void Page::headed_table(const Table& table) {
  bool is_head = true;
  for (const std::string& its : table.lines(style_.width)) {
    if (std::exchange(is_head, false))
      heading(its);
    else
      line(its);
  }
}

int Page::chart_width() const { return static_cast<int>(style_.width - beside_chart); }

void Page::paragraph(std::string_view text, std::size_t indent) {
  for (const std::string& line : wrap(in_words(text), style_.width - indent))
    text_ += std::string(indent, ' ') + line + '\n';
}

void Page::row(std::string_view label, std::string_view value, std::string_view remark, bool is_main) {
  const std::string start = label_cell(in_words(label));
  // a value that fills its column is still followed by a blank
  const std::size_t width = std::max(value_width, columns(value) + 1);
  const std::size_t at = columns(start) + width;
  const bool has_room =
      at + least_room <= style_.width || at + columns(in_words(remark)) <= style_.width || remark.empty();
  const std::string shown = remark.empty() || !has_room ? std::string(value) : padded(value, width);
  text_ += start + (is_main ? painted("1;32", shown) : shown);
  if (has_room) {
    hang(remark, at);
    return;
  }
  text_ += '\n' + std::string(label_width, ' ');
  hang(remark, label_width);
}

void Page::text_row(std::string_view label, std::string_view text) {
  const std::string start = label_cell(in_words(label));
  text_ += start;
  hang(text, columns(start));
}

void Page::labelled(std::string_view label, std::size_t width, std::string_view text) {
  text_ += hanging(padded(in_words(label), width), in_words(text), style_.width);
}

std::string Page::painted(std::string_view code, std::string_view text) const {
  return style_.colour ? fmt::format("\x1b[{}m{}\x1b[0m", code, text) : std::string(text);
}

/// Appends `text` to the line, which has reached column `at`, and indents further lines to the same column.
void Page::hang(std::string_view text, std::size_t at) {
  const std::vector<std::string> lines = wrap(in_words(text), style_.width - at);
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (i > 0) text_ += '\n' + std::string(at, ' ');
    text_ += lines[i];
  }
  text_ += '\n';
}

void Page::share(std::string_view label, std::string_view time, double share, std::string_view colour) {
  std::string text = fmt::format("  {:<16}{:<11} {:>7}", label, time, percent(share));
  if (const std::string filled = bar(share, style_.width - beside_bar); !filled.empty())
    text += ' ' + painted(colour, filled);
  line(text);
}

}  // namespace trainyard
