#pragma once
// The calendar of future events: first by date, then in the order they were entered, so that equal dates
// never depend on anything but the program.

#include <cstdint>
#include <queue>
#include <vector>

namespace trainyard::engine {

enum class EventKind : std::uint8_t {
  wake,   ///< a stream (item) of a rank (target) or of the ranks it stands for goes on
  over,   ///< the collective (target) ends for all at once
  begin,  ///< a rank (item) has started up a collective (target)
  ready,  ///< a message or flow of an edge or group (item) of a stage or collective (target) may be sent
  link_change,  ///< number (target) of the graph's link events
};

struct Event {
  double date = 0;  ///< seconds; kept exact here, whatever rounding the simulation clock has
  std::uint64_t sequence = 0;
  EventKind kind = EventKind::wake;
  int target = 0;
  int item = 0;
};

class Calendar {
public:
  void enter(double date, EventKind kind, int target, int item = 0) {
    queue_.push({date, entered_++, kind, target, item});
  }
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
