#include "imports/rank_collectives.hpp"

#include "imports/profile_figures.hpp"
#include "imports/profile_groups.hpp"
#include "imports/profile_rows.hpp"
#include "interchange/input_text.hpp"

#include <algorithm>
#include <utility>

namespace trainyard {
namespace {

/// The host in "host_1234.1700000000000.pt.trace.json", which tensorboard_trace_handler writes; empty in
/// others.
std::string host_of(std::string_view file) {
  const auto is_number = [](std::string_view text) {
    return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
  };
  const std::size_t end = file.find(".pt.trace.json");
  if (end == std::string_view::npos) return {};
  file = file.substr(0, end);
  const std::size_t point = file.rfind('.');
  if (point == std::string_view::npos || !is_number(file.substr(point + 1))) return {};
  const std::size_t line = file.substr(0, point).rfind('_');
  if (line == std::string_view::npos || !is_number(file.substr(line + 1, point - line - 1))) return {};
  return std::string(file.substr(0, line));
}

RankCollective collective_of(const Profile& profile, const GpuWork& work) {
  const ProfileEvent& kernel = profile.events[work.event];
  RankCollective result{.start = kernel.start, .end = kernel.end};
  const CollectiveSize size = size_with_ranges(profile, work);
  result.operation = operation_of(profile, work);
  result.what = result.operation ? std::string(config::name_of(*result.operation)) : size.name;
  result.bytes = size.in.value_or(0);
  const auto describe = [&](std::uint32_t event) {
    if (event == no_event || profile.events[event].collective == no_event) return false;
    const CollectiveRecord& record = profile.collectives[profile.events[event].collective];
    if (record.group == TextPool::none && record.members == TextPool::none) return false;
    result.group = std::string(profile.texts[record.group]);
    if (record.members != TextPool::none) result.group += " " + std::string(profile.texts[record.members]);
    result.group_size = record.group_size;
    return true;
  };
  if (!describe(work.event)) describe(work.record);
  return result;
}

std::int64_t middle(std::vector<std::int64_t> values) {
  if (values.empty()) return 0;
  std::ranges::sort(values);
  return values[(values.size() - 1) / 2];
}

}  // namespace

RankProfile rank_profile_of(const Profile& profile, const ProfileWork& work) {
  RankProfile result;
  result.file = base_name(profile.file);
  result.host = host_of(result.file);
  result.rank = profile.rank;
  result.ranks = profile.ranks;
  result.has_steps = std::ranges::any_of(work.of_step, [](const auto& one) { return !one.empty(); });
  std::vector<std::int64_t> computing;
  ProfileGroups groups(profile);
  const int first = result.has_steps ? 0 : -1;
  const int last = result.has_steps ? static_cast<int>(work.steps.size()) - 1 : -1;
  for (int step = first; step <= last; ++step) {
    std::vector<std::pair<std::int64_t, RankCollective>> found;
    std::vector<Interval> kernels;
    for_each_work(work, step, [&](const GpuWork& one) {
      const ProfileEvent& event = profile.events[one.event];
      if (one.is_compute && !one.communicates()) kernels.push_back({event.start, event.end});
      if (!one.is_communication) return;
      RankCollective made = collective_of(profile, one);
      if (made.operation) {
        groups.add(one, *made.operation, Phase::forward);
        found.emplace_back(launch_time(profile, one), std::move(made));
      } else {
        ++result.messages;
      }
    });
    if (kernels.empty() && found.empty()) continue;
    computing.push_back(total(merged(std::move(kernels))));
    std::ranges::stable_sort(found, {}, &std::pair<std::int64_t, RankCollective>::first);
    RankStep& list = result.steps.emplace_back();
    if (step >= 0) list.number = work.steps[step].number;
    for (auto& [time, collective] : found) list.collectives.push_back(std::move(collective));
  }
  result.computing = middle(std::move(computing));
  for (const UsedGroup& one : groups.used()) {
    if (!one.ranks.empty()) result.groups.push_back(one.ranks);
  }
  return result;
}

}  // namespace trainyard
