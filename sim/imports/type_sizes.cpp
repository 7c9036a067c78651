#include "imports/type_sizes.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

namespace trainyard {

std::optional<double> bytes_of_type(std::string_view type) {
  std::string small;
  for (const char c : type) small += static_cast<char>(c >= 'A' && c <= 'Z' ? c + ('a' - 'A') : c);
  constexpr std::string_view prefix = "c10::";
  if (small.starts_with(prefix)) small.erase(0, prefix.size());
  constexpr std::array<std::pair<std::string_view, double>, 18> sizes{{{"float", 4},
                                                                       {"double", 8},
                                                                       {"half", 2},
                                                                       {"bfloat16", 2},
                                                                       {"int", 4},
                                                                       {"long", 8},
                                                                       {"long int", 8},
                                                                       {"byte", 1},
                                                                       {"char", 1},
                                                                       {"bool", 1},
                                                                       {"unsigned char", 1},
                                                                       {"signed char", 1},
                                                                       {"float8_e4m3fn", 1},
                                                                       {"float8_e5m2", 1},
                                                                       {"float8_e4m3fnuz", 1},
                                                                       {"float8_e5m2fnuz", 1},
                                                                       {"short", 2},
                                                                       {"short int", 2}}};
  const auto* const found = std::ranges::find(sizes, small, &std::pair<std::string_view, double>::first);
  return found == sizes.end() ? std::nullopt : std::optional(found->second);
}

}  // namespace trainyard
