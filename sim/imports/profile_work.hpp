#pragma once
// Joins the work of a GPU with the host's calls that launched it: the operator, the pass and the step of each
// kernel. Kineto's own ids of operators differ from age to age; correlation of launches and nesting in time
// hold in all.

#include "imports/profile.hpp"

#include <optional>
#include <string>
#include <vector>

namespace trainyard {

enum class WorkPhase {
  rest,  ///< forward, the loss, and all that has no other range around it
  backward,
  optimizer,
  zero_grad,
  unknown  ///< the file has no launch of it
};

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
  std::uint32_t module = no_event;   ///< the innermost part of the model
  std::uint32_t record = no_event;   ///< the description of a collective by its caller
  int step = -1;                     ///< index in `steps`; -1: outside of all
  WorkPhase phase = WorkPhase::unknown;
  bool is_communication = false;  ///< a kernel of NCCL, RCCL or HCCL
  bool is_compute = false;        ///< a kernel that is neither that nor moves memory
};

/// A tensor whose gradient is complete, in the order in which they are.
struct ProfiledGradient {
  std::int64_t time = 0;  ///< ns, of the host
  int step = -1;
  std::optional<double> values = {};  ///< empty if shapes were not recorded
};

struct ProfileWork {
  std::vector<ProfiledStep> steps;  ///< in order
  std::vector<GpuWork> work;        ///< by start
  std::vector<ProfiledGradient> gradients;
};

/// Throws InputError if steps overlap. `step_range`: name of the ranges that are steps, in place of
/// ProfilerStep#N.
ProfileWork join_launches(const Profile& profile, const std::optional<std::string>& step_range = {});

/// A kernel's name that means communication, as Holistic Trace Analysis tells them.
bool names_communication(std::string_view kernel);

}  // namespace trainyard
