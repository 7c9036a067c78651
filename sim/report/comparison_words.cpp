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

struct Change {
  std::string_view what;
  Seconds time;
};

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
    case StepPart::other:
      return "other";
    default:
      return "compute";
  }
}

std::vector<Change> changes_of(const Comparison& comparison) {
  std::vector<Change> changes;
  for (const ComparedPart& part : comparison.parts) {
    const std::string_view word = word_of_part(part.part);
    const auto known = std::ranges::find(changes, word, &Change::what);
    if (known == changes.end())
      changes.push_back({word, part.time.difference});
    else
      known->time += part.time.difference;
  }
  std::ranges::stable_sort(changes, std::greater{},
                           [](const Change& change) { return std::abs(change.time.si()); });
  return changes;
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

}  // namespace

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
  Seconds least = worth_saying * std::max(comparison.step.a, comparison.step.b);
  if (difference != Seconds{})
    least = std::min(least, Seconds{share_of_difference * std::abs(difference.si())});
  std::string parts;
  for (const Change& change : changes_of(comparison)) {
    if (std::abs(change.time.si()) < least.si()) continue;
    parts +=
        fmt::format("{}{} {}", parts.empty() ? ": " : ", ", change.what, with_sign(estimate(change.time)));
    if (change.what == word_of_part(StepPart::communication)) parts += groups_in_words(comparison, least);
  }
  return text + parts;
}

}  // namespace trainyard
