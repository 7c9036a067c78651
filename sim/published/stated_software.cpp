#include "published/stated_software.hpp"

#include "units/text.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstddef>
#include <string_view>
#include <utility>
#include <vector>

namespace trainyard {
namespace {

bool is_digit(char letter) { return std::isdigit(static_cast<unsigned char>(letter)) != 0; }

/// Whether "nccl" here is the end of another name: aws-ofi-nccl is a plugin with its own versions.
bool ends_another_name(std::string_view text, std::size_t at) {
  const std::string_view before = text.substr(0, at);
  if (before.ends_with("ofi-") || before.ends_with("ofi_") || before.ends_with("ofi ")) return true;
  if (before.ends_with("lib")) return false;
  return !before.empty() && std::isalnum(static_cast<unsigned char>(before.back())) != 0;
}

/// Skips the characters that may stand between the name and its version: "NCCL: v2.7", "nccl_2.4", "NCCL
/// version 2.18", "nvidia-nccl-cu12 2.18".
std::size_t skip_to_version(std::string_view text, std::size_t i) {
  constexpr std::string_view separators = " -_:=/@(";
  constexpr std::array<std::string_view, 6> words{"library", "version", "release", "ver.", "ver", "v"};
  while (i < text.size()) {
    const std::string_view rest = text.substr(i);
    const auto begins = [&](std::string_view word) { return rest.starts_with(word); };
    const auto* const word = std::ranges::find_if(words, begins);
    if (separators.find(rest.front()) != std::string_view::npos) {
      ++i;
    } else if (word != words.end()) {
      i += word->size();
    } else if (rest.starts_with("cu") && rest.size() > 2 && is_digit(rest[2])) {
      i += 2;
      while (i < text.size() && is_digit(text[i])) ++i;
    } else {
      break;
    }
  }
  return i;
}

/// The number at `i`, which moves past it; nothing if there is none.
std::optional<int> number_at(std::string_view text, std::size_t& i) {
  constexpr int too_large = 10'000;
  std::optional<int> value;
  while (i < text.size() && is_digit(text[i]) && value.value_or(0) < too_large)
    value = value.value_or(0) * 10 + (text[i++] - '0');
  return value;
}

/// Whether a unit follows: "NCCL: 2.5 GB/s" is not a version.
bool is_quantity(std::string_view text, std::size_t i) {
  while (i < text.size() && text[i] == ' ') ++i;
  const std::string_view rest = text.substr(i);
  constexpr std::array<std::string_view, 8> units{"gb", "gib", "mb", "mib", "tb", "us", "ms", "%"};
  return std::ranges::any_of(units, [&](std::string_view unit) {
    // "us", not "used with"
    return rest.starts_with(unit) &&
           (rest.size() == unit.size() || std::isalpha(static_cast<unsigned char>(rest[unit.size()])) == 0);
  });
}

/// Major and minor number after "nccl"; `text` is in lower case.
std::optional<std::pair<int, int>> version_in(std::string_view text) {
  constexpr int newest_major = 3;
  constexpr std::string_view name = "nccl";
  for (std::size_t at = text.find(name); at != std::string_view::npos; at = text.find(name, at + 1)) {
    if (ends_another_name(text, at)) continue;
    std::size_t i = skip_to_version(text, at + name.size());
    std::optional<int> major = number_at(text, i);
    // "libnccl2=2.7.8": the first number is part of the name
    if (major == 2 && i < text.size() && text[i] != '.') {
      i = skip_to_version(text, i);
      major = number_at(text, i);
    }
    if (!major || *major < 1 || *major > newest_major || i >= text.size() || text[i] != '.') continue;
    const std::optional<int> minor = number_at(text, ++i);
    if (minor && !is_quantity(text, i)) return std::pair{*major, *minor};
  }
  return std::nullopt;
}

/// The value of a variable as NCCL's documents write it, "ring,tree" for "NCCL_ALGO=Ring,Tree, 16 nodes";
/// empty if it is not set. `text` is in lower case.
std::string value_of(std::string_view text, std::string_view variable) {
  const std::size_t at = text.find(variable);
  if (at == std::string_view::npos) return {};
  std::size_t i = at + variable.size();
  while (i < text.size() && text[i] == ' ') ++i;
  if (i == text.size() || (text[i] != '=' && text[i] != ':')) return {};
  ++i;
  while (i < text.size() && text[i] == ' ') ++i;
  std::string value;
  while (i < text.size() && (std::isalnum(static_cast<unsigned char>(text[i])) != 0 ||
                             std::string_view("^,_").find(text[i]) != std::string_view::npos))
    value += text[i++];
  while (value.ends_with(',')) value.pop_back();
  return value;
}

/// The `names` that a value allows: those it lists or, after '^', those it does not.
std::vector<std::size_t> left_by(std::string_view value, const std::vector<std::string_view>& names) {
  const bool forbids = value.starts_with('^');
  if (forbids) value.remove_prefix(1);
  std::vector<std::size_t> left;
  const std::string list = "," + std::string(value) + ",";
  for (std::size_t i = 0; i < names.size(); ++i) {
    const bool is_listed = list.find("," + std::string(names[i]) + ",") != std::string::npos;
    if (is_listed != forbids) left.push_back(i);
  }
  return left;
}

}  // namespace

std::string in_small_letters(std::string_view text) {
  std::string result;
  for (const char letter : text)
    result += static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
  return result;
}

std::optional<NcclVersion> stated_nccl(const PublishedRow& row) {
  for (const std::string& text : {row.framework, row.source_detail, row.notes}) {
    const auto version = version_in(in_small_letters(text));
    if (!version) continue;
    // LL128 and the table of times came with 2.5, one limit per channel with 2.10, today's bases with 2.18.
    if (*version < std::pair{2, 5}) return NcclVersion::v2_4;
    if (*version < std::pair{2, 10}) return NcclVersion::v2_7_8;
    return *version < std::pair{2, 18} ? NcclVersion::v2_12 : NcclVersion::v2_30;
  }
  return std::nullopt;
}

StatedChoice stated_choice(const PublishedRow& row) {
  const std::string text = in_small_letters(row.source_detail + "\n" + row.notes);
  StatedChoice choice;
  constexpr std::string_view no_trees = "tree_threshold=0";
  if (const std::size_t at = text.find(no_trees); at != std::string::npos) {
    const std::size_t end = at + no_trees.size();
    if (end == text.size() || !is_digit(text[end])) choice.algorithm = Algorithm::ring;
  }
  if (const std::string value = value_of(text, "nccl_algo"); !value.empty()) {
    const std::vector<std::size_t> left = left_by(value, {"ring", "tree"});
    const bool is_ring = left == std::vector<std::size_t>{0} || value == "r";
    const bool is_tree = left == std::vector<std::size_t>{1} || value == "t";
    if (is_ring || is_tree) choice.algorithm = is_ring ? Algorithm::ring : Algorithm::tree;
    if (left.empty() && !is_ring && !is_tree) choice.not_simulated = "NCCL_ALGO=" + value;
  }
  if (const std::string value = value_of(text, "nccl_proto"); !value.empty()) {
    const std::vector<std::size_t> left = left_by(value, {"ll", "ll128", "simple"});
    constexpr std::array in_order{Protocol::ll, Protocol::ll128, Protocol::simple};
    if (left.size() == 1) choice.protocol = in_order[left.front()];
    if (left.empty() || left.size() == 2) choice.not_simulated = "NCCL_PROTO=" + value;
  }
  return choice;
}

}  // namespace trainyard
