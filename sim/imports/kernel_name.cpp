#include "imports/kernel_name.hpp"

namespace trainyard {

std::string_view short_kernel_name(std::string_view name) {
  constexpr std::string_view prefix = "void ";
  constexpr std::string_view anonymous = "(anonymous namespace)";
  constexpr std::size_t longest = 60;
  if (name.starts_with(prefix)) name.remove_prefix(prefix.size());
  std::size_t end = name.find_first_of("(<");
  while (end != std::string_view::npos && name.substr(end).starts_with(anonymous))
    end = name.find_first_of("(<", end + anonymous.size());
  const std::string_view made = end == 0 ? name : name.substr(0, end);
  return made.substr(0, longest);
}

}  // namespace trainyard
