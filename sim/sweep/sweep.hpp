#pragma once
// A sweep's points: the product of the values in its file and on the command line, with lists taken in
// parallel and points left out.

#include "experiment/resolve.hpp"
#include "sweep/sweep_file.hpp"

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace trainyard {

/// Values of the varied keys, in their order.
using PointValues = std::vector<std::string>;

/// A value that leaves its key unchanged in the experiment: for lists taken in parallel.
inline constexpr const char* default_value = "default";

/// Keys that do not belong to experiments. `ranks`: total number of GPUs, on as few nodes as possible.
/// `global_batch`: samples per step of all ranks. `experiment`: replaces the sweep's experiment.
inline constexpr const char* ranks_key = "ranks";
inline constexpr const char* global_batch_key = "global_batch";
inline constexpr const char* experiment_key = "experiment";

/// The experiment's key for a measured throughput of one GPU: points keep the factor on kernel times that the
/// sweep's experiment has without the varied keys, unless this key is varied.
inline constexpr const char* one_gpu_key = "one_gpu";

struct Sweep {
  std::string name;
  std::string title;
  std::string experiment;
  Overrides set;                    ///< for every point
  std::vector<std::string> keys;    ///< varied keys
  std::vector<PointValues> points;  ///< a point is identified by its index
  Goal goal;
  bool is_of_jobs = false;  ///< points are whole jobs (job_points.hpp)
};

/// The name of the experiment: a path's stem.
std::string experiment_name(const Sweep& sweep);

/// KEY=V1,V2 of the command line, in the order given.
using SweepOverrides = std::vector<std::pair<std::string, std::vector<std::string>>>;

/// The file with the settings of the command line: a varied key gets these values, another key is set, or
/// varied after the file's own keys if it has several values. Throws InputError if a text looks like a range
/// but is not one.
SweepFile with_overrides(SweepFile file, const SweepOverrides& overrides);

/// The points of a file. Throws InputError if lists taken in parallel have different lengths, a key is varied
/// twice, no point is left or there are more than a million.
Sweep make_sweep(std::string name, const SweepFile& file);

/// Whether this point belongs to shard `shard` of `shards`, counted from 1: points are assigned in turn, so
/// that shards take about the same time.
bool is_in_shard(std::size_t point, int shard, int shards);

}  // namespace trainyard
