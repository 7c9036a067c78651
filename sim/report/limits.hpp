#pragma once
// What limits a step, in words and derived from its numbers: the sentence a reader looks for first.

#include "run/run.hpp"

#include <string>

namespace trainyard {

/// When the gradients were there and when the last collective was done, on rank 0's clock.
struct Overlap {
  Seconds backward_end;       ///< end of the last backward op
  Seconds communication_end;  ///< end of the last collective; 0 without one
  Seconds hidden;             ///< communication that ran while something was computed
};
Overlap overlap(const Run& run);

/// Mean share of its capacity that the busiest link carried while the collectives ran; 0 when nothing was
/// sent.
double busy_while_communicating(const Run& run);

/// The row of the link that the result calls its busiest; null where it has none.
const LinkRow* busiest_link(const Run& run);

/// One or two sentences: compute or communication, why, and what would help.
std::string limit_in_words(const Run& run);

/// Why a step can need more FLOPs than the peak lets through: "; counted as ...". Empty below the peak.
std::string above_peak_in_words(const Run& run);

}  // namespace trainyard
