#include "progress.hpp"

#include <algorithm>
#include <cmath>

namespace trainyard::cuda {
namespace {

std::string left_text(double seconds_left) {
  return seconds_left < 0 ? std::string() : ", " + duration_text(seconds_left) + " left";
}

}  // namespace

std::string duration_text(double seconds) {
  const auto whole = static_cast<long long>(std::ceil(std::max(seconds, 0.0)));
  if (whole < 100) return std::to_string(whole) + " s";
  const long long minutes = (whole + 59) / 60;
  if (minutes < 100) return std::to_string(minutes) + " min";
  return std::to_string(minutes / 60) + " h " + std::to_string(minutes % 60) + " min";
}

void Progress::update(std::size_t done, std::size_t rows, double seconds_left, std::string_view current) {
  if (rows == 0) return;
  const std::string counts = std::to_string(done) + " of " + std::to_string(rows) + " rows";
  if (terminal_) {
    constexpr std::size_t width = 20;
    constexpr std::size_t line = 78;  // a wrapped bar cannot be erased
    const std::size_t filled = width * done / rows;
    std::string text = "[" + std::string(filled, '#') + std::string(width - filled, ' ') + "] " + counts +
                       left_text(seconds_left) + "  " + std::string(current);
    if (text.size() > line) text.resize(line);
    out_ << "\r\033[K" << text << std::flush;
    bar_shown_ = true;
    return;
  }
  const std::size_t tenth = 10 * done / rows;
  if (tenth == last_tenth_) return;
  last_tenth_ = tenth;
  out_ << counts << left_text(seconds_left) << std::endl;
}

void Progress::message(std::string_view text) {
  clear_bar();
  out_ << text << std::endl;
}

void Progress::clear_bar() {
  if (bar_shown_) out_ << "\r\033[K" << std::flush;
  bar_shown_ = false;
}

}  // namespace trainyard::cuda
