#pragma once
// The words that users of other software have for keys of an experiment ("gradient_accumulation_steps"), each
// declared once. --set, options (cli/key_options.hpp) and files (experiment/own_words.hpp) take those that
// mean the same; all of them are hints after an unknown key or option, and words for searches.

#include "config/keys.hpp"

#include <span>

namespace trainyard::config {

/// The words in the order of their keys. A word that is the same as a key has its values, too. Any other has
/// advice in place of the key: what is meant differs from framework to framework, or has other values.
extern const std::span<const OtherWord> glossary;

}  // namespace trainyard::config
