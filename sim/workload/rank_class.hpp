#pragma once
// Which ranks are alike: a plan, a memory report or a page describes one rank of each class for all of it.

#include "units/ids.hpp"
#include "workload/trace.hpp"

#include <string>
#include <vector>

namespace trainyard {

/// Ranks that run the same ops on data of the same shape. Data parallelism has one class; a model that is
/// split over ranks has one for each part.
struct RankClass {
  std::string name;         ///< for people: "all ranks"
  std::vector<Rank> ranks;  ///< ascending
  Trace trace;              ///< of each rank; without durations unless the user's trace has them
};

}  // namespace trainyard
