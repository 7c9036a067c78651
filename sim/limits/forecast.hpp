#pragma once
// What a simulation will cost this computer, from counts that are known before it begins.

#include "units/quantity.hpp"

#include <string>

namespace trainyard {

/// The work on which long simulations spend their time, as counted before they begin.
struct Work {
  double listed_ops = 0;         ///< ops of a rank's step, those of all its micro-batches, as they are listed
  double simulated_ops = 0;      ///< the same as they are simulated, with their rows and bars
  double traced_ops = 0;         ///< the same as they are written as a trace
  double messages = 0;           ///< of collectives, sent one by one through SimGrid
  double crowding = 0;           ///< sum over these messages of those that may be under way at the same time
  double rounds = 0;             ///< of collectives, each sent as one flow through SimGrid
  double server_flows = 0;       ///< messages between workers and servers
  double server_ways = 0;        ///< sum over these messages of the ways that a worker's messages take
  double worker_steps = 0;       ///< steps of all workers, over all updates and repeats
  double drawn_ops = 0;          ///< ops of these steps whose durations are random
  double explained_ranks = 0;    ///< ranks of an explanation, which simulates some 20 changes
  double page_ranks = 0;         ///< ranks of a page, for which as many changes are simulated
  double written_ranks = 0;      ///< rows of ranks.csv
  double written_bars = 0;       ///< bars of trace.json
  double judged_layouts = 0;     ///< layouts of a plan's space, each with its bounds
  double judged_ranks = 0;       ///< sum of their ranks
  double predicted_runs = 0;     ///< published runs of data-parallel jobs
  double predicted_layouts = 0;  ///< published runs whose ranks share a model
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
