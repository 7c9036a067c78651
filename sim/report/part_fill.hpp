#pragma once
// Fills of the parts of a step in bars and legends.

#include "run/step_parts.hpp"

#include <algorithm>
#include <string>

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
    default:
      break;
  }
  std::string fill(config::name_of(part));
  std::ranges::replace(fill, '_', '-');
  return fill;
}

}  // namespace trainyard
