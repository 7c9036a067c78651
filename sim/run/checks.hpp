#pragma once
// Properties that every run must have, whatever was simulated. A violation is this program's bug, never the
// user's.

#include "engine/engine.hpp"
#include "engine/training.hpp"
#include "run/link_rows.hpp"
#include "schedule/step_plan.hpp"

#include <span>
#include <string>
#include <vector>

namespace trainyard {

/// Sentences naming the violated properties; empty if there are none: no collective faster than its bound, no
/// step shorter than the ideal engine's, every byte sent carried by every link on its way, no two tasks at
/// once on one stream. `is_shared`: other jobs have sent over the same links, which may have carried more.
std::vector<std::string> violations(const StepPlan& plan, const Timeline& timeline, Seconds lower_bound,
                                    bool is_shared, Fidelity fidelity);

/// Violations in runs of many updates: a repeat with updates shorter than `least` or a worker busy for longer
/// than the measured time, or an overloaded link (`links`: in an update of the median repeat).
std::vector<std::string> violations(std::span<const TrainingRecord> repeats, std::span<const LinkRow> links,
                                    Seconds least);

/// Throws EngineError with these sentences, unless there are none.
void require_none(const std::vector<std::string>& violations);

}  // namespace trainyard
