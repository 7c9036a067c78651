#pragma once
// Files that other programs wrote: their text without additions of terminals and editors, and errors at their
// lines. All readers of this folder begin here.

#include "config/diagnostic.hpp"

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace trainyard {

/// Largest file read, in bytes: the output of `nvidia-smi -q -x` for 256 GPUs has 8 MB.
inline constexpr std::size_t largest_interchange_file = std::size_t{32} << 20U;

/// A file as it was read.
struct InputText {
  std::string name;  ///< as printed in diagnostics
  std::string text;
};

/// The text with '\n' line ends and ordinary blanks (web pages have U+00A0), without byte order mark and
/// without the escape sequences of terminals (`nvidia-smi topo -m` underlines its header). Throws InputError
/// if the file is empty, too large, binary or in UTF-16.
InputText plain_input(std::string name, std::string_view bytes);

/// An error at a line of a file; line 0 means the whole file.
InputError input_error(const std::string& file, int line, std::string message, std::string hint = {});

std::vector<std::string_view> lines_of(std::string_view text);
/// The words of a line, separated by blanks and tabs.
std::vector<std::string_view> words_of(std::string_view line);

/// The name of a file without its folders: results do not copy paths of a user's computer.
std::string base_name(const std::string& file);

/// At most `most` characters of a text of unknown origin in quotes, with control characters replaced.
std::string shown(std::string_view text, std::size_t most = 40);

}  // namespace trainyard
