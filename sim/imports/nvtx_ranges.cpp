#include "imports/nvtx_ranges.hpp"

#include "imports/op_names.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <nlohmann/json.hpp>
#include <system_error>
#include <tuple>

namespace trainyard {
namespace {

/// The text after a key, or nothing.
std::optional<std::string_view> text_behind(std::string_view text, std::string_view key) {
  const std::size_t found = text.find(key);
  return found == std::string_view::npos ? std::nullopt : std::optional(text.substr(found + key.size()));
}

/// The list of JSON that a text begins with; empty if it is none.
std::string_view leading_list(std::string_view text) {
  int depth = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    depth += text[i] == '[' ? 1 : text[i] == ']' ? -1 : 0;
    if (depth == 0) return text[i] == ']' ? text.substr(0, i + 1) : std::string_view{};
  }
  return {};
}

/// NVTX has operators and ranges of users in one list; those of PyTorch's own libraries have a namespace.
bool names_operator(std::string_view name) {
  constexpr std::array<std::string_view, 3> ranges{"FSDP::", "nccl:", "rccl:"};
  for (const std::string_view one : ranges) {
    if (name.starts_with(one)) return false;
  }
  return name.find("::") != std::string_view::npos || ends_with_backward(name) ||
         name == "record_param_comms";
}

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

NvtxRange nvtx_range(std::string_view text) {
  constexpr std::array<std::string_view, 3> keys{", seq = ", ", op_id = ", ", sizes = "};
  std::size_t end = text.size();
  for (const std::string_view key : keys) end = std::min(end, text.find(key));
  NvtxRange range{.name = text.substr(0, end)};
  range.kind = names_operator(range.name) ? EventKind::op : EventKind::range;
  const std::string_view rest = text.substr(end);
  if (const auto number = text_behind(rest, keys[0])) {
    std::uint64_t sequence = 0;
    const auto [last, problem] = std::from_chars(number->data(), number->data() + number->size(), sequence);
    if (problem == std::errc() && last != number->data()) range.sequence = sequence;
  }
  if (const auto sizes = text_behind(rest, keys[2])) range.dims = leading_list(*sizes);
  return range;
}

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
