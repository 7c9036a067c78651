#pragma once
// Figures of a profile, or of one of its steps: counts, times and bytes, as other tools define them
// (Holistic Trace Analysis' get_comm_comp_overlap), so that they can be compared.

#include "collectives/operation.hpp"
#include "imports/profile_work.hpp"

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>

namespace trainyard {

inline constexpr std::size_t work_phases = 5;

struct CollectiveFigures {
  int count = 0;
  double bytes = 0;      ///< of one rank's input
  double out_bytes = 0;  ///< of its output, of those where it differs
  int unsized = 0;       ///< those without a size
};

/// Times in ns, summed over kernels, or `busy`: at least one of them runs.
struct ProfileFigures {
  int compute_kernels = 0, communication_kernels = 0, copies = 0, fills = 0;
  std::int64_t compute_time = 0, communication_time = 0, memory_time = 0;
  std::int64_t span = 0;  ///< from the first start to the last end
  std::int64_t busy = 0, busy_compute = 0, busy_communication = 0;
  std::int64_t exposed_communication = 0;           ///< while no kernel computes
  std::array<int, work_phases> kernels_of_phase{};  ///< that compute, by WorkPhase
  std::array<std::int64_t, work_phases> time_of_phase{};
  std::map<std::string, CollectiveFigures> collectives;  ///< by name
  int gradients = 0;
  std::optional<double> gradient_values = 0;  ///< empty if shapes were not recorded
};

/// The figures of a step, by its index, or of the whole file.
ProfileFigures figures_of(const Profile& profile, const ProfileWork& work, std::optional<int> step = {});

/// Bytes of a collective: of a rank's input and output; nothing where the file has no size.
struct CollectiveSize {
  std::string name;  ///< "allreduce", or the kernel's
  std::optional<double> in = {}, out = {};
  int group = 0;  ///< ranks that take part; 0 if unknown
};
CollectiveSize size_of(const Profile& profile, const GpuWork& work);

/// As above; where neither the kernel nor the record of its caller has a size, that of the operand of the
/// range around it ("nccl:all_reduce"): files of 2022 and 2023 have it only there. Figures that are compared
/// with those of other tools do not count it.
CollectiveSize size_with_ranges(const Profile& profile, const GpuWork& work);

/// The operation of a kernel that communicates, by its record, its name or the range around its launch;
/// nothing for messages between two ranks and unknown kernels.
std::optional<Operation> operation_of(const Profile& profile, const GpuWork& work);

}  // namespace trainyard
