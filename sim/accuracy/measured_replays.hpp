#pragma once
// Training steps on one GPU that were measured without a profiler and whose recorded kernels are known:
// workloads/published/errors/replays.csv, built into the program. The error of a replay comes from them
// (replay_error.hpp).

#include "units/quantity.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace trainyard {

struct MeasuredReplay {
  std::string model;  ///< shipped model, of which it may be a part
  std::string trace;  ///< of workloads/traces; empty: not shipped
  Seconds measured;   ///< the step without a profiler
  Seconds replayed;   ///< its kernels
  Seconds mean_op;    ///< of an op of the forward and backward pass
};

/// The steps of a text in the form of that file. Throws InputError if a number is none.
std::vector<MeasuredReplay> read_measured_replays(std::string_view csv);

/// The replays of the file.
const std::vector<MeasuredReplay>& measured_replays();

}  // namespace trainyard
