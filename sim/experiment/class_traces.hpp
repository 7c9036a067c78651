#pragma once
// The ranks that replay each of an experiment's traces.

#include "experiment/experiment.hpp"
#include "strategy/grid.hpp"
#include "strategy/rank_class.hpp"
#include "units/ids.hpp"

#include <vector>

namespace trainyard {

/// The ranks of each trace, ascending. Every rank of the grid replays exactly one trace. Throws InputError,
/// at keys "traces[1].pipeline", for ranks that do not exist and for ranks that have two traces or none.
std::vector<std::vector<Rank>> ranks_of_traces(const std::vector<ClassTrace>& traces, const Grid& grid);

/// Gives the classes, one for each trace, their ranks and pipeline stages; sorts them by their first ranks
/// and makes their names unique. Throws as ranks_of_traces().
void place_classes(std::vector<RankClass>& classes, const std::vector<ClassTrace>& traces, const Grid& grid);

}  // namespace trainyard
