#pragma once
// The simulated network: links shared max-min fairly, flows that take bytes/bandwidth when alone, and the
// calendar driven by its clock. An interface: SimGrid, with all its libraries, takes longer to load than most
// runs take, and is loaded once the first network on it is made.

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

class FlowNetwork {
public:
  virtual ~FlowNetwork() = default;

  /// A fixed way over links (indices into the list of links); a link named k times weighs k. Returns its
  /// number, from 0 on. Only before run().
  virtual int add_route(const std::vector<int>& links) = 0;

  /// Sends `bytes` over a route. Latencies are up to the caller, on the calendar. Only during run().
  virtual void start(int route, Bytes bytes, std::uint64_t tag) = 0;

  /// Runs until no event is left; flows held up for ever by a failed link are abandoned.
  virtual void run(Calendar& calendar, Listener& listener) = 0;

  /// Flows started so far.
  [[nodiscard]] virtual std::uint64_t flows() const = 0;
};

/// A network whose links may change, and a flow may stand for several.
class ChangingNetwork : public FlowNetwork {
public:
  /// A route whose flows share links as `units` flows would, and carry the bytes of all of them.
  virtual int add_shared_route(const std::vector<int>& links, double units) = 0;

  /// Changes the capacity of a link from now on; with 0 nothing passes until the next change. Only during
  /// run().
  virtual void set_capacity(int link, Bandwidth capacity) = 0;

  struct InFlight {
    std::uint64_t tag = 0;
    Bytes delivered;
  };
  /// The running flows in order of start, with the bytes delivered so far.
  [[nodiscard]] virtual std::vector<InFlight> in_flight() const = 0;
};

/// A network of these links on SimGrid: one per process, whose clock and settings are global. Throws
/// FileError if the module with SimGrid, libtrainyard_simgrid.so in the program's folder or installed with
/// it, cannot be loaded.
std::unique_ptr<ChangingNetwork> make_simgrid_network(const std::vector<Bandwidth>& links);

/// A network of these links without SimGrid, for flows that need a small part of the network each; any number
/// per process. A route has at most one flow at a time. Order at one date: the events of the calendar, then
/// deliveries in the order in which their flows started.
std::unique_ptr<FlowNetwork> make_fair_network(const std::vector<Bandwidth>& links);

/// Loads the module, so that processes that are forked later need not. Throws as make_simgrid_network.
void load_simgrid();

/// Whether this process has made its network on SimGrid.
bool has_simgrid_network();

}  // namespace trainyard::engine
