#pragma once
// A trace's words for collectives as operations, and back: traces know nothing of how they are carried out.

#include "collectives/operation.hpp"
#include "workload/trace.hpp"

namespace trainyard {

/// Of anything but `none`.
Operation operation_of(Communication communication);

Communication communication_of(Operation operation);

}  // namespace trainyard
