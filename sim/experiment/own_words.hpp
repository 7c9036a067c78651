#pragma once
// Experiments with keys of other software: "gradient_accumulation_steps: 8" is "accumulation: 8".

#include "config/document.hpp"

#include <string>
#include <vector>

namespace trainyard {

/// The experiment with our keys in place of the words of the glossary that are the same, at its top and in
/// `parallelism`. Values keep their place in the text. A note for each word is added to `notes`. Throws
/// InputError if a key is there twice, by whatever words.
config::Document with_own_keys(config::Document document, std::vector<std::string>& notes);

}  // namespace trainyard
