#pragma once
// Workers that are missing for a time: the data that an asynchronous job does not see because of a dead
// replica. The others do not wait for it, so that the order of their updates stays.

#include "strategy/order_log.hpp"
#include "units/quantity.hpp"

#include <span>

namespace trainyard {

/// A worker dies at `from` and is back at `until`. It has lost everything and reads anew.
struct Absence {
  int worker = 0;
  Seconds from;
  Seconds until;
};

/// The log of a job whose updates use one gradient each (async, downpour), without the work of absent
/// workers: gradients that arrive from the death on, until those of the steps that begin with the worker's
/// first read after its return. Later updates get the versions that they then have.
///
/// A returned worker begins with the step that it would have begun next, at most one step after its return;
/// for exponential step times, which have no memory, the order has the distribution of an exact simulation.
OrderLog without_absent(const OrderLog& log, std::span<const Absence> absences);

}  // namespace trainyard
