#include "commands/figure_names.hpp"

#include <algorithm>

namespace trainyard {

std::string_view without_unit(std::string_view field) {
  for (const std::string_view unit :
       {"_samples_per_s", "_tokens_per_s", "_bytes", "_usd", "_s", "_j", "_w"}) {
    if (field.ends_with(unit)) return field.substr(0, field.size() - unit.size());
  }
  return field;
}

bool is_name_of(std::string_view name, std::string_view field) {
  return name == field || name == without_unit(field) ||
         std::ranges::any_of(short_names,
                             [&](const ShortName& one) { return one.name == name && one.field == field; });
}

}  // namespace trainyard
