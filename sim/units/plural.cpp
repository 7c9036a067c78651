#include "units/plural.hpp"

namespace trainyard {

std::string plural(long long number, std::string_view noun) {
  std::string text = std::to_string(number) + ' ' + std::string(noun);
  if (number != 1) text += 's';
  return text;
}

std::string grouped(std::int64_t number) {
  std::string digits = std::to_string(number);
  const std::size_t first = digits.starts_with('-') ? 1 : 0;
  for (std::size_t end = digits.size(); end > first + 3;) digits.insert(end -= 3, 1, ',');
  return digits;
}

}  // namespace trainyard
