#pragma once
// The properties in which two runs can differ. Published pairs of runs are grouped by them, because errors of
// predictions cancel in a comparison to different degrees: kernel times hardly matter between 8 and 16 GPUs,
// and matter most between two machines.

#include "accuracy/circumstances.hpp"
#include "config/keys.hpp"

#include <array>
#include <cstddef>
#include <string_view>
#include <vector>

namespace trainyard {

/// The property in which two runs differ, or how many do.
enum class RunChange { gpus, batch, precision, software, model, machine, settings, several };

/// The properties, without the last two.
inline constexpr std::array single_changes{RunChange::gpus,     RunChange::batch, RunChange::precision,
                                           RunChange::software, RunChange::model, RunChange::machine};
inline constexpr std::size_t change_count = single_changes.size() + 2;

/// The properties in which two runs differ, in the order of the enumeration.
std::vector<RunChange> changes_between(const Circumstances& a, const Circumstances& b);

/// "number of GPUs".
std::string_view words_of(RunChange change);

/// The change that stands for these properties: the only one, `settings` for none, or `several`.
constexpr RunChange kind_of(const std::vector<RunChange>& changes) {
  if (changes.empty()) return RunChange::settings;
  return changes.size() == 1 ? changes.front() : RunChange::several;
}

/// A number for each change.
using NumberByChange = std::array<double, change_count>;
constexpr NumberByChange all_ones() {
  NumberByChange ones{};
  ones.fill(1);
  return ones;
}
constexpr std::size_t index_of(RunChange change) { return static_cast<std::size_t>(change); }

}  // namespace trainyard

namespace trainyard::config {

template <>
struct Names<RunChange> {
  static constexpr std::string_view what = "change between two runs";
  static constexpr std::array table{
      Name{"gpus", RunChange::gpus, "number of GPUs"},
      Name{"batch", RunChange::batch, "batch per GPU"},
      Name{"precision", RunChange::precision, "precision"},
      Name{"software", RunChange::software, "framework or stack"},
      Name{"model", RunChange::model, "model or sequence length"},
      Name{"machine", RunChange::machine, "machine"},
      Name{"settings", RunChange::settings, "none of these, but other settings"},
      Name{"several", RunChange::several, "several of these"}};
};

}  // namespace trainyard::config
