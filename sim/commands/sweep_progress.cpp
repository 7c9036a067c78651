#include "commands/sweep_progress.hpp"

#include "cli/terminal.hpp"
#include "document/page.hpp"
#include "report/sweep_words.hpp"
#include "units/text.hpp"
#include "units/text_layout.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fmt/format.h>
#include <string_view>
#include <sys/ioctl.h>
#include <unistd.h>

namespace trainyard {
namespace {

constexpr std::size_t most_lines = 8;
constexpr std::size_t bar_width = 30;
constexpr std::chrono::milliseconds between_drawings{100};

bool is_drawable() {
  const char* const terminal = std::getenv("TERM");
  return ::isatty(STDERR_FILENO) == 1 && terminal != nullptr && std::string_view(terminal) != "dumb";
}

std::size_t screen_width() {
  winsize size{};
  if (::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col < 20) return 79;
  return size.ws_col - 1U;
}

}  // namespace

SweepProgress::SweepProgress(std::size_t points, std::size_t before)
    : points_(points),
      before_(before),
      finished_(before),
      is_terminal_(is_drawable()),
      begun_(Clock::now()),
      drawn_(begun_) {
  if (before > 0) print_message(fmt::format("{} of {} points were already finished", before, points));
}

SweepProgress::~SweepProgress() { erase(); }

void SweepProgress::add(const SweepResult& result, const SweepRow& row) {
  ++finished_;
  if (row.status != PointStatus::done) ++failed_;
  if (!is_terminal_) {
    tell_tenth();
    return;
  }
  latest_.push_back(sweep_line(result, row));
  if (latest_.size() > most_lines) latest_.pop_front();
  const Clock::time_point now = Clock::now();
  if (now - drawn_ < between_drawings && finished_ < points_) return;
  drawn_ = now;
  erase();
  draw();
}

std::string SweepProgress::rate() const {
  const double seconds = std::chrono::duration<double>(Clock::now() - begun_).count();
  const double per_second = static_cast<double>(finished_ - before_) / std::max(seconds, 1e-3);
  const double left = static_cast<double>(points_ - finished_) / per_second;
  return fmt::format("{} points/s{}{}", rounded(per_second),
                     finished_ < points_ ? fmt::format(", {} left", human(Seconds(std::ceil(left)))) : "",
                     failed_ > 0 ? fmt::format(", {} failed", failed_) : "");
}

std::string SweepProgress::bar() const {
  const std::size_t full = bar_width * finished_ / points_;
  return fmt::format("[{}{}] {}/{}, {}", std::string(full, '#'), std::string(bar_width - full, '.'),
                     finished_, points_, rate());
}

void SweepProgress::draw() {
  const std::size_t width = screen_width();
  std::string text;
  for (const std::string& line : latest_) text += elide(line, width) + '\n';
  text += elide(bar(), width) + '\n';
  lines_ = latest_.size() + 1;
  std::fwrite(text.data(), 1, text.size(), stderr);
}

void SweepProgress::erase() {
  if (lines_ == 0) return;
  // Moves up by `lines_` lines, and clears from there to the end of the screen.
  const std::string text = fmt::format("\x1b[{}A\x1b[J", lines_);
  std::fwrite(text.data(), 1, text.size(), stderr);
  lines_ = 0;
}

void SweepProgress::tell_tenth() {
  constexpr std::size_t parts = 10;
  const std::size_t tenth = finished_ * parts / points_;
  if (tenth == (finished_ - 1) * parts / points_) return;
  print_message(
      fmt::format("{:3} %: {} of {} points, {}", 100 * finished_ / points_, finished_, points_, rate()));
}

}  // namespace trainyard
