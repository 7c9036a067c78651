#include "imports/profile_groups.hpp"

#include <algorithm>

namespace trainyard {

ProfileGroups::ProfileGroups(const Profile& profile) : profile_(profile), ranks_(ranks_of(profile)) {}

const CollectiveRecord* ProfileGroups::record_of(const GpuWork& work) const {
  const CollectiveRecord* found = nullptr;
  for (const std::uint32_t event : {work.event, work.record}) {
    if (event == no_event || profile_.events[event].collective == no_event) continue;
    const CollectiveRecord& one = profile_.collectives[profile_.events[event].collective];
    if (one.group != TextPool::none || one.members != TextPool::none) return &one;
    if (found == nullptr) found = &one;  // knows its size alone
  }
  return found;
}

std::vector<int> ProfileGroups::members_of(const CollectiveRecord& record) const {
  const auto is_whole = [&](const std::vector<int>& ranks) {
    return !ranks.empty() &&
           (record.group_size <= 0 || static_cast<int>(ranks.size()) == record.group_size) &&
           std::ranges::adjacent_find(ranks) == ranks.end();
  };
  if (const auto ranks = listed_ranks(profile_.texts[record.members]); ranks && is_whole(*ranks))
    return *ranks;
  const auto group = profile_.groups.find(std::string(profile_.texts[record.group]));
  return group != profile_.groups.end() && is_whole(group->second.ranks) ? group->second.ranks
                                                                         : std::vector<int>();
}

std::optional<std::size_t> ProfileGroups::add(const GpuWork& work, Operation operation, Phase phase) {
  const CollectiveRecord* const record = record_of(work);
  if (record == nullptr || ranks_ == 0) return std::nullopt;
  std::vector<int> members = members_of(*record);
  const int size = members.empty() ? record->group_size : static_cast<int>(members.size());
  if (size <= 0 || size >= ranks_) return std::nullopt;
  ++collectives_;
  std::string name(profile_.texts[record->group]);
  const auto [place, is_new] = places_.try_emplace({name, members}, used_.size());
  if (is_new) {
    UsedGroup& group = used_.emplace_back();
    group.name = std::move(name);
    group.ranks = std::move(members);
    group.description = profile_.texts[record->description];
    const auto listed = profile_.groups.find(group.name);
    if (group.description.empty() && listed != profile_.groups.end())
      group.description = listed->second.description;
  }
  UsedGroup& group = used_[place->second];
  const bool is_forward = phase == Phase::forward;
  const bool sums = reduces(operation);
  group.exchanges = group.exchanges || operation == Operation::all_to_all;
  group.sums_in_forward = group.sums_in_forward || (sums && is_forward);
  group.sums_behind_forward = group.sums_behind_forward || (sums && !is_forward);
  group.gathers_in_forward = group.gathers_in_forward || (operation == Operation::all_gather && is_forward);
  return place->second;
}

int ranks_of(const Profile& profile) {
  if (profile.ranks) return *profile.ranks;
  int ranks = 0;
  for (const CollectiveRecord& one : profile.collectives) ranks = std::max(ranks, one.group_size);
  return ranks;
}

}  // namespace trainyard
