#pragma once
// Inputs of a run that are known only as ranges: the results at their ends, each input alone and all
// together.

#include "units/quantity.hpp"

#include <cstddef>
#include <string>
#include <vector>

namespace trainyard {

/// The speed of a step.
struct StepSpeed {
  Seconds time;
  double throughput = 0;  ///< samples per second

  friend bool operator==(const StepSpeed&, const StepSpeed&) = default;
};

/// A value between the ends of a range, and the speed with it.
struct ValueSpeed {
  std::string value;
  StepSpeed speed;
};

/// An input that may have any value of a range. The results at its ends are those with all other inputs as in
/// the run.
struct InputRange {
  std::string key;
  std::string range;        ///< "25..100 Gbps"
  std::string low, high;    ///< the ends, as they are set: "25 Gbps"
  std::string value;        ///< in the run
  bool is_of_file = false;  ///< the experiment's file has the range
  StepSpeed at_low = {}, at_high = {};
  std::vector<ValueSpeed> between = {};  ///< of whole numbers: powers of two
  std::string reason = {};               ///< why the value is assumed; empty for a range of the command line
  int places = 1;  ///< keys that have this value for this reason and vary together; `key` is the first
};

/// The results of a run whose inputs vary.
struct InputRanges {
  std::vector<InputRange> inputs = {};  ///< in the order given; at least one
  std::size_t decisive = 0;             ///< the input that changes the throughput most
  /// Whether the slowest and fastest are those of all combinations of ends. Otherwise the effects of the
  /// inputs are added in quadrature.
  bool are_simulated = true;
  StepSpeed slowest = {}, fastest = {};  ///< of each: the extreme step time and the extreme throughput
};

/// The most inputs whose combinations of ends are all simulated.
inline constexpr std::size_t most_simulated_together = 2;

/// `base`: of the run. `together`: the speeds at all combinations of the ends of several inputs. Without
/// them, the logarithms of the inputs' effects are added in quadrature (root of the sum of squares), those
/// that make the step slower and those that make it faster each for themselves: the inputs are taken as
/// independent.
InputRanges combined(std::vector<InputRange> inputs, const StepSpeed& base,
                     const std::vector<StepSpeed>& together = {});

}  // namespace trainyard
