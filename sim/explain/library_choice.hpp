#pragma once
// Where NCCL's automatic choice of an algorithm or a protocol costs time: its tuning model assumes other link
// speeds and latencies than the collectives have, so a faster part of a machine can make a step slower.

#include "collectives/algorithm.hpp"
#include "collectives/axis.hpp"
#include "collectives/nccl_tuning.hpp"
#include "config/catalogue.hpp"
#include "run/run.hpp"

#include <optional>

namespace trainyard {

/// Whether the key `sync.algorithm` makes NCCL take a faster algorithm.
enum class ChoiceRemedy {
  found,
  too_small,  ///< no value of the key gains least_gain_of_choice
  no_key,     ///< the key is not about these collectives, or is set already
  untried,    ///< the step has no closed form
};

/// The choice for one kind of collective (an operation over groups of an axis), and a faster one that NCCL
/// could have made.
struct CostlyChoice {
  Operation operation{};
  Axis axis = Axis::all;
  NcclChoice chosen;
  NcclChoice better;
  Bytes size;           ///< of the collectives of this kind, that at which a step loses most
  Seconds time;         ///< of such a collective alone, as chosen
  Seconds better_time;  ///< the same by the better choice
  Seconds gain;  ///< by which the step is shorter if its collectives of this kind take the better choice
                 ///< wherever that is faster
  ChoiceRemedy remedy = ChoiceRemedy::no_key;
  Overrides set = {};               ///< the key with its best value, where a remedy was found
  Seconds step_time_with_set = {};  ///< the step shortened by as much as its closed form is with that key
};

/// Gains below this fraction of a step are not reported.
inline constexpr double least_gain_of_choice = 0.02;
/// Larger steps are not examined: plans of their collectives by each choice would take longer than the run.
inline constexpr int most_ranks_of_choice = 1024;

/// The choice that costs a step most; empty if none costs as much as least_gain_of_choice, and for steps of
/// more than most_ranks_of_choice ranks, of other libraries and of many updates. Compares closed forms: of
/// collectives alone on the network, by all algorithms and protocols that this version of NCCL has for them.
std::optional<CostlyChoice> costly_choice(const Run& run);

}  // namespace trainyard
