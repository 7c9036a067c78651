#pragma once
// Suspected causes of large errors of predictions, for curves of collectives and for training runs: both
// kinds of rules have a list of these.

#include "config/keys.hpp"
#include "rules/row_pattern.hpp"

#include <string>

namespace trainyard {

struct OutlierRule {
  RowPattern when;  ///< matched by the run's row, or by the first of the curve
  std::string reason;
  bool always_named = false;  ///< named even if its error is small, because it is known to be unusual. It
                              ///< counts all the same
};

}  // namespace trainyard

namespace trainyard::config {

template <>
struct Keys<OutlierRule> {
  static auto table() {
    return keys(
        required("when", &OutlierRule::when, "conditions on the row, or on the first row of the curve"),
        required("reason", &OutlierRule::reason, "suspected cause of a large error"),
        optional("always_named", &OutlierRule::always_named, "always listed, even if the error is small"));
  }
};

}  // namespace trainyard::config
