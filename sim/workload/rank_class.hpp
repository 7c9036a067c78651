#pragma once
// Which ranks are alike: a plan, a memory report or a page describes one rank of each class for all of it.

#include "units/ids.hpp"
#include "workload/trace.hpp"

#include <algorithm>
#include <span>
#include <stdexcept>
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

/// The index of the class that a rank belongs to. Throws std::logic_error if it has none.
inline std::size_t class_index(std::span<const RankClass> classes, Rank rank) {
  const auto found = std::ranges::find_if(
      classes, [&](const RankClass& one) { return std::ranges::binary_search(one.ranks, rank); });
  if (found == classes.end()) throw std::logic_error("a rank without a class");
  return static_cast<std::size_t>(found - classes.begin());
}

}  // namespace trainyard
