#pragma once
// The time of a whole job by function, as a profiler of Python shows it (cProfile): the phases of the job and
// of its step under the names of the calls that wait for them.

#include "units/quantity.hpp"

#include <string>
#include <vector>

namespace trainyard {

struct Run;

/// A function and the calls in it. Depth 0 is the whole job; a function is followed by those that it calls.
struct FunctionTime {
  std::string name;
  int depth = 0;
  double calls = 1;
  Seconds own;         ///< without the calls listed below it: cProfile's tottime
  Seconds cumulative;  ///< cProfile's cumtime
};

/// Rank 0's functions in a job of TensorFlow with Keras and Horovod (a stack with `fusion`); empty for other
/// software and without a job. An all-reduce counts for as long as a step waits for it: it runs in
/// TensorFlow's threads, so that cProfile itself shows only the time in which its op is built.
std::vector<FunctionTime> time_by_function(const Run& run);

}  // namespace trainyard
