#pragma once
// The calendar of future events: first by date, then in the order they were entered, so that equal dates
// never depend on anything but the program.

#include <cstdint>
#include <queue>
#include <vector>

namespace trainyard::engine {

/// Wakes one stream of one rank (or of the ranks it stands for), or ends a collective when stream is
/// negative.
struct Event {
  double date = 0;  ///< seconds; kept exact here, whatever rounding the simulation clock has
  std::uint64_t sequence = 0;
  int target = 0;  ///< rank, or collective
  int stream = 0;
};

class Calendar {
public:
  void enter(double date, int target, int stream) { queue_.push({date, entered_++, target, stream}); }
  [[nodiscard]] bool empty() const { return queue_.empty(); }
  [[nodiscard]] const Event& next() const { return queue_.top(); }
  Event pop() {
    const Event event = queue_.top();
    queue_.pop();
    return event;
  }
  [[nodiscard]] std::uint64_t entered() const { return entered_; }

private:
  struct Later {
    bool operator()(const Event& a, const Event& b) const {
      return a.date > b.date || (a.date == b.date && a.sequence > b.sequence);
    }
  };
  std::priority_queue<Event, std::vector<Event>, Later> queue_;
  std::uint64_t entered_ = 0;
};

}  // namespace trainyard::engine
