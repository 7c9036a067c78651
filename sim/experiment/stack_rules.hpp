#pragma once
// Which keys of a stack mean nothing for a kind of synchronisation.

#include "experiment/experiment.hpp"
#include "strategy/stack.hpp"

#include <string>
#include <vector>

namespace trainyard {

/// Throws InputError where a stack says what the experiment's kind or rule of updates cannot do: passes over
/// reduced gradients where servers update, reductions of every micro-batch where nothing is reduced.
void require_usable(const Stack& stack, const Experiment& experiment);

/// What of a stack is for collectives of gradients and not used with servers.
std::vector<std::string> unused_with_servers(const Stack& stack);

/// True if it has passes for jobs of several ranks.
bool has_passes_of_many(const Stack& stack);

}  // namespace trainyard
