#pragma once
// Finds the kind of a file: by the word given to `schema`, by its folder, or by its keys.

#include "config/catalogue.hpp"
#include "config/document.hpp"
#include "config/schema.hpp"

#include <array>
#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace trainyard {

/// The words for a kind of file on the command line.
struct KindWord {
  std::string_view word;
  std::string_view plural;
  config::Kind kind;
};

inline constexpr std::array kind_words{KindWord{"platform", "platforms", config::Kind::platform},
                                       KindWord{"gpu", "gpus", config::Kind::gpu},
                                       KindWord{"processor", "processors", config::Kind::processor},
                                       KindWord{"protocols", "protocols", config::Kind::protocols},
                                       KindWord{"machines", "machines", config::Kind::machines},
                                       KindWord{"model", "models", config::Kind::model},
                                       KindWord{"stack", "stacks", config::Kind::stack},
                                       KindWord{"lowering", "lowerings", config::Kind::lowering},
                                       KindWord{"software", "software", config::Kind::software},
                                       KindWord{"experiment", "experiments", config::Kind::experiment},
                                       KindWord{"sweep", "sweeps", config::Kind::sweep},
                                       KindWord{"runs", "runs", config::Kind::runs}};

/// The kind whose `form` is the given word. Throws InputError (did you mean) if there is none.
config::Kind kind_named(const std::string& word, std::string_view KindWord::*form = &KindWord::word);

/// The given form of the words of all kinds.
std::vector<std::string> kind_texts(std::string_view KindWord::*form);

/// JSON Schema of a kind, made from the key table that its reader uses.
nlohmann::ordered_json schema_of(config::Kind kind);

/// The keys of a kind, as data.
config::Shape shape_of(config::Kind kind);

/// The kind of a document: that of its catalogue folder (.../workloads/models/x.yaml), otherwise the one
/// whose key table knows most of its keys. Throws InputError if no table knows any.
config::Kind kind_of(const std::filesystem::path& file, const config::Document& document);

/// Throws InputError, with advice, if the path of an experiment is that of a file of another kind. Does
/// nothing for names and for files that cannot be read.
void require_experiment_file(const config::Catalogue& catalogue, const std::string& experiment);

}  // namespace trainyard
