#pragma once
// The limit of a step, in words derived from its numbers: the sentence that readers look for first.

#include "document/document.hpp"
#include "explain/network_limit.hpp"
#include "run/run.hpp"

#include <string>
#include <string_view>

namespace trainyard {

/// The end of the last backward op and of the last collective, over all classes of ranks.
struct Overlap {
  Seconds backward_end;       ///< end of the last backward op
  Seconds communication_end;  ///< end of the last collective; 0 without one
  Seconds hidden;             ///< communication during computation
};
Overlap overlap(const Run& run);

/// The part of a class's communication that runs behind its kernels.
Seconds hidden_communication(const ClassStep& one);

/// One or two sentences: compute or communication, why, and what would help.
std::string limit_in_words(const Run& run);

/// The part of the network that limits communication, the key that makes it faster and what that would gain.
/// Begins with a blank; empty for a step without collectives.
std::string network_limit_in_words(const Run& run);

/// "NCCL's choice of ring/LL for all_reduce of 262 kB costs 52 %: ...", if there is such a choice
/// (explain/library_choice.hpp). Begins with a blank; empty if there is none.
std::string costly_choice_in_words(const Run& run);

/// The limit in words, and the figures that tell about it: the busiest link, input, lower bound, FLOPs.
void add_limits(doc::Document& page, const Run& run);

/// ", assumed" behind a figure that is.
constexpr std::string_view assumed_mark(bool is_assumed) { return is_assumed ? ", assumed" : ""; }

/// Why the counted FLOPs of a step can take less time than the GPU's peak allows.
inline constexpr std::string_view above_peak_reason =
    "more than the peak, because Winograd's algorithm needs fewer operations than the direct convolutions "
    "counted";

}  // namespace trainyard
