#pragma once
// Whether a key is one that --set takes, of an experiment or of a file that it names.

#include "config/key_list.hpp"

#include <string_view>

namespace trainyard {

/// Why a path is no key; an empty message if it is one. Totals (keys_meant.hpp) are keys of no file.
config::UnknownKey unknown_experiment_key(std::string_view path);

}  // namespace trainyard
