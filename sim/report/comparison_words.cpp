// The sentence below a comparison.

#include "report/comparison_table.hpp"
#include "report/ratio_error.hpp"
#include "report/text_layout.hpp"
#include "units/text.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <functional>
#include <string_view>
#include <vector>

namespace trainyard {

namespace {

/// Changes below this fraction of the longer step, and of the difference, appear only in the table.
constexpr double worth_saying = 5e-4;
constexpr double share_of_difference = 0.1;

/// The parts in the words of the sentence; all kernels together are one part.
std::string_view word_of_part(StepPart part) {
  switch (part) {
    case StepPart::optimizer:
      return "optimizer";
    case StepPart::wasted_compute:
      return "cancelled compute";
    case StepPart::communication:
      return "exposed communication";
    case StepPart::framework:
      return "framework (cycles, copies)";
    case StepPart::waiting:
      return "waiting";
    case StepPart::input:
      return "waiting for samples";
    case StepPart::host:
      return "waiting for the host";
    case StepPart::recompute:
      return "recomputation";
    case StepPart::layers:
      return "exposed layer communication";
    case StepPart::messages:
      return "exposed stage messages";
    case StepPart::bubble:
      return "bubble";
    case StepPart::other:
      return "other";
    default:
      return "compute";
  }
}

/// " (all_reduce of gradients -3 ms)"; nothing if a run does not list its collectives separately.
std::string groups_in_words(const Comparison& comparison, Seconds least) {
  if (std::ranges::any_of(comparison.groups, [](const auto& group) { return group.operation.empty(); }))
    return {};
  std::string text;
  for (const ComparedGroup& group : comparison.groups) {
    if (std::abs(group.time.difference.si()) < least.si()) continue;
    text += fmt::format("{}{} of {} {}", text.empty() ? " (" : ", ", group.operation, group.purpose,
                        with_sign(estimate(group.time.difference)));
  }
  return text.empty() ? text : text + ")";
}

/// "1.83 times faster", "3.2 % slower".
std::string speed_in_words(double ratio) {
  constexpr double alike = 5e-5;
  constexpr double by_per_cent = 1.1;
  if (std::abs(ratio - 1) < alike) return "as fast as A";
  const bool is_faster = ratio > 1;
  const double times = is_faster ? ratio : 1 / ratio;
  return fmt::format("{} {}", times < by_per_cent ? percent(times - 1) : rounded(times) + " times",
                     is_faster ? "faster" : "slower");
}

/// Below this a change of a part is not worth saying.
Seconds least_change(const Comparison& comparison) {
  const Seconds least = worth_saying * std::max(comparison.step.a, comparison.step.b);
  const Seconds difference{std::abs(comparison.step.difference.si())};
  return difference == Seconds{} ? least : std::min(least, share_of_difference * difference);
}

}  // namespace

std::vector<PartChange> part_changes(const Comparison& comparison) {
  std::vector<PartChange> changes;
  for (const ComparedPart& part : comparison.parts) {
    const std::string_view word = word_of_part(part.part);
    const auto known = std::ranges::find(changes, word, &PartChange::what);
    if (known == changes.end())
      changes.push_back({word, part.time.difference});
    else
      known->time += part.time.difference;
  }
  const Seconds least = least_change(comparison);
  std::erase_if(changes, [&](const PartChange& one) { return std::abs(one.time.si()) < least.si(); });
  std::ranges::stable_sort(changes, std::greater{},
                           [](const PartChange& change) { return std::abs(change.time.si()); });
  return changes;
}

std::string comparison_in_words(const Comparison& comparison) {
  const Seconds difference = comparison.step.difference;
  std::string text =
      fmt::format("{} is {} per sample", comparison.letter, speed_in_words(comparison.throughput_ratio));
  if (const std::string verdict = verdict_word(comparison); !verdict.empty())
    text += fmt::format(", {} the expected error of the comparison", verdict);
  text += "; its step takes ";
  if (difference == Seconds{})
    text += "as long as A's";
  else
    text += fmt::format("{} {}", estimate(Seconds{std::abs(difference.si())}),
                        difference > Seconds{} ? "more" : "less");
  std::string parts;
  for (const PartChange& change : part_changes(comparison)) {
    parts +=
        fmt::format("{}{} {}", parts.empty() ? ": " : ", ", change.what, with_sign(estimate(change.time)));
    if (change.what == word_of_part(StepPart::communication))
      parts += groups_in_words(comparison, least_change(comparison));
  }
  return text + parts;
}

}  // namespace trainyard
