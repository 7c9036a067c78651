#pragma once
// Steps of a file that is cut off: which of them have lost launches or work of the GPU with its end.

#include "imports/profile_work.hpp"

#include <vector>

namespace trainyard {

/// For each step, whether all of it is there: every launch in it has its work of the GPU, except for calls
/// that have none anywhere in the file (queries of events, allocations), and no work without a launch in the
/// file runs among its own. Events stand in no certain order, so that any step may miss some.
std::vector<bool> complete_steps(const Profile& profile, const ProfileWork& work);

}  // namespace trainyard
