#pragma once
// The network of the simulation on SimGrid: links shared max-min fairly, flows that take latency +
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

  /// A fixed way over links (indices into the constructor's list); a link named k times weighs k.
  /// Only before run().
  int add_route(const std::vector<int>& links);

  /// Sends `bytes` over a route after `latency`. Only while run() is under way.
  void start(int route, Seconds latency, Bytes bytes, std::uint64_t tag);

  /// Runs until nothing is left to happen.
  void run(Calendar& calendar, Listener& listener);

  [[nodiscard]] std::uint64_t flows() const;

private:
  struct World;
  std::unique_ptr<World> world_;
};

}  // namespace trainyard::engine
