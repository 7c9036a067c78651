#include "units/plural.hpp"

namespace trainyard {

std::string plural(long long number, std::string_view noun) {
  std::string text = std::to_string(number) + ' ' + std::string(noun);
  if (number != 1) text += 's';
  return text;
}

}  // namespace trainyard
