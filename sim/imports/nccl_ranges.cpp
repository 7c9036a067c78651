#include "imports/nccl_ranges.hpp"

#include "imports/op_names.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <tuple>

namespace trainyard {
namespace {

void add_call(const NcclRange& call, std::int64_t start, std::int64_t end, Profile& profile) {
  const auto operation = operation_named(call.name);
  CollectiveRecord record{.name = profile.texts.id(call.name)};
  if (operation != Operation::reduce_scatter) {
    record.in_bytes = call.bytes;
  } else if (profile.ranks) {
    record.in_bytes = *call.bytes * *profile.ranks;
  }
  ProfileEvent event{.start = start, .end = end, .kind = EventKind::op};
  event.name = profile.texts.id("record_param_comms");
  event.lane = call.lane;
  event.collective = static_cast<std::uint32_t>(profile.collectives.size());
  profile.collectives.push_back(record);
  profile.events.push_back(event);
}

}  // namespace

bool is_nccl_range(std::string_view name) {
  return name.size() > 4 && name.starts_with("nccl") && name[4] >= 'A' && name[4] <= 'Z';
}

std::optional<double> nccl_message_size(std::string_view json) {
  constexpr std::size_t longest = 4096;
  if (json.size() > longest) return std::nullopt;
  const auto payload = nlohmann::json::parse(json, nullptr, false);
  if (!payload.is_object()) return std::nullopt;
  const auto found = payload.find("Message size [bytes]");
  if (found == payload.end() || !found->is_number()) return std::nullopt;
  const auto bytes = found->get<double>();
  return bytes > 0 && bytes <= 1e15 ? std::optional(bytes) : std::nullopt;
}

void add_nccl_calls(std::vector<NcclRange> ranges, Profile& profile) {
  std::ranges::stable_sort(ranges, {},
                           [](const NcclRange& one) { return std::tuple(one.lane, one.start, -one.end); });
  int depth = 0;
  TextPool::Id lane = TextPool::none;
  std::vector<const NcclRange*> group;
  for (const NcclRange& range : ranges) {
    if (range.lane != lane) {
      depth = 0;
      group.clear();
    }
    lane = range.lane;
    if (range.name == "ncclGroupStart") {
      ++depth;
    } else if (range.name == "ncclGroupEnd") {
      depth = std::max(depth - 1, 0);
      if (depth > 0) continue;
      if (group.size() == 1 && group.front()->bytes)
        add_call(*group.front(), range.start, range.end, profile);
      group.clear();
    } else if (depth > 0) {
      if (operation_named(range.name) || range.bytes) group.push_back(&range);
    } else if (range.bytes) {
      add_call(range, range.start, range.end, profile);
    }
  }
}

}  // namespace trainyard
