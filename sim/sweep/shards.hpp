#pragma once
// Runs a sweep in parts, each with its own store, on one machine or several, and merges the parts.

#include "sweep/sweep_store.hpp"

#include <filesystem>
#include <vector>

namespace trainyard {

/// The `number`-th of `of` parts, counted from 1.
struct Shard {
  int number = 1;
  int of = 1;
};

/// DIR/shard-3-of-8.db
std::filesystem::path shard_file(const std::filesystem::path& dir, const Shard& shard);

/// The stores of shards in the folder, of any division, by name; none if there is no such folder.
std::vector<std::filesystem::path> shard_files(const std::filesystem::path& dir);

/// The merged content of all shards.
struct MergedShards {
  std::vector<SweepRow> rows;      ///< by point
  std::vector<std::string> files;  ///< read for the rows
};

/// Merges all shards in the folder. Throws FileError if there are none, some are missing or one has not
/// finished; InputError if they belong to another sweep or another shard, or to divisions into different
/// numbers.
MergedShards merged(const std::filesystem::path& dir, const StoredSweep& what);

}  // namespace trainyard
