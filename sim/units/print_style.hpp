#pragma once
// How text for people is printed: chosen once by the program (cli/terminal.hpp) and passed to every report.

#include <cstddef>

namespace trainyard {

/// Columns of the narrowest and the widest page that reports are laid out for.
inline constexpr std::size_t least_page_width = 60;
inline constexpr std::size_t most_page_width = 160;
/// Columns of a page where nothing says how wide it is: a pipe, a file.
inline constexpr std::size_t usual_page_width = 100;

struct PrintStyle {
  bool colour = false;  ///< with ANSI escapes
  std::size_t width = usual_page_width;
};

}  // namespace trainyard
