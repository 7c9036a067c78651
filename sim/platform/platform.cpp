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
  constexpr std::string_view kept = "GPUDirect";
  std::string result;
  while (platform.ranks_on_processors) {
    const std::size_t found = text.find(gpu);
    if (found == std::string_view::npos) break;
    std::string word(text.substr(found).starts_with(kept) ? gpu : device_word(platform));
    if (found == 0 && result.empty()) word.front() = 'P';  // at the beginning of a sentence
    (result += text.substr(0, found)) += word;
    text.remove_prefix(found + gpu.size());
  }
  return result += text;
}

}  // namespace trainyard
