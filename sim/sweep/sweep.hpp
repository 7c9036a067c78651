#pragma once
// A sweep's points: what its file and the command line vary, multiplied out, side by side or left out.

#include "experiment/resolve.hpp"
#include "sweep/sweep_file.hpp"

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace trainyard {

/// Values of the varied keys, in their order.
using PointValues = std::vector<std::string>;

/// A value that leaves its key as the experiment has it: for lists taken side by side.
inline constexpr const char* default_value = "default";

/// Keys that are no experiment's own. `ranks`: so many GPUs in all, on as few nodes as have them.
/// `global_batch`: samples of a step of all ranks. `experiment`: another one than the sweep's.
inline constexpr const char* ranks_key = "ranks";
inline constexpr const char* global_batch_key = "global_batch";
inline constexpr const char* experiment_key = "experiment";

struct Sweep {
  std::string name;
  std::string title;
  std::string experiment;
  Overrides set;                    ///< of every point
  std::vector<std::string> keys;    ///< varied
  std::vector<PointValues> points;  ///< a point is known by its index
  Goal goal;
};

/// What the experiment is called: a path's stem.
std::string experiment_name(const Sweep& sweep);

/// KEY=V1,V2 of the command line, in the order given.
using SweepOverrides = std::vector<std::pair<std::string, std::vector<std::string>>>;

/// The file with what the command line sets: a key that is varied takes these values, another is set, or
/// varied behind the file's own if it has several. Throws InputError if a text means to be a range and is
/// none.
SweepFile with_overrides(SweepFile file, const SweepOverrides& overrides);

/// The points of a file. Throws InputError if lists taken side by side are of different length, a key is
/// varied twice, no point is left or there are more than a million.
Sweep make_sweep(std::string name, const SweepFile& file);

/// Whether a shard, the `shard`-th of `shards` counted from 1, has this point: points are dealt like cards,
/// so that shards take alike long.
bool is_in_shard(std::size_t point, int shard, int shards);

}  // namespace trainyard
