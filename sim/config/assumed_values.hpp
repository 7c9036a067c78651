#pragma once
// The numbers of a file that it calls assumed: {value: 10 GB/s, assumed: "why", range: 5..20 GB/s}.

#include "config/document.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace trainyard::config {

/// The key next to `assumed` that says between which values the right one lies.
inline constexpr std::string_view assumed_range_key = "range";

struct AssumedValue {
  std::string path;   ///< of the value: "node.effective.qpi.value"
  std::string value;  ///< a number other than 0, with its unit: "10 GB/s"
  std::string reason;
  std::optional<std::string> range = {};  ///< "5..20 GB/s"
};

/// All of a tree that can change the time of a step: those about power, prices and memory are left out.
std::vector<AssumedValue> assumed_values(const Node& root);

/// `text`, a number with or without a unit, times the factor; nothing if it is not a number or is 0.
std::optional<std::string> scaled_text(const std::string& text, double factor);

}  // namespace trainyard::config
