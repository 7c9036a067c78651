#pragma once
// What is suspected where a prediction is far off, of curves of collectives and of training runs alike: both
// kinds of rules have a list of them.

#include "config/keys.hpp"
#include "published/row_pattern.hpp"

#include <string>

namespace trainyard {

struct OutlierRule {
  RowPattern when;  ///< met by the run's row, or by the curve's first
  std::string reason;
  bool excepted = false;  ///< named however small the error: no limit is meant for it. It counts all the same
};

}  // namespace trainyard

namespace trainyard::config {

template <>
struct Keys<OutlierRule> {
  static auto table() {
    return keys(required("when", &OutlierRule::when, "what the row, or the first of the curve, must say"),
                required("reason", &OutlierRule::reason, "what is suspected where it is far off"),
                optional("excepted", &OutlierRule::excepted,
                         "it is always named, as one that no limit on errors holds for"));
  }
};

}  // namespace trainyard::config
