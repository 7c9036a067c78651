#pragma once
// The ranks that replay each of an experiment's traces.

#include "experiment/experiment.hpp"
#include "strategy/grid.hpp"
#include "strategy/rank_class.hpp"
#include "units/ids.hpp"

#include <vector>

namespace trainyard {

/// By trace: its ranks, ascending. Every rank of the grid replays exactly one trace. Throws InputError, at
/// keys "traces[1].pipeline", for ranks that do not exist and for ranks that have two traces or none.
std::vector<std::vector<Rank>> ranks_of_traces(const std::vector<ClassTrace>& traces, const Grid& grid);

/// Adds the first rank to the names of classes that have the same name.
void name_apart(std::vector<RankClass>& classes);

}  // namespace trainyard
