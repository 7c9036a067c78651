#pragma once
// Reads the configuration of a model of Hugging Face (config.json) as a model file of ours: a document with
// the same keys as a YAML file has, so that --set, checks and errors with positions work on it.

#include "config/document.hpp"

#include <filesystem>

namespace trainyard {

/// The model file that says the same as `config`, a configuration of Hugging Face. Every value has the place
/// of the key from which it comes. Keys that are not understood, and those that say something that the model
/// leaves out, are among Document::warnings with the direction of their effect. A model for images and texts
/// becomes its decoder of texts. `config.name`: the path, whose folder names the model unless the
/// configuration does. The sequence length is the model's longest, at most 4096 tokens, which is assumed.
/// Throws InputError if the kind (model_type) is unknown or a value is not of its type.
config::Document from_hugging_face(const config::Document& config);

/// Reads a file of ours, or one of another tool that describes a model and becomes one of ours. Throws as
/// config::load() and from_hugging_face().
config::Document load_document(const std::filesystem::path& file);

}  // namespace trainyard
