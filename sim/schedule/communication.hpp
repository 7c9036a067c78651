#pragma once
// Converts a trace's words for collectives to operations, and back: traces do not depend on the algorithms.

#include "collectives/operation.hpp"
#include "workload/trace.hpp"

namespace trainyard {

/// For all values except `none`.
Operation operation_of(Communication communication);

Communication communication_of(Operation operation);

}  // namespace trainyard
