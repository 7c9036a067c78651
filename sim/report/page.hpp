#pragma once
// A summary's page: lines of a label, a value and a remark, headings, bars of shares.

#include "platform/platform.hpp"
#include "units/quantity.hpp"

#include <cstdint>
#include <string>
#include <string_view>

namespace trainyard {

/// Writes lines of a label, a value and a remark; the remark is wrapped in its column.
class Page {
public:
  explicit Page(bool colour) : colour_(colour) {}
  /// For runs on this platform: GPUs are processors if these hold its ranks.
  Page(bool colour, const Platform& platform) : colour_(colour), platform_(&platform) {}

  void heading(std::string_view text, std::string_view remark = {});
  void paragraph(std::string_view text, std::size_t indent);
  void line(std::string_view text);
  /// label, value, remark.
  void row(std::string_view label, std::string_view value, std::string_view remark, bool is_main = false);
  /// label, then text in the columns of values and remarks.
  void text_row(std::string_view label, std::string_view text);
  /// label, time, fraction of the whole, and a bar of that length.
  void share(std::string_view label, Seconds time, Seconds whole, std::string_view colour);

  [[nodiscard]] std::string painted(std::string_view code, std::string_view text) const;
  [[nodiscard]] const std::string& text() const { return text_; }

private:
  void hang(std::string_view text, std::size_t at);
  [[nodiscard]] std::string in_words(std::string_view text) const;

  bool colour_;
  const Platform* platform_ = nullptr;
  std::string text_;
};

/// "1,024 GPUs", "1 GPU".
std::string count(std::int64_t number, std::string_view noun);

}  // namespace trainyard
