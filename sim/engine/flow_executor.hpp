#pragma once
// The part that all fidelities with SimGrid share: the calendar's events that concern no collective, the end
// of job 0, and one replay from its begin to its timeline.

#include "engine/flow_network.hpp"
#include "engine/replay.hpp"

#include <vector>

namespace trainyard::engine {

/// Carries out collectives as flows on a network.
class FlowExecutor : public CollectiveExecutor, public Listener {
public:
  FlowExecutor(const TaskGraph& graph, ChangingNetwork& network, Calendar& calendar, Replay& replay)
      : graph_(graph), network_(network), calendar_(calendar), replay_(replay) {}

  void on_event(const Event& event) final;
  void on_delivered(std::uint64_t tag, double date) final;

  /// By LinkId: the bytes delivered until job 0 ended.
  [[nodiscard]] virtual std::vector<double> link_bytes() const = 0;

protected:
  /// The link event with this index in the graph happens.
  virtual void change_link(int event) = 0;
  /// An event that this executor has entered into the calendar.
  virtual void on_own_event(const Event& event) = 0;
  /// The flow with this tag has arrived.
  virtual void deliver(std::uint64_t tag, double date) = 0;
  /// Counts the bytes of a flow of another job that is under way when job 0 ends.
  virtual void count_in_flight(const ChangingNetwork::InFlight& flow) = 0;

  /// Two numbers as the tag of a flow.
  static std::uint64_t tag_of(int high, int low) {
    return static_cast<std::uint64_t>(high) << 32U | static_cast<std::uint32_t>(low);
  }
  static int high_of(std::uint64_t tag) { return static_cast<int>(tag >> 32U); }
  static int low_of(std::uint64_t tag) { return static_cast<int>(tag & 0xffffffffU); }

  const TaskGraph& graph_;
  ChangingNetwork& network_;
  Calendar& calendar_;
  Replay& replay_;

private:
  void check_end();

  bool is_over_ = false;  ///< job 0 has ended; later events are ignored
};

/// The flows of one edge of a phase, or of one group of edges, counted so far.
struct FlowProgress {
  int begun = 0;  ///< flows whose latency has begun
  int ready = 0;  ///< flows whose latency has passed
  int sent = 0;   ///< flows started
  int delivered = 0;

  /// Whether the next flow may start: its latency has passed, and those before it have arrived.
  [[nodiscard]] bool may_send() const { return sent < ready && sent <= delivered; }
};

/// Replays the graph with this executor, whose routes are already in the network.
Timeline run_flows(const TaskGraph& graph, ChangingNetwork& network, Calendar& calendar, Replay& replay,
                   FlowExecutor& executor);

}  // namespace trainyard::engine
