#pragma once
// The simulated network on SimGrid: links shared max-min fairly, flows that take bytes/bandwidth when alone,
// and the calendar driven by SimGrid's clock. No other header of this folder concerns SimGrid; README.md
// lists the settings that make it exact.

#include "engine/calendar.hpp"
#include "units/quantity.hpp"

#include <cstdint>
#include <memory>
#include <vector>

namespace trainyard::engine {

/// Receives the events of the simulation.
class Listener {
public:
  virtual ~Listener() = default;
  virtual void on_event(const Event& event) = 0;
  /// The flow with this tag has delivered its last byte.
  virtual void on_delivered(std::uint64_t tag, double date) = 0;
};

class SimgridNetwork {
public:
  explicit SimgridNetwork(const std::vector<Bandwidth>& links);
  ~SimgridNetwork();
  SimgridNetwork(const SimgridNetwork&) = delete;
  SimgridNetwork& operator=(const SimgridNetwork&) = delete;

  /// A fixed way over links (indices into the constructor's list); a link named k times weighs k. Its flows
  /// share links as `units` flows would, and carry the bytes of all of them. Only before run().
  int add_route(const std::vector<int>& links, double units = 1);

  /// Sends `bytes` over a route. Latencies are up to the caller, on the calendar. Only during run().
  void start(int route, Bytes bytes, std::uint64_t tag);

  /// Changes the capacity of a link from now on; with 0 nothing passes until the next change. Only during
  /// run().
  void set_capacity(int link, Bandwidth capacity);

  /// Runs until no event is left; flows held up for ever by a failed link are abandoned.
  void run(Calendar& calendar, Listener& listener);

  struct InFlight {
    std::uint64_t tag = 0;
    Bytes delivered;
  };
  /// The running flows in order of start, with the bytes delivered so far.
  [[nodiscard]] std::vector<InFlight> in_flight() const;

  /// Flows started so far.
  [[nodiscard]] std::uint64_t flows() const;

private:
  struct World;
  std::unique_ptr<World> world_;
};

}  // namespace trainyard::engine
