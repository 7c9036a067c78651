#pragma once
// Numbers and words of a row in the settings of a rule: {gpus}, {layers}, {model WORD}, {notes WORD} and so
// on stand for them.

#include "published/published_rows.hpp"

#include <string>
#include <string_view>
#include <tl/expected.hpp>

namespace trainyard {

/// A whole number of at least 1; 0 if the text is none.
int positive(const std::string& text);

/// `text` with the row's numbers in place of words in braces. A word that the row does not state gives the
/// text after '|', or an error without one. {servers} is the number of nodes by default, {replica_batch} the
/// samples of a step of one replica, {model WORD} the number that follows a word in the column `model`,
/// {notes WORD} the letters and digits that follow a word in the column `notes`.
tl::expected<std::string, std::string> with_row_numbers(const std::string& text, const PublishedRow& row);

/// The digits after a word of the model, "3200000" after "deep_vocab=" in "wide_deep,deep_vocab=3200000";
/// empty if no digit follows, or if the word is only the end of another one.
std::string number_after(std::string_view model, std::string_view word);

/// Likewise the letters, digits and '_': "flash" after "attention=" in "attention=flash; layout=nchw".
std::string word_after(std::string_view notes, std::string_view word);

}  // namespace trainyard
