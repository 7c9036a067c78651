#pragma once
// What a simulation will cost this computer, from counts that are known before it begins.

#include "units/quantity.hpp"

#include <string>

namespace trainyard {

/// The work on which long simulations spend their time, as counted before they begin.
struct Work {
  double listed_ops = 0;       ///< ops of a rank's step, those of all its micro-batches
  double messages = 0;         ///< of collectives, sent one by one through SimGrid
  double crowding = 0;         ///< sum over these messages of those that may be under way at the same time
  double rounds = 0;           ///< of collectives, each sent as one flow through SimGrid
  double server_flows = 0;     ///< messages between workers and servers
  double worker_steps = 0;     ///< steps of all workers, over all updates and repeats
  double drawn_ops = 0;        ///< ops of these steps whose durations are random
  double explained_ranks = 0;  ///< ranks of an explanation, which simulates some 20 changes
};

/// Processor time on one core, and memory.
struct Cost {
  Seconds time;
  Bytes memory;
};

/// The cost of work on an ordinary server of 2020; other computers differ by a factor of 2, and the counts
/// are not all: expect a factor of 3. limits/README.md says how the constants were measured.
Cost cost_of(const Work& work);

/// "about 40 s and 3 GB", with one or two digits.
std::string in_words(const Cost& cost);

}  // namespace trainyard
