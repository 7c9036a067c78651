#pragma once
// The file of every `import KIND`, and its check.

#include "cli/commands.hpp"
#include "config/diagnostic.hpp"
#include "config/file_format.hpp"

#include <initializer_list>
#include <string>

namespace trainyard {

/// Add the argument FILE, and -o FILE.
void add_input_file(CLI::App& command, std::string& file, const char* text);
void add_output_file(CLI::App& command, std::string& file, const char* text);

/// Throws InputError, with the command that reads it, if a file, plain or compressed, is of a known format
/// other than these; FileError if it cannot be read.
void require_format(const std::string& file, std::initializer_list<config::FileFormat> own);

/// The result of `read`. If it refuses a file of a known format other than these, the error names that
/// format.
template <class Read>
auto read_as(const std::string& file, std::initializer_list<config::FileFormat> own, const Read& read) {
  try {
    return read();
  } catch (const InputError&) {
    require_format(file, own);
    throw;
  }
}

}  // namespace trainyard
