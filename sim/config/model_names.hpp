#pragma once
// Public names of models, as hubs and other tools have them: "Qwen/Qwen2.5-7B-Instruct",
// "torchtune.models.llama3.llama3_8b", "unsloth/gemma-2-9b-it".

#include "config/catalogue.hpp"

#include <string>
#include <string_view>

namespace trainyard::config {

/// The shipped model that a public name means, by its last part and without the words that say nothing about
/// layers (instruct, chat, base, a date). Empty if there is none.
std::string model_meant(const Catalogue& catalogue, std::string_view name);

}  // namespace trainyard::config
