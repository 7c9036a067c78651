#pragma once
// Numbers of a row's model in the settings of a rule: {model WORD} stands for the number after WORD in the
// row's column `model`.

#include <functional>
#include <string>
#include <string_view>

namespace trainyard {

/// `text` with numbers in place of {model WORD} and {model WORD|OTHERWISE}. `number_of` gets WORD and
/// OTHERWISE, which is empty if it is left out.
std::string with_model_numbers(
    std::string text,
    const std::function<std::string(const std::string& word, const std::string& otherwise)>& number_of);

/// The digits after a word of the model, "3200000" after "deep_vocab=" in "wide_deep,deep_vocab=3200000";
/// empty if no digit follows, or if the word is only the end of another one.
std::string number_after(std::string_view model, std::string_view word);

}  // namespace trainyard
