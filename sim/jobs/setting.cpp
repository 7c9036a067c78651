#include "jobs/setting.hpp"

#include "jobs/words.hpp"

#include <algorithm>
#include <array>
#include <string_view>

namespace trainyard::jobs {

bool is_off(const Setting& setting) {
  if (setting.is_switch) return false;
  constexpr std::array<std::string_view, 11> words{"false", "0", "none", "null", "off", "no",
                                                   "",      "~", "[]",   "{}",   "0.0"};
  return std::ranges::find(words, small_letters(setting.value)) != words.end();
}

std::string as_key(std::string_view option) {
  option.remove_prefix(std::min(option.find_first_not_of('-'), option.size()));
  std::string key(option);
  std::ranges::replace(key, '-', '_');
  return key;
}

}  // namespace trainyard::jobs
