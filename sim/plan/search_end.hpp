#pragma once
// Decides when a plan ends early.

#include "units/quantity.hpp"

#include <chrono>
#include <functional>
#include <optional>
#include <utility>

namespace trainyard {

/// Counts from its construction.
class SearchEnd {
public:
  using Clock = std::chrono::steady_clock;

  /// `most`: the time that the user allows. `is_interrupted`: whether the user has asked for the end.
  SearchEnd(std::optional<Seconds> most, std::function<bool()> is_interrupted,
            std::function<Clock::time_point()> now = &Clock::now)
      : most_(most), is_interrupted_(std::move(is_interrupted)), now_(std::move(now)), begun_(now_()) {}

  /// Whether no more is to be begun.
  bool is_asked() {
    const std::chrono::duration<double> past = now_() - begun_;
    is_late_ = is_late_ || (most_ && past.count() > most_->si());
    was_asked_ = is_late_ || is_interrupted_();
    return was_asked_;
  }

  /// Whether is_asked() has ended something.
  [[nodiscard]] bool was_asked() const { return was_asked_; }

  /// Whether the time did.
  [[nodiscard]] bool is_late() const { return is_late_; }

private:
  std::optional<Seconds> most_;
  std::function<bool()> is_interrupted_;
  std::function<Clock::time_point()> now_;
  Clock::time_point begun_;
  bool was_asked_ = false;
  bool is_late_ = false;
};

}  // namespace trainyard
