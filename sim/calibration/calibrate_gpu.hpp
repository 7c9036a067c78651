#pragma once
// `trainyard calibrate gpu`: a GPU profile from recordings, or from another GPU's profile.

#include "calibration/held_out.hpp"
#include "compute/gpu_profile.hpp"
#include "compute/recording.hpp"

#include <array>
#include <string>
#include <string_view>
#include <vector>

namespace trainyard {

/// The specification with everything the recordings cover fitted to them, and in `calibration` what the fits
/// rest on and how far they miss held-out kernels. `kernels` becomes the recording that times matrix products
/// or convolutions, `vector_kernels` the one that times vector ops alone (as a framework runs them); where
/// both are given, vector ops count from the latter only. Power is the recordings' where they have any.
/// Throws InputError if they cover nothing, or if two of them would be the same table.
GpuProfile calibrate(const GpuProfile& specification, const std::vector<Recording>& recordings);

/// Shipped profiles with kernels of their own: what a scaling is checked against, whatever else a user has.
inline constexpr std::array<std::string_view, 3> checked_profiles{"v100_sxm2_16gb", "p100_sxm2_16gb", "t4"};

/// The specification with `source`'s parts of the peaks and of the bandwidth and its fixed times, as
/// `assumed`. A data type that `source` lacks has the parts of fp16. `checks` are profiles with kernels of
/// their own: how far the same scaling misses those is said with every figure and in `calibration`.
GpuProfile scale(const GpuProfile& specification, const GpuProfile& source,
                 const std::vector<GpuProfile>& checks);

/// What a recording itself says of its GPU, as the specification of a profile named `name`: peaks by
/// architecture, clock and number of multiprocessors, rates of a V100 as `assumed` until they are fitted.
/// Throws InputError, naming what is missing.
GpuProfile specification_of(const RecordingFacts& facts, const std::string& name);

/// A profile as YAML, with a head that says how to read it. Reads back to an equal profile.
std::string profile_text(const GpuProfile& gpu);

}  // namespace trainyard
