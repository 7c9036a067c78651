#pragma once
// The order in which a simulated job of many updates read parameters and applied gradients, with no times
// except those of updates. Written by the engine, replayed with real gradients by learn/.
//
// Events stand in the order in which the holder of a shard (a server, or the ranks together) saw them. A read
// copies the shard as it is at that point of the order into the worker's copy, so a replay needs no old
// versions.

#include "units/quantity.hpp"

#include <cstdint>
#include <vector>

namespace trainyard {

/// `worker` takes a copy of `shard`, with which it computes its step `step` and, until its next read, those
/// after it.
struct ShardRead {
  std::int32_t worker = 0;
  std::int32_t shard = 0;
  std::int32_t step = 0;  ///< steps of a worker count from 0, also those that are cancelled later
};

/// The gradients of `steps` consecutive steps of `worker`, summed.
struct GradientUse {
  std::int32_t worker = 0;
  std::int32_t first_step = 0;
  std::int32_t steps = 1;
};

/// The gradients uses[first_use] to uses[last_use - 1] become version `version` of `shard`, averaged over the
/// uses.
struct ShardUpdate {
  Seconds at;
  std::int64_t version = 0;  ///< after the update; 0 is the initial state
  std::size_t first_use = 0;
  std::size_t last_use = 0;
  std::size_t reads_before = 0;  ///< number of reads that come earlier in the order
  std::int32_t shard = 0;
};

struct OrderLog {
  int workers = 1;
  int shards = 1;
  std::vector<ShardRead> reads;
  std::vector<GradientUse> uses;
  std::vector<ShardUpdate> updates;
};

}  // namespace trainyard
