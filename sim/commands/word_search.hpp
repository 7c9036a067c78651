#pragma once
// Searches of `keys` and `list`: a word is found where a word begins, so that "ring" finds rings but not
// "during".

#include <string_view>

namespace trainyard {

/// Whether the text has the pattern from the beginning of a word on. Capitals do not count, nor do blanks,
/// dashes and underscores among each other, nor the s of a plural.
bool has_word(std::string_view text, std::string_view pattern);

/// Whether the text has every word of the pattern.
bool has_all_words(std::string_view text, std::string_view pattern);

}  // namespace trainyard
