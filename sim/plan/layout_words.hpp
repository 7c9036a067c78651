#pragma once
// A layout in words, for reports.

#include "plan/plan_space.hpp"

#include <cstddef>
#include <string>

namespace trainyard {

/// "tensor 4 with sequence x data 16, parameters sharded, 8 micro-batches of 4".
std::string layout_words(const PlanSpace& space, std::size_t point);

}  // namespace trainyard
