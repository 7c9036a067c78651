#pragma once
// Progress of a sweep, on stderr: on a terminal the latest rows above a bar with rate and remaining time,
// redrawn; elsewhere a line for every tenth.

#include "sweep/sweep_result.hpp"

#include <chrono>
#include <cstddef>
#include <deque>
#include <string>

namespace trainyard {

class SweepProgress {
public:
  /// `before`: points that were already finished at the beginning.
  SweepProgress(std::size_t points, std::size_t before);
  ~SweepProgress();
  SweepProgress(const SweepProgress&) = delete;
  SweepProgress& operator=(const SweepProgress&) = delete;

  void add(const SweepResult& result, const SweepRow& row);

private:
  using Clock = std::chrono::steady_clock;

  [[nodiscard]] std::string bar() const;
  [[nodiscard]] std::string rate() const;
  void draw();
  void erase();
  void tell_tenth();

  std::size_t points_, before_, finished_;
  std::size_t failed_ = 0;
  bool is_terminal_;
  Clock::time_point begun_, drawn_;
  std::deque<std::string> latest_;
  std::size_t lines_ = 0;  ///< on the screen
};

}  // namespace trainyard
