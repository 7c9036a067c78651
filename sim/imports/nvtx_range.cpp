#include "imports/nvtx_range.hpp"

#include "imports/op_names.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <system_error>

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

}  // namespace trainyard
