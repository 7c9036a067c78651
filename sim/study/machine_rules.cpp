#include "study/machine_rules.hpp"

#include "config/read.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <string_view>
#include <utility>

namespace trainyard {
namespace {

std::string lower(std::string_view text) {
  std::string result;
  for (const char letter : text)
    result += static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
  return result;
}

/// `column` is in small letters.
bool meets(const std::vector<std::string>& texts, const std::string& column) {
  bool is_asked = false;
  bool is_met = false;
  for (const std::string& text : texts) {
    const bool is_forbidden = text.starts_with('!');
    const std::string sought = lower(std::string_view(text).substr(is_forbidden ? 1 : 0));
    const bool has = column.find(sought) != std::string::npos;
    if (is_forbidden && has) return false;
    if (is_forbidden) continue;
    is_asked = true;
    is_met = is_met || has;
  }
  return is_met || !is_asked;
}

/// Major and minor number after "nccl" and blanks, "-" or "v"; nothing if the text has none.
std::optional<std::pair<int, int>> version_in(const std::string& text) {
  for (std::size_t at = text.find("nccl"); at != std::string::npos; at = text.find("nccl", at + 1)) {
    std::size_t i = at + 4;
    while (i < text.size() && (text[i] == ' ' || text[i] == '-' || text[i] == 'v' || text[i] == '=')) ++i;
    const auto number = [&] {
      int value = -1;
      while (i < text.size() && std::isdigit(static_cast<unsigned char>(text[i])) != 0 && value < 10'000)
        value = std::max(value, 0) * 10 + (text[i++] - '0');
      return value;
    };
    const int major = number();
    if (major < 0 || i >= text.size() || text[i] != '.') continue;
    ++i;
    const int minor = number();
    if (minor >= 0) return std::pair{major, minor};
  }
  return std::nullopt;
}

}  // namespace

bool matches(const RowPattern& pattern, const PublishedRow& row) {
  if (pattern.several_nodes && *pattern.several_nodes != (row.nodes > 1)) return false;
  const auto& numbers = pattern.gpus_per_node;
  if (!numbers.empty() && std::ranges::find(numbers, row.gpus_per_node) == numbers.end()) return false;
  return meets(pattern.gpu, lower(row.gpu)) &&
         meets(pattern.interconnect_intra, lower(row.interconnect_intra)) &&
         meets(pattern.interconnect_inter, lower(row.interconnect_inter)) &&
         meets(pattern.framework, lower(row.framework)) && meets(pattern.year, lower(row.year)) &&
         meets(pattern.source, lower(row.source + "\n" + row.source_detail + "\n" + row.notes));
}

std::optional<NcclVersion> stated_nccl(const PublishedRow& row) {
  for (const std::string& text : {row.framework, row.source_detail, row.notes}) {
    const auto version = version_in(lower(text));
    if (!version) continue;
    // LL128 and the table of times came with 2.5, one limit per channel with 2.10, today's bases with 2.18.
    if (*version < std::pair{2, 5}) return NcclVersion::v2_4;
    if (*version < std::pair{2, 10}) return NcclVersion::v2_7_8;
    return *version < std::pair{2, 18} ? NcclVersion::v2_12 : NcclVersion::v2_30;
  }
  return std::nullopt;
}

MachineRules load_machine_rules(const config::Document& document) {
  return config::read<MachineRules>(
      document, [](const MachineRules& read, config::Problems& problems) { problems.check_name(read.name); });
}

}  // namespace trainyard
