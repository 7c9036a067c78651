#pragma once
// Whether what a rule about published runs sets are keys that exist, with values that they take: a slip is an
// error where the rules are read, not a reason why some row is left out.

#include "config/catalogue.hpp"
#include "config/problems.hpp"
#include "published/run_rules.hpp"

#include <string>

namespace trainyard {

/// Reports keys of `set`, which stands at `key_path`, that an experiment or the files it names do not have.
/// Values are tried with 1 in place of the row's numbers; keys of files with `model` and `stack` where those
/// are given, otherwise with any file of the kind that takes them.
void check_settings(const RowSettings& set, const std::string& key_path, const std::string& model,
                    const std::string& stack, const config::Catalogue& catalogue, config::Problems& problems);

}  // namespace trainyard
