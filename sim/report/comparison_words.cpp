// The sentence below a comparison.

#include "report/comparison_page.hpp"
#include "report/ratio_error.hpp"
#include "units/text.hpp"
#include "units/text_layout.hpp"

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
std::string_view word_of_part(StepPart part, bool of_updates) {
  switch (part) {
    case StepPart::optimizer:
      return "optimizer";
    case StepPart::wasted_compute:
      return "cancelled compute";
    case StepPart::communication:
      return communication_word(of_updates);
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
      return "exposed tensor-parallel collectives";
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

/// "has 1.83x A's throughput", "takes 1.83x as long per sample as A", or how little more or less.
std::string time_in_words(double throughput_ratio) {
  constexpr double alike = 5e-5;
  constexpr double by_per_cent = 0.1;
  const double times = 1 / throughput_ratio;
  if (std::abs(times - 1) < alike) return "takes as long per sample as A";
  if (std::abs(times - 1) < by_per_cent)
    return fmt::format("takes {} {} time per sample than A", percent(std::abs(times - 1)),
                       times > 1 ? "more" : "less");
  return times > 1 ? fmt::format("takes {}x as long per sample as A", rounded(times))
                   : fmt::format("has {}x A's throughput", rounded(throughput_ratio));
}

/// Below this a change of a part is not worth saying.
Seconds least_change(const Comparison& comparison) {
  const Seconds least = worth_saying * std::max(comparison.step.a, comparison.step.b);
  const Seconds difference{std::abs(comparison.step.difference.si())};
  return difference == Seconds{} ? least : std::min(least, share_of_difference * difference);
}

}  // namespace

bool is_of_updates(const Comparison& comparison) {
  return std::ranges::find(comparison.parts, StepPart::compute, &ComparedPart::part) !=
         comparison.parts.end();
}

std::string_view communication_word(bool of_updates) {
  return of_updates ? "exposed communication" : "exposed collectives";
}

std::vector<PartChange> part_changes(const Comparison& comparison) {
  std::vector<PartChange> changes;
  for (const ComparedPart& part : comparison.parts) {
    const std::string_view word = word_of_part(part.part, is_of_updates(comparison));
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
  std::string text = fmt::format("{} {}", comparison.letter, time_in_words(comparison.throughput_ratio));
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
    if (change.what == communication_word(is_of_updates(comparison)))
      parts += groups_in_words(comparison, least_change(comparison));
  }
  return text + parts;
}

}  // namespace trainyard
