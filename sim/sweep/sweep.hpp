#pragma once
// A sweep's points: the product of the values in its file and on the command line, with lists taken in
// parallel and points left out.

#include "experiment/keys_meant.hpp"
#include "experiment/resolve.hpp"
#include "sweep/sweep_file.hpp"

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace trainyard {

/// Values of the varied keys, in their order.
using PointValues = std::vector<std::string>;

/// A value that leaves its key unchanged in the experiment: for lists taken in parallel.
inline constexpr const char* default_value = "default";

/// A key that does not belong to experiments: replaces the sweep's experiment.
inline constexpr const char* experiment_key = "experiment";

/// The experiment's key for a measured throughput of one GPU: points keep the factor on kernel times that the
/// sweep's experiment has without the varied keys, unless this key is varied.
inline constexpr const char* one_gpu_key = "one_gpu";

/// A key of sweeps alone, varied in parallel with others: it names their values and changes nothing else.
/// group_findings.hpp summarises the points of each name.
inline constexpr const char* group_key = "group";
inline constexpr const char* group_alone = "group names values of keys that are varied in parallel with it";
inline constexpr const char* group_hint = "zip: [{group: [small, large], model: [resnet18, bert_base]}]";

/// A published figure of a point.
struct PublishedPoint {
  std::size_t point = 0;
  std::optional<std::size_t> reference;  ///< the point that `value` is relative to
  std::string figure;                    ///< a column of sweeps
  double value = 0;                      ///< in the figure's unit; with a reference, a ratio
  std::string source;
  std::vector<std::string> keys;  ///< those that identify the point in the file
};

/// A point that is not simulated, with the reason of the file.
struct LeftOutPoint {
  PointValues values;
  std::string reason;
};

struct Sweep {
  std::string name;
  std::string title;
  std::string experiment;
  Overrides set;                    ///< for every point
  std::string changed = {};         ///< keys set on the command line: "precision=amp, nodes=1,2,4"
  std::vector<std::string> keys;    ///< varied keys
  std::vector<PointValues> points;  ///< a point is identified by its index
  std::vector<PublishedPoint> published;
  std::vector<LeftOutPoint> left_out = {};
  std::optional<ReportTables> report = {};
  Goal goal;
  bool is_of_jobs = false;     ///< points are whole jobs (job_points.hpp)
  bool is_of_targets = false;  ///< that train until a target is reached
  bool has_learning = false;   ///< points learn (job_points.hpp)
  bool has_accuracy = false;   ///< a model has accuracies for the job's epochs (job_points.hpp)
  std::vector<std::vector<std::string>> lists = {};  ///< the values of each varied key, in the file's order
};

/// A point's value of a varied key, or that of a key set for every point; empty for any other key.
std::string_view value_at(const Sweep& sweep, const PointValues& values, std::string_view key);

/// The reasons of points that are left out, in the order of the points, each with their number.
std::vector<std::pair<std::string, std::size_t>> left_out_by_reason(const Sweep& sweep);

/// The name of the experiment: a path's stem.
std::string experiment_name(const Sweep& sweep);

/// KEY=V1,V2 of the command line, in the order given.
using SweepOverrides = std::vector<std::pair<std::string, std::vector<std::string>>>;

/// The file with the settings of the command line: a varied key gets these values, another key is set, or
/// varied after the file's own keys if it has several values. Published values are kept at the points that
/// still meet their patterns. Throws InputError if a text looks like a range but is not one, and like
/// make_sweep if the file has published values.
SweepFile with_overrides(SweepFile file, const SweepOverrides& overrides);

/// The points of a file, and their published figures. Throws InputError if lists taken in parallel have
/// different lengths, a key is varied twice, no point is left or there are more than a million.
Sweep make_sweep(std::string name, const SweepFile& file);

/// Whether this point belongs to shard `shard` of `shards`, counted from 1: points are assigned in turn, so
/// that shards take about the same time.
bool is_in_shard(std::size_t point, int shard, int shards);

}  // namespace trainyard
