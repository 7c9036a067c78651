#pragma once
// The kernels of a profile as a recording, from which `calibrate gpu` makes the profile of a GPU: times of
// ops with known shapes, as trainyard_gpu_kernels records them.

#include "compute/recording.hpp"
#include "imports/profile_work.hpp"

#include <string>
#include <vector>

namespace trainyard {

/// An op of one shape, and how long its kernels took in all of its runs.
struct RecordedOp {
  RecordedKernel kernel;  ///< its time is the median
  Seconds spread;         ///< interquartile range
  int repetitions = 0;
};

struct KernelRecordings {
  RecordingFacts facts;
  std::vector<RecordedOp> ops;  ///< by op, type and shape
  int beside = 0;               ///< runs left out because they overlap with a collective
  int unknown = 0;              ///< runs of matrix products and convolutions whose shape or type is unknown
};

/// Records all ops in the profile whose kernels and shapes are known. Throws InputError if there are none.
KernelRecordings kernel_recordings(const Profile& profile, const ProfileWork& work);

/// As CSV, with the columns spread_us and repetitions. Reads back by read_recording().
std::string recordings_text(const KernelRecordings& recordings);

}  // namespace trainyard
