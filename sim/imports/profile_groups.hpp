#pragma once
// The groups of ranks in which the collectives of a step run, as a profile describes them.

#include "collectives/operation.hpp"
#include "imports/group_layout.hpp"
#include "imports/profile_work.hpp"
#include "workload/trace.hpp"

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace trainyard {

/// Collects the groups of a step's collectives that have some of the ranks only.
class ProfileGroups {
public:
  explicit ProfileGroups(const Profile& profile);

  /// Counts a collective. Returns the index of its group; nothing if all ranks take part, or the profile says
  /// nothing of its group.
  std::optional<std::size_t> add(const GpuWork& work, Operation operation, Phase phase);

  [[nodiscard]] const std::vector<UsedGroup>& used() const { return used_; }
  /// Collectives of these groups.
  [[nodiscard]] int collectives() const { return collectives_; }
  /// The ranks of the job: as the profile says it, or those of its largest group. 0 if it has none.
  [[nodiscard]] int ranks() const { return ranks_; }

private:
  [[nodiscard]] const CollectiveRecord* record_of(const GpuWork& work) const;
  [[nodiscard]] std::vector<int> members_of(const CollectiveRecord& record) const;

  const Profile& profile_;
  int ranks_ = 0;
  std::vector<UsedGroup> used_;
  std::map<std::pair<std::string, std::vector<int>>, std::size_t> places_;
  int collectives_ = 0;
};

/// Ranks of the job of a profile: as it says, or those of its largest group; 0 if it has none.
int ranks_of(const Profile& profile);

}  // namespace trainyard
