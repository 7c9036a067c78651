#pragma once
// The tables of --out as CSV (RFC 4180, but lines end in a plain newline): one row per op, rank, link and
// collective. Column names carry SI base units; numbers have twelve significant digits.

#include "run/run.hpp"

#include <span>
#include <string>

namespace trainyard {

/// The ops of one rank's step in the order they run: what, how much work, how long, resting on what, when on
/// rank 0.
std::string layers_csv(const Run& run);

/// Every rank: where it sits and how long its two streams were busy.
std::string ranks_csv(const Run& run);

/// Of a run of many updates: what each rank did with the measured time.
std::string workers_csv(const Updates& updates);

/// How many gradients were how old when an update used them.
std::string staleness_csv(const Updates& updates);

/// How busy what serves parameters was: memories and cores of hosts.
std::string servers_csv(const Updates& updates);

/// How long a job with faults takes with which checkpoint interval, simulated and by the closed form.
std::string checkpoints_csv(const JobReport& faults);

/// Every directed link that carried bytes: capacity, bytes, share of the time it was busy.
std::string links_csv(std::span<const LinkRow> links);

/// Every collective in the order launched: what it carried, when, how fast, and how fast it could have been.
std::string collectives_csv(const Run& run);

}  // namespace trainyard
