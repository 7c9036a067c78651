#include "published/model_numbers.hpp"

#include "units/text_pattern.hpp"

#include <algorithm>
#include <cctype>

namespace trainyard {

std::string with_model_numbers(
    std::string text,
    const std::function<std::string(const std::string& word, const std::string& otherwise)>& number_of) {
  static const TextPattern braces("\\{model ([^{}|]+)(?:\\|([0-9]+))?\\}");
  for (auto match = braces.first(text); match; match = braces.first(text)) {
    const std::string& whole = match->front();
    text.replace(text.find(whole), whole.size(), number_of(match->at(1), match->at(2)));
  }
  return text;
}

std::string number_after(std::string_view model, std::string_view word) {
  const auto is_of_word = [](char letter) {
    return std::isalnum(static_cast<unsigned char>(letter)) != 0 || letter == '_';
  };
  for (std::size_t place = model.find(word); place != std::string_view::npos;
       place = model.find(word, place + 1)) {
    if (place > 0 && is_of_word(model[place - 1]) && is_of_word(word.front())) continue;
    const std::size_t first = place + word.size();
    const std::size_t end = std::min(model.find_first_not_of("0123456789", first), model.size());
    if (end > first) return std::string(model.substr(first, end - first));
  }
  return {};
}

}  // namespace trainyard
