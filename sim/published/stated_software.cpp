#include "published/stated_software.hpp"

#include "units/letters.hpp"
#include "units/text_pattern.hpp"

#include <array>
#include <cstddef>
#include <string_view>
#include <vector>

namespace trainyard {
namespace {

/// Major, minor and, where given, patch number.
using Version = std::array<int, 3>;

/// The version after "nccl", as people write it: "NCCL: v2.7", "nccl_2.4", "NCCL version 2.18",
/// "nvidia-nccl-cu12 2.18", "libnccl2=2.7.8" (its first number is part of the name). Not the versions of the
/// plugin aws-ofi-nccl, and not "NCCL: 2.5 GB/s". `text` is in lower case.
std::optional<Version> version_in(const std::string& text) {
  if (text.find("nccl") == std::string::npos) return std::nullopt;  // cheaper than a search by pattern
  static const std::string gap = R"((?:[ \-_:=/@(]|library|version|release|ver\.|ver|v|cu\d+(?!\d))*)";
  static const TextPattern stated(
      "(^|ofi[-_ ]|[^a-z0-9]|lib)nccl" + gap + "(?:2(?=[^.\\d])" + gap +
      R"()?([1-3])\.(\d{1,4})(?!\d| *(?:gi?b|mi?b|tb|us|ms|%)(?![a-z]))(?:\.(\d{1,4}))?)");
  for (const TextPattern::Match& found : stated.all(text)) {
    if (found[1].starts_with("ofi")) continue;
    return Version{std::stoi(found[2]), std::stoi(found[3]), found[4].empty() ? 0 : std::stoi(found[4])};
  }
  return std::nullopt;
}

/// The value of a variable as NCCL's documents write it, "ring,tree" for "NCCL_ALGO=Ring,Tree, 16 nodes";
/// empty if it is not set. `text` is in lower case.
std::string value_of(const std::string& text, const std::string& variable) {
  if (text.find(variable) == std::string::npos) return {};
  const auto found = TextPattern(variable + " *[=:] *([a-z0-9^,_]*[a-z0-9^_])").first(text);
  return found ? found->at(1) : std::string();
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

std::optional<NcclVersion> stated_nccl(const PublishedRow& row) {
  for (const std::string& text : {row.framework, row.source_detail, row.notes}) {
    const auto version = version_in(small_letters(text));
    if (!version) continue;
    // LL128 and the table of times came with 2.5, new latencies with 2.7, one limit per channel with 2.10,
    // today's bases with 2.18.
    if (*version < Version{2, 5}) return NcclVersion::v2_4;
    if (*version < Version{2, 7}) return NcclVersion::v2_6;
    if (*version < Version{2, 10}) return NcclVersion::v2_7_8;
    if (*version < Version{2, 18}) return NcclVersion::v2_12;
    if (*version < Version{2, 22}) return NcclVersion::v2_30;  // messages have LL as in 2.30
    if (*version < Version{2, 28}) return NcclVersion::v2_27;
    if (*version < Version{2, 29}) return NcclVersion::v2_28;
    return *version < Version{2, 29, 7} ? NcclVersion::v2_29 : NcclVersion::v2_30;
  }
  return std::nullopt;
}

StatedChoice stated_choice(const PublishedRow& row) {
  const std::string text = small_letters(row.source_detail + "\n" + row.notes);
  StatedChoice choice;
  static const TextPattern no_trees("tree_threshold=0(?!\\d)");
  if (no_trees.first(text)) choice.algorithm = Algorithm::ring;
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
