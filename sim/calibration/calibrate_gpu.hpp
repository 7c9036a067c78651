#pragma once
// `trainyard calibrate gpu`: a GPU profile from recordings, or from another GPU's profile.

#include "calibration/held_out.hpp"
#include "compute/gpu_profile.hpp"
#include "compute/recording.hpp"

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace trainyard {

/// The specification with fits to everything the recordings cover; `calibration` has the sources of the fits
/// and their errors on held-out kernels. `kernels` becomes the recording that times matrix products or
/// convolutions, `vector_kernels` the one that times vector ops alone (as a framework runs them); with both,
/// vector ops count from the latter only. Power comes from the recordings if they have it. The curves are
/// fitted to all products, but at most `keep` of each type stay in the table; if some do not, `kernels`
/// becomes a new file, table_beside(). Throws InputError if the recordings cover nothing, or if two of them
/// would be the same table.
GpuProfile calibrate(const GpuProfile& specification, const std::vector<Recording>& recordings,
                     std::size_t keep = most_kept_products);

/// "my_gpu_kernels.csv" of my_gpu.csv: the file of a part of a recording.
std::string part_name(const Recording& recording);

/// The recording that a calibrated profile names under `kernels`, if it is none of `recordings`: the part of
/// one of them that stays with the profile, and its facts.
std::optional<Recording> table_beside(const GpuProfile& gpu, const std::vector<Recording>& recordings);

/// Shipped profiles with measured kernels: scalings are checked on these, whichever other profiles a user
/// has.
inline constexpr std::array<std::string_view, 3> checked_profiles{"v100_sxm2_16gb", "p100_sxm2_16gb", "t4"};

/// The specification with `source`'s fractions of the peaks and of the bandwidth and its fixed times, as
/// `assumed`. A data type missing in `source` gets the fractions of fp16. `checks`: profiles with measured
/// kernels; the errors of the same scaling on them go into every figure's source and into `calibration`.
GpuProfile scale(const GpuProfile& specification, const GpuProfile& source,
                 const std::vector<GpuProfile>& checks);

/// The specification of a profile named `name` from a recording's header: peaks by architecture, clock and
/// number of multiprocessors, rates of a V100 as `assumed` until they are fitted. Throws InputError that
/// names missing facts.
GpuProfile specification_of(const RecordingFacts& facts, const std::string& name);

/// A profile as YAML, with a heading that explains how to read it. Reads back to an equal profile.
std::string profile_text(const GpuProfile& gpu);

}  // namespace trainyard
