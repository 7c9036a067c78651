#pragma once
// A rank's collectives as Horovod's own timeline names their states, for stacks with tensor fusion, so that
// trace.json can be compared with HOROVOD_TIMELINE.

#include "run/timeline_tracks.hpp"

#include <string_view>
#include <vector>

namespace trainyard {

/// A bar of a lane. ALLREDUCE encloses the others of its collective but NEGOTIATE_ALLREDUCE, which comes
/// before it; bars of one lane are next to each other or enclose each other.
struct HorovodRow {
  std::string_view state;  ///< "NEGOTIATE_ALLREDUCE", "ALLREDUCE", "QUEUE", "MPI_ALLREDUCE"
  Seconds start;
  Seconds end;
  int collective = -1;  ///< index in the step's collectives
  int lane = 0;         ///< from 0; collectives that are negotiated at the same time have several
};

/// The bars of the rank's all-reduces, by collective; none if the stack has no fusion. Negotiation begins
/// when the rank's own gradients are ready and ends when all ranks' are and the cycle ends. The wait for
/// an earlier collective is then QUEUE with NCCL; with MPI, where calls hold up the cycle, negotiation goes
/// on. Source: Horovod docs/timeline.rst; states as in horovod/horovod pull request 15, 2017.
std::vector<HorovodRow> horovod_rows(const Run& run, const Track& track);

}  // namespace trainyard
