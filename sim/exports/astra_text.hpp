#pragma once
// A data-parallel step as a workload of ASTRA-sim: a layer a line.

#include "imports/astra_workload.hpp"
#include "run/run.hpp"
#include "units/quantity.hpp"

#include <string>

namespace trainyard {

struct AstraWorkloadText {
  std::string text;
  int broadcasts = 0;     ///< of buffers before forward: left out, since the format has no place for them
  Bytes broadcast_bytes;  ///< their sizes, added up
  int side_kernels = 0;   ///< of the framework around collectives, such as copies: left out as well
  Seconds side_time;      ///< their durations, added up
};

/// Times of kernels alone, in whole units, of which each column's sum is right to one. A collective stands
/// behind the weight gradient of the layer that completes its data; the update of all parameters is divided
/// by their number. Broadcasts before forward are left out and counted. Throws InputError for runs without
/// one step op by op, for several micro-batches, and for collectives that the format has no place for.
AstraWorkloadText astra_workload_text(const Run& run, WorkloadTime unit);

}  // namespace trainyard
