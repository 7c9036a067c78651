#include "platform/platform.hpp"

namespace trainyard {

config::Kind profile_kind(const Platform& platform) {
  return platform.ranks_on_processors ? config::Kind::processor : config::Kind::gpu;
}

std::string_view device_word(const Platform& platform) {
  return platform.ranks_on_processors ? "processor" : "GPU";
}

std::string in_device_words(const Platform& platform, std::string_view text) {
  constexpr std::string_view gpu = "GPU";
  std::string result;
  while (platform.ranks_on_processors) {
    const std::size_t found = text.find(gpu);
    if (found == std::string_view::npos) break;
    (result += text.substr(0, found)) += device_word(platform);
    text.remove_prefix(found + gpu.size());
  }
  return result += text;
}

}  // namespace trainyard
