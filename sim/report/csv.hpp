#pragma once
// The tables of --out as CSV (RFC 4180, but lines end in a plain newline): one row per op, rank, link and
// collective. Column names contain SI base units; numbers have twelve significant digits.

#include "run/collective_sweep.hpp"
#include "run/run.hpp"

#include <span>
#include <string>
#include <string_view>

namespace trainyard {

/// The ops of a step in the order in which they run, of the first rank of each class: kind, work, duration,
/// source of the duration, date.
std::string ops_csv(const Run& run);

/// Every rank: its place and the busy time of its two streams.
std::string ranks_csv(const Run& run);

/// For a run of many updates: each rank's activities during the measured time.
std::string workers_csv(const Updates& updates);

/// The number of gradients by age at the time when an update used them.
std::string staleness_csv(const Updates& updates);

/// Use of the resources that serve parameters: memories and cores of hosts.
std::string servers_csv(const Updates& updates);

/// Every evaluation of every repeat of a run that learns. Empty cells: not defined, or no update since the
/// evaluation before.
std::string learning_csv(const Learning& learning);

/// The phases of a whole job in order: when each begins, its time and energy, and its mean power. Empty
/// cells: unknown.
std::string job_csv(const Run& run);

/// Time of a job with faults by checkpoint interval, simulated and by the closed form.
std::string checkpoints_csv(const FaultReport& faults);

/// Every directed link that carried bytes: capacity, bytes, fraction of the time it was busy.
std::string links_csv(std::span<const LinkRow> links);

/// Every collective in launch order: its data, date, speed, and the highest possible speed.
std::string collectives_csv(const Run& run);

/// A collective of each size and group: time, bandwidths as nccl-tests defines them, bound and closed form.
std::string timings_csv(std::span<const CollectiveTiming> timings);

}  // namespace trainyard
