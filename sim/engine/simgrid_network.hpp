#pragma once
// The network of the simulation on SimGrid: links shared max-min fairly, flows that take
// bytes/bandwidth when alone, and the calendar driven by SimGrid's clock. The only header of this folder that
// speaks for SimGrid; README.md says which of its settings make it exact.

#include "engine/calendar.hpp"
#include "units/quantity.hpp"

#include <cstdint>
#include <memory>
#include <vector>

namespace trainyard::engine {

/// What happens while the simulation runs.
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
  /// share links as `units` flows of a unit each would, to which each of their bytes counts in part. Only
  /// before run().
  int add_route(const std::vector<int>& links, double units = 1);

  /// Sends `bytes` over a route. Latencies are the caller's: they pass on the calendar. Only while run() is
  /// under way.
  void start(int route, Bytes bytes, std::uint64_t tag);

  /// Gives a link another capacity from now on; with 0 nothing passes until it gets another. Only while run()
  /// is under way.
  void set_capacity(int link, Bandwidth capacity);

  /// Runs until nothing is left to happen; flows that nothing lets through are left behind.
  void run(Calendar& calendar, Listener& listener);

  struct InFlight {
    std::uint64_t tag = 0;
    Bytes delivered;
  };
  /// The flows under way, in the order in which they started, and how far they have got.
  [[nodiscard]] std::vector<InFlight> in_flight() const;

  /// Flows started so far.
  [[nodiscard]] std::uint64_t flows() const;

private:
  struct World;
  std::unique_ptr<World> world_;
};

}  // namespace trainyard::engine
