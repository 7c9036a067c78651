#pragma once
// Sizes and structure of a decoder, to find the shipped model that a job's arguments describe.

#include "config/document.hpp"

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace trainyard::jobs {

/// The value of a key of a family ("latent_attention.query_rank"); empty if it has none, or is no scalar.
std::string text_in(const config::Node* family, std::string_view key);

/// The value of a key of the family decoder without which it is; empty for those that follow from others.
std::string_view default_of_decoder(std::string_view key);

/// The values that tell decoders apart, with the family's defaults where there is none. `has_structure`: also
/// norms, positions, the order of a block and the like, which Megatron-LM's arguments state in full.
std::vector<std::string> sizes_of(const std::function<std::string(std::string_view)>& text_of,
                                  bool has_structure);

}  // namespace trainyard::jobs
