#include "report/page.hpp"

#include "report/text_layout.hpp"
#include "units/text.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <vector>

namespace trainyard {

namespace {

constexpr std::size_t page = 100;
constexpr std::size_t label_width = 18;  ///< including the indent of 2
constexpr std::size_t value_width = 18;
constexpr double bar_width = 56;

std::string padded(std::string_view text, std::size_t width) {
  const std::size_t used = columns(text);
  return std::string(text) + std::string(used < width ? width - used : 0, ' ');
}

/// A label that fills its column is still followed by a blank.
std::string label_cell(std::string_view label) {
  return "  " + padded(label, std::max(label_width - 2, columns(label) + 1));
}

std::string bar(double share) {
  return std::string(static_cast<std::size_t>(std::lround(std::clamp(share, 0.0, 1.0) * bar_width)), '#');
}

}  // namespace

std::string Page::in_words(std::string_view text) const {
  return platform_ == nullptr ? std::string(text) : in_device_words(*platform_, text);
}

void Page::heading(std::string_view text, std::string_view remark) {
  text_ += '\n' + painted("1", in_words(text));
  if (!remark.empty()) text_ += "  " + painted("2", in_words(remark));
  text_ += '\n';
}

void Page::line(std::string_view text) { (text_ += in_words(text)) += '\n'; }

void Page::paragraph(std::string_view text, std::size_t indent) {
  for (const std::string& line : wrap(in_words(text), page - indent))
    text_ += std::string(indent, ' ') + line + '\n';
}

void Page::row(std::string_view label, std::string_view value, std::string_view remark, bool is_main) {
  const std::string start = label_cell(in_words(label));
  // a value that fills its column is still followed by a blank
  const std::size_t width = std::max(value_width, columns(value) + 1);
  const std::string shown = remark.empty() ? std::string(value) : padded(value, width);
  text_ += start + (is_main ? painted("1;32", shown) : shown);
  hang(remark, label_width + width);
}

void Page::text_row(std::string_view label, std::string_view text) {
  text_ += label_cell(in_words(label));
  hang(text, label_width);
}

std::string Page::painted(std::string_view code, std::string_view text) const {
  return colour_ ? fmt::format("\x1b[{}m{}\x1b[0m", code, text) : std::string(text);
}

/// Appends `text` to the line, which has reached column `at`, and indents further lines to the same column.
void Page::hang(std::string_view text, std::size_t at) {
  const std::vector<std::string> lines = wrap(in_words(text), page - at);
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (i > 0) text_ += '\n' + std::string(at, ' ');
    text_ += lines[i];
  }
  text_ += '\n';
}

void Page::share(std::string_view label, Seconds time, Seconds whole, std::string_view colour) {
  const double share = whole.si() > 0 ? time / whole : 0;
  std::string text = fmt::format("  {:<16}{:<11} {:>7}", label, human_like(time, whole), percent(share));
  if (const std::string filled = bar(share); !filled.empty()) text += ' ' + painted(colour, filled);
  line(text);
}

std::string count(std::int64_t number, std::string_view noun) {
  return fmt::format("{} {}{}", grouped(number), noun, number == 1 ? "" : "s");
}

}  // namespace trainyard
