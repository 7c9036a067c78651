#pragma once
// The calendar of future events, by date and then in the order of entry, so that the order of events with
// equal dates depends only on the program.

#include <cstdint>
#include <queue>
#include <vector>

namespace trainyard::engine {

enum class EventKind : std::uint8_t {
  wake,         ///< a stream (item) of a rank (target), and of the ranks simulated by it, goes on
  over,         ///< the collective (target) ends for all at once
  begin,        ///< a rank (item) has finished the overhead of a collective (target)
  ready,        ///< an edge or group (item) of a phase or collective (target) may send a message or flow
  link_change,  ///< link event number (target) of the graph
};

struct Event {
  double date = 0;  ///< seconds; exact, whereas the simulation clock may round
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
