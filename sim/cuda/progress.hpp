#pragma once
// Output during measurements: a bar on a terminal, otherwise a line every ten per cent; and messages between
// them.

#include <ostream>
#include <string>
#include <string_view>

namespace trainyard::cuda {

class Progress {
public:
  /// `out` must exist longer than this.
  Progress(std::ostream& out, bool terminal) : out_(out), terminal_(terminal) {}
  ~Progress() { clear_bar(); }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  /// `done` of `rows` are finished, `current` is being measured, the rest will take `seconds_left` (negative:
  /// not known yet).
  void update(std::size_t done, std::size_t rows, double seconds_left, std::string_view current);

  /// A separate line, above the bar.
  void message(std::string_view text);

private:
  void clear_bar();

  std::ostream& out_;
  bool terminal_;
  bool bar_shown_ = false;
  std::size_t last_tenth_ = 0;
};

/// "45 s", "12 min", "2 h 5 min".
std::string duration_text(double seconds);

}  // namespace trainyard::cuda
