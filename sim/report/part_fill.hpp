#pragma once
// Parts of a step in bars, legends and tables.

#include "document/document.hpp"
#include "run/step_parts.hpp"
#include "units/text.hpp"

#include <algorithm>
#include <string>
#include <string_view>

namespace trainyard {

/// A class of the style sheet, by whose fills parts are told apart without colour.
inline std::string fill_of(StepPart part) {
  switch (part) {
    case StepPart::recompute:
      return "wasted-compute";
    case StepPart::messages:
      return "framework";
    case StepPart::bubble:
      return "waiting";
    case StepPart::layers:
      return "communication";
    case StepPart::decoding:
      return "compute";
    default:
      break;
  }
  std::string fill(config::name_of(part));
  std::ranges::replace(fill, '_', '-');
  return fill;
}

inline std::string_view meaning_of(StepPart part) {
  using Parts = config::Names<StepPart>;
  return std::ranges::find(Parts::table, part, [](const auto& one) { return one.value; })->doc;
}

/// A part of the step as a bar.
inline doc::Share share_of_step(const Run& run, std::string_view label, Seconds time, std::string_view fill,
                                std::string_view meaning) {
  return {.label = std::string(label),
          .part = time.si(),
          .whole = run.pace.time.si(),
          .text = human_like(time, run.pace.time),
          .fill = std::string(fill),
          .meaning = std::string(meaning)};
}

}  // namespace trainyard
