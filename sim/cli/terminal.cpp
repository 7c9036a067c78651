#include "cli/terminal.hpp"

#include "config/diagnostic_lines.hpp"
#include "units/control_characters.hpp"
#include "units/lines.hpp"
#include "units/text.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <sys/ioctl.h>
#include <unistd.h>

namespace trainyard {

namespace {

bool wants_colour() {
  const char* const no_color = std::getenv("NO_COLOR");
  if (no_color != nullptr && *no_color != '\0') return false;
  const char* const terminal = std::getenv("TERM");
  if (terminal == nullptr || std::string_view(terminal) == "dumb") return false;
  return ::isatty(STDOUT_FILENO) == 1;
}

/// COLUMNS, which is set for pipes too; 0 if it is not a whole number above 0.
std::size_t columns_set() {
  const char* const text = std::getenv("COLUMNS");
  const auto number = text == nullptr ? Parsed<long long>(0) : parse_integer(text);
  return number && *number > 0 ? static_cast<std::size_t>(*number) : 0;
}

/// 0 if it is no terminal, or one that does not know.
std::size_t terminal_width(int stream) {
  winsize size{};
  if (::isatty(stream) != 1 || ::ioctl(stream, TIOCGWINSZ, &size) != 0) return 0;
  return size.ws_col;
}

std::size_t page_width(int stream) {
  std::size_t width = columns_set();
  if (width == 0) width = terminal_width(stream);
  return width == 0 ? usual_page_width : std::clamp(width, least_page_width, most_page_width);
}

}  // namespace

void print_result(std::string_view text) {
  const bool is_written =
      std::fwrite(text.data(), 1, text.size(), stdout) == text.size() && std::fflush(stdout) == 0;
  if (!is_written) throw FileError(std::string("cannot write to stdout: ") + std::strerror(errno));
}

void print_message(std::string_view text) {
  const std::string lines = fitted_lines(without_controls(text), message_width()) + '\n';
  std::fwrite(lines.data(), 1, lines.size(), stderr);
}

void print_diagnostics(const std::vector<Diagnostic>& diagnostics) {
  for (const Diagnostic& diagnostic : diagnostics) {
    const std::string_view head = diagnostic.file.empty() ? "trainyard: " : "";
    print_message(std::string(head) + to_lines(diagnostic, message_width() - head.size()));
  }
}

PrintStyle print_style() { return {.colour = wants_colour(), .width = page_width(STDOUT_FILENO)}; }

std::size_t message_width() { return page_width(STDERR_FILENO); }

}  // namespace trainyard
