#pragma once
// What every `import KIND` asks of its files.

#include "config/file_format.hpp"

#include <initializer_list>
#include <string>

namespace trainyard {

/// Throws InputError, with the command that reads it, if a file, plain or compressed, is of a known format
/// other than these; FileError if it cannot be read. A file of no known format is left to its reader.
void require_format(const std::string& file, std::initializer_list<config::FileFormat> own);

}  // namespace trainyard
