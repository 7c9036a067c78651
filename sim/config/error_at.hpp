#pragma once
// Errors at a key of a file that is not at hand: the reader of the file adds the line.

#include "config/diagnostic.hpp"

#include <string>

namespace trainyard {

/// `key` is the whole path, "links[0].bandwidth"; `hint` may be empty.
Diagnostic diagnostic_at(std::string key, std::string message, std::string hint);

/// An exception with diagnostic_at() of these arguments.
InputError error_at(std::string key, std::string message, std::string hint);

}  // namespace trainyard
