#pragma once
// Names of a trace's rows: those of the model's parts or of its operators.

#include "imports/profile_rows.hpp"

#include <vector>

namespace trainyard {

/// Names the rows of a step that have no name yet. Forward operators of the model's parts are called as
/// those; all others are counted. A backward operator has the name of its forward operator. `first_work`: of
/// each row.
void name_rows(const Profile& profile, const ProfileWork& work, int step,
               const std::vector<const GpuWork*>& first_work, std::vector<ProfileRow>& rows);

}  // namespace trainyard
