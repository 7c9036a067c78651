#pragma once
// Which kind of file is which: by the word of `schema`, by the folder a file lies in, or by the keys it has.

#include "config/catalogue.hpp"
#include "config/document.hpp"

#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <string>

namespace trainyard {

/// The kind called "platform", "gpu", "model", "stack" or "experiment". Throws InputError (did you mean)
/// otherwise.
config::Kind kind_named(const std::string& word);

/// JSON Schema of a kind, made from the key table that its reader uses.
nlohmann::ordered_json schema_of(config::Kind kind);

/// The kind of a document: that of the catalogue folder it lies in (.../workloads/models/x.yaml), otherwise
/// the one whose key table knows most of its keys. Throws InputError if no table knows any.
config::Kind kind_of(const std::filesystem::path& file, const config::Document& document);

}  // namespace trainyard
