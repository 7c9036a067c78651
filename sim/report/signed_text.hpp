#pragma once
// Differences for people: always with their sign.

#include "units/text.hpp"

#include <string>

namespace trainyard {

/// "+3.74 ms", "-12.9 GB"; "0" if there is no difference.
template <class Q>
std::string signed_human(Q difference) {
  if (difference == Q{}) return "0";
  return difference > Q{} ? "+" + human(difference) : "-" + human(Q{-difference.si()});
}

}  // namespace trainyard
