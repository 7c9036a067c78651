#pragma once
// A step of a profile as the rows of a trace: one for each operator of a pass, with the time of its kernels
// that no earlier kernel covers, so that the rows and the idle and exposed times add up to the step.

#include "imports/intervals.hpp"
#include "imports/op_names.hpp"
#include "imports/profile_work.hpp"
#include "workload/trace.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace trainyard {

/// Work of one operator.
struct ProfileRow {
  Phase phase{};
  OpKind kind = OpKind::measured;
  std::string layer = {};
  std::uint32_t op = no_event;  ///< of the profile's events; none if the kernel's name is all there is
  std::int64_t time = 0;        ///< ns, that no earlier work covers
  std::int64_t beside = 0;      ///< ns of it while a collective runs
  std::int64_t first_launch = 0, first_start = 0;  ///< ns
  std::int64_t idle_before = 0;     ///< ns in which the GPU does nothing, before one of its kernels
  std::int64_t copying_before = 0;  ///< ns of copies from and to the host while nothing else runs, likewise
  /// ns before one of its kernels in which a collective runs that it does not wait for, and nothing computes:
  /// the host has not launched it yet.
  std::int64_t held_before = 0;
  int kernels = 0;
  std::vector<std::uint32_t> events = {};  ///< these kernels, as indices of the profile's events
  KernelHints hints = {};
  bool adds_gradients = false;  ///< to those of earlier micro-batches
};

/// A collective and the row after which it is launched; -1: before all.
struct ProfileCollective {
  std::uint32_t work = 0;  ///< index in the joined work
  int after = -1;
};

struct StepRows {
  std::vector<ProfileRow> rows;
  std::vector<ProfileCollective> collectives;  ///< in the order of launches
  std::int64_t start = 0;                      ///< ns of the profile's clock: the step's first work begins
  std::int64_t period = 0;  ///< ns from the step's first work to the next step's, or to its own end
  bool is_part = false;     ///< other work follows before the next: the period ends with the step's own work
  std::int64_t computing = 0;  ///< ns, sum of the rows
  std::int64_t exposed = 0;    ///< ns of communication while nothing computes
  std::int64_t copying = 0;    ///< ns of copies from and to the host while nothing else runs
  std::int64_t idle = 0;       ///< ns, the rest
  /// The parts of these two behind the last row's last kernel: all others are before one of the rows.
  std::int64_t idle_behind = 0, copying_behind = 0;
};

/// Finds rows by the time of their first launch.
class RowsByLaunch {
public:
  RowsByLaunch(const std::vector<ProfileRow>& rows, bool (*counts)(const ProfileRow&));
  /// Index of the row launched last until then, of several at once the last one.
  [[nodiscard]] std::optional<std::size_t> last_until(std::int64_t time) const;

private:
  std::vector<std::pair<std::int64_t, std::size_t>> order_;
};

/// The rows of a step by its index; of the whole profile with -1. With `launched` only work that the host
/// launched then: a micro-batch.
StepRows rows_of(const Profile& profile, const ProfileWork& work, int step,
                 const std::optional<Interval>& launched = {});

/// When the host launched work; when it began, if the file has no launch of it.
std::int64_t launch_time(const Profile& profile, const GpuWork& work);

}  // namespace trainyard
