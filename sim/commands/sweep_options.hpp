#pragma once
// The command line of `trainyard sweep`: the sweep, its options, output and shard.

#include "cli/commands.hpp"
#include "cli/options.hpp"
#include "cli/page_options.hpp"
#include "sweep/shards.hpp"
#include "sweep/sweep_file.hpp"

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace trainyard {

struct SweepOptions {
  std::string sweep;  ///< name or path, of a sweep or an experiment; empty: the keys say everything
  KeyOptions keys;
  std::vector<std::string> set;  ///< KEY=V1,V2, in the order given
  std::optional<std::string> one_gpu;
  int jobs = 1;
  std::optional<std::string> out;
  bool resume = false, force = false, merge = false, slurm = false, submit = false;
  PageOptions page;
  std::optional<std::string> by;  ///< a varied key; nothing: no groups
  std::optional<Shard> shard;
  int shards = 0;  ///< for --slurm; 0: one for every hundred points
  LimitOptions limits;
  Goal goal;  ///< given values replace those of the file
  std::optional<std::string> jobs_text;
  std::vector<std::string> goals;  ///< bounds of figures
  std::string shard_text, shards_text, deadline, budget, gpus_max, epochs, target, efficiency_min,
      accuracy_min;
};

/// The keys that the command line sets, with their values: "precision=amp, nodes=1,2,4".
std::string changes_of(const SweepOptions& options);

/// Adds the options to the command. `options` must live as long as the command.
void add_sweep_options(CLI::App& command, SweepOptions& options);

/// Reads the texts of the options and checks that they agree. Throws CLI::ValidationError.
void check_sweep_options(SweepOptions& options);

/// The sweep's name, and its file with the changes of the command line. An experiment is a sweep of one
/// point.
std::pair<std::string, SweepFile> sweep_asked_for(const SweepOptions& options);

/// The arguments of `trainyard sweep` for the same points, with paths that hold anywhere: for another
/// process.
std::vector<std::string> words_of(const SweepOptions& options);

}  // namespace trainyard
