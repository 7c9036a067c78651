#include "jobs/setting.hpp"

#include "units/letters.hpp"

#include <algorithm>
#include <array>
#include <string_view>

namespace trainyard::jobs {

bool is_off(const Setting& setting) {
  if (setting.is_switch) return false;
  constexpr std::array<std::string_view, 9> words{"false", "0", "none", "null", "off", "no", "", "~", "[]"};
  std::string small;
  for (const char c : setting.value) small += small_letter(c);
  return std::ranges::find(words, small) != words.end();
}

std::string as_key(std::string_view option) {
  option.remove_prefix(std::min(option.find_first_not_of('-'), option.size()));
  std::string key(option);
  std::ranges::replace(key, '-', '_');
  return key;
}

}  // namespace trainyard::jobs
