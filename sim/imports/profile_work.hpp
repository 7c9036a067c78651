#pragma once
// Joins the work of a GPU with the host's calls that launched it: the operator, the pass and the step of each
// kernel. Kineto's own ids of operators differ from age to age; correlation of launches and nesting in time
// hold in all.

#include "imports/profile.hpp"
#include "imports/profile_launches.hpp"

#include <optional>
#include <span>
#include <string>
#include <vector>

namespace trainyard {

struct ProfiledStep {
  int number = 0;
  std::int64_t start = 0, end = 0;  ///< ns, of the host
};

/// A kernel, copy or fill.
struct GpuWork {
  std::uint32_t event = no_event;  ///< index in the profile's events, as are the next ones
  std::uint32_t launch = no_event;
  std::uint32_t op = no_event;       ///< the outermost operator around the launch that computes
  std::uint32_t wrapper = no_event;  ///< the outermost range of the backward pass around it
  std::uint32_t leaf = no_event;     ///< the innermost of these operators
  std::uint32_t module = no_event;   ///< the innermost part of the model
  std::uint32_t record = no_event;   ///< the description of a collective by its caller
  std::uint32_t call = no_event;     ///< the innermost range that names a collective
  int step = -1;                     ///< index in `steps`; -1: outside of all
  WorkPhase phase = WorkPhase::unknown;
  bool is_communication = false;  ///< a kernel of NCCL, RCCL or HCCL
  bool is_compute = false;        ///< a kernel that is neither that nor moves memory
  bool is_exchange = false;  ///< of a library that sends tokens to experts: counted as computing by tools
                             ///< that know NCCL alone, and so in figures that are compared with theirs
  [[nodiscard]] bool communicates() const { return is_communication || is_exchange; }
};

/// A tensor whose gradient is complete, in the order in which they are.
struct ProfiledGradient {
  std::int64_t time = 0;  ///< ns, of the host
  int step = -1;
  std::optional<double> values = {};  ///< empty if shapes were not recorded
};

/// The marks that separate a profile's steps.
enum class StepMarks {
  none,
  profiler_steps,  ///< ProfilerStep#N
  ranges,          ///< of a name that the user gives, which may be parts of steps
  updates          ///< each pass of the optimizer ends one: nothing else tells
};

struct ProfileWork {
  StepMarks marks = StepMarks::none;
  std::vector<ProfiledStep> steps;                       ///< in order
  std::vector<GpuWork> work;                             ///< by start
  std::vector<std::vector<std::uint32_t>> of_step = {};  ///< indices of each step's work
  std::vector<ProfiledGradient> gradients;               ///< by time
};

/// Throws InputError if steps overlap. `step_range`: name of the ranges that are steps, in place of
/// ProfilerStep#N; if no range has just this name, those with a number behind it ("step 12"). Without either,
/// each pass of an optimizer behind backward work ends a step, if there are several.
ProfileWork join_launches(const Profile& profile, const std::optional<std::string>& step_range = {});

/// Whether a range is a step where those of the name `step_range` are: its name is that, or has a number
/// after it.
bool names_step(std::string_view name, std::string_view step_range);

/// Calls `use` with the work of a step by its index, or with all work if that is negative.
template <class Use>
void for_each_work(const ProfileWork& work, int step, Use use) {
  if (step < 0) {
    for (const GpuWork& one : work.work) use(one);
  } else {
    for (const std::uint32_t index : work.of_step[step]) use(work.work[index]);
  }
}

/// The gradients of a step by its index, or all if that is negative.
std::span<const ProfiledGradient> gradients_of(const ProfileWork& work, int step);

/// A kernel's name that means communication, as Holistic Trace Analysis tells them.
bool names_communication(std::string_view kernel);

/// A kernel of DeepEP, which dispatches tokens to experts and combines their results without NCCL.
bool names_expert_exchange(std::string_view kernel);

}  // namespace trainyard
