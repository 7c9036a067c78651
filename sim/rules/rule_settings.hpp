#pragma once
// Checks that rules about published runs set existing keys to valid values: a mistake is an error when the
// rules are read, not a reason to leave out rows.

#include "config/catalogue.hpp"
#include "config/problems.hpp"
#include "rules/run_rules.hpp"

#include <filesystem>
#include <functional>
#include <optional>
#include <string>

namespace trainyard {

/// `text` with numbers in place of {WORD} and {WORD|OTHERWISE}. `number_of` gets WORD, one of {gpus},
/// {nodes}, {gpus_per_node}, {servers}, {layers}, {hidden}, {heads}, {vocabulary}, {sequence},
/// {replica_batch}, "model X" or "notes X", and OTHERWISE, which is empty if it is left out.
std::string with_numbers(
    std::string text,
    const std::function<std::string(const std::string& word, const std::string& otherwise)>& number_of);

/// The file with this name; reports it at `key` if the catalogue has none.
std::optional<std::filesystem::path> file_of_rule(const config::Catalogue& catalogue, config::Kind kind,
                                                  const std::string& name, const std::string& key,
                                                  config::Problems& problems);

/// Reports keys of `set`, which is at `key_path`, that do not exist in an experiment or the files it names.
/// Values are tried with 1 in place of the row's numbers; keys of files with `model` and `stack` if given,
/// otherwise with any file of the kind that accepts them.
void check_settings(const RowSettings& set, const std::string& key_path, const std::string& model,
                    const std::string& stack, const config::Catalogue& catalogue, config::Problems& problems);

}  // namespace trainyard
